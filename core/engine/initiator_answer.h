// SPDX-License-Identifier: Apache-2.0
//
// What came on an initiator's control queue: the answer to a command of its session, or an event.
//
//   const WireError error = DeliverAnswer<V5>(session, header, now);   // not kNone: close
//
// The same on every transmission. One thread: that of the session.
#ifndef VOF_CORE_ENGINE_INITIATOR_ANSWER_H_
#define VOF_CORE_ENGINE_INITIATOR_ANSWER_H_

#include "core/base/time.h"
#include "core/engine/initiator_session.h"
#include "core/wire/codec.h"

namespace vof {

template <Codec C>
WireError DeliverAnswer(InitiatorSession& session, HeaderIn header, MonotonicTime now) {
  const uint16_t id = C::DecodeCompletion(CommandKind::kUnknown, header).command_id;
  const CommandKind kind = session.KindOf(id);
  if (kind != CommandKind::kUnknown) {
    return session.OnCompletion(C::DecodeCompletion(kind, header), now);
  }
  if (C::kDialect != Dialect::kV5 || id < kFirstReservedCommandId) {
    return WireError::kUnknownCommandId;
  }
  if (id == kEventKeepalive) return WireError::kNone;
  if (id == kEventConfigChanged) return session.OnConfigChanged();
  return WireError::kUnexpectedEvent;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_ANSWER_H_
