// SPDX-License-Identifier: Apache-2.0
//
// The fabrics between processes that this build has, for programs with everything linked.
//
//   vof::BackendRegistry registry;
//   vof::RegisterFabrics(registry, MakeListenerLog());
//
// tcp always; ofi and verbs where their libraries were there when it was built. A URI of one that
// is missing gets an error which says so.
#ifndef VOF_TOOLS_FABRICS_FABRICS_H_
#define VOF_TOOLS_FABRICS_FABRICS_H_

#include "backends/common/trouble_handler.h"
#include "core/runtime/backend.h"

namespace vof {

// `on_trouble`: what keeps listeners from accepting.
void RegisterFabrics(BackendRegistry& registry, const TroubleHandler& on_trouble = nullptr);

// One of them alone, or the word that it is missing.
void RegisterOfiIfBuilt(BackendRegistry& registry, const TroubleHandler& on_trouble = nullptr);
void RegisterVerbsIfBuilt(BackendRegistry& registry, const TroubleHandler& on_trouble = nullptr);

}  // namespace vof

#endif  // VOF_TOOLS_FABRICS_FABRICS_H_
