// SPDX-License-Identifier: Apache-2.0
//
// What an initiator's engine needs for keyed transmission: registered memory of its reactor, and
// what was agreed. For client*.cc only.
//
//   absl::StatusOr<InitiatorKeyedOptions> keyed = ClientKeyedOptions(reactor, *link, info);
#ifndef VOF_CORE_RUNTIME_CLIENT_KEYED_H_
#define VOF_CORE_RUNTIME_CLIENT_KEYED_H_

#include "absl/status/statusor.h"
#include "core/engine/agreed_options.h"
#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/runtime/backend.h"
#include "core/runtime/reactor.h"
#include "core/transport/domain.h"

namespace vof {

// On the reactor's thread. Nothing is agreed yet for a control queue: an empty `info`.
inline absl::StatusOr<InitiatorKeyedOptions> ClientKeyedOptions(Reactor* reactor, const Link& link,
                                                                const SessionInfo& info) {
  const absl::StatusOr<const RegionMap*> regions =
      reactor->registrations().For(link.domain(), Access::kRemoteReadWrite);
  if (!regions.ok()) return regions.status();
  InitiatorKeyedOptions options;
  options.regions = *regions;
  options.pool = &reactor->pool();
  options.limits = AgreedKeyedLimits(info);
  return options;
}

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_KEYED_H_
