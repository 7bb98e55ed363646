// SPDX-License-Identifier: Apache-2.0
//
// Connects a queue pair to the first address of a name that answers.
//
//   VerbsSetup setup(RealVerbsCalls(), options);
//   absl::StatusOr<std::unique_ptr<VerbsChannel>> channel =
//       DialVerbs(uri, &setup, SystemResolver(), deadline);
//
// Each address gets an equal share of what time is left, so a dead one never takes the time of the
// live.
#ifndef VOF_BACKENDS_VERBS_VERBS_DIALER_H_
#define VOF_BACKENDS_VERBS_VERBS_DIALER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/verbs/verbs_channel.h"
#include "backends/verbs/verbs_setup.h"
#include "core/base/time.h"
#include "core/runtime/uri.h"

namespace vof {

// Blocks until `deadline` at most. The error lists every address that was tried and how it failed:
// kUnavailable, or kDeadlineExceeded when nobody answered at all, or kResourceExhausted when this
// side lacks something.
absl::StatusOr<std::unique_ptr<VerbsChannel>> DialVerbs(const Uri& uri, VerbsSetup* setup,
                                                        const Resolver& resolver,
                                                        MonotonicTime deadline);

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_DIALER_H_
