// SPDX-License-Identifier: Apache-2.0
//
// What both kinds of listener over libfabric are made of.
#ifndef VOF_BACKENDS_OFI_OFI_LISTENER_PARTS_H_
#define VOF_BACKENDS_OFI_OFI_LISTENER_PARTS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/trouble_handler.h"
#include "backends/ofi/ofi_domain.h"
#include "backends/ofi/ofi_provider.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor.h"
#include "core/runtime/uri.h"

namespace vof {

struct OfiListenerParts {
  OfiProvider provider;
  std::shared_ptr<OfiDomains> domains;
  Reactor* reactor = nullptr;
  // Outlives the listener while it runs, which may destroy it.
  std::shared_ptr<AcceptHandler> accept;
  TroubleHandler on_trouble = nullptr;

  // A client that this side could not serve.
  void ReportTurnedAway(const Uri& address, const absl::Status& why) const {
    if (!on_trouble) return;
    on_trouble(absl::StrCat(FormatUri(address), ": a client turned away: ", why.message()));
  }
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_LISTENER_PARTS_H_
