// SPDX-License-Identifier: Apache-2.0
//
// What a target's queue does with a command that is neither Connect nor a virtqueue request, on any
// transmission.
//
//   switch (DispatchCommand<V5>(control, command, is_virtqueue, unsent, &completion)) { ... }
//
// Policy only: who answers, who waits, who closes. One thread: that of the queue.
#ifndef VOF_CORE_ENGINE_TARGET_DISPATCH_H_
#define VOF_CORE_ENGINE_TARGET_DISPATCH_H_

#include <cstddef>
#include <cstdint>

#include "core/base/limits.h"
#include "core/engine/target_control.h"
#include "core/wire/codec.h"

namespace vof {

enum class CommandFate : uint8_t {
  kReply,       // `completion` is the answer
  kLater,       // OnControlReply brings it
  kWait,        // look at the command again when what is pending was answered
  kDisconnect,  // answer when everything in flight is
  kDuplicate,   // close: the id is in use
};

// `unsent_replies`: answered, but not known to have left.
template <Codec C>
CommandFate DispatchCommand(ControlServer& control, const Command& command, bool is_virtqueue,
                            size_t unsent_replies, Completion* completion) {
  completion->command_id = command.command_id;
  if constexpr (C::kDialect == Dialect::kRef) {
    // Control commands come on any queue, with any id: order is all that tells answers apart.
    if (control.has_blocking()) return CommandFate::kWait;
    if (command.kind == CommandKind::kDisconnect) return CommandFate::kDisconnect;
    return control.Execute(command, completion) ? CommandFate::kReply : CommandFate::kLater;
  } else {
    if (command.kind == CommandKind::kDisconnect) return CommandFate::kDisconnect;
    if (is_virtqueue) {  // knows nothing else; a keepalive does no harm
      const bool alive = command.kind == CommandKind::kKeepalive;
      completion->cause = alive ? Cause::kOk : Cause::kUnknownCommand;
      return CommandFate::kReply;
    }
    if (control.IsPending(command.command_id)) return CommandFate::kDuplicate;
    if (control.num_pending() + unsent_replies >= kControlQueueSize) {
      completion->cause = Cause::kTooManyCommands;
      return CommandFate::kReply;
    }
    return control.Execute(command, completion) ? CommandFate::kReply : CommandFate::kLater;
  }
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_DISPATCH_H_
