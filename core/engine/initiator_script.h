// SPDX-License-Identifier: Apache-2.0
//
// A piece of conversation on the control queue: which command comes next, what its answer means.
//
//   while (script.Next(&command)) { send it; wait for the answer; script.OnAnswer(command, answer);
//   } script.Finish(status);
//
// One command is in flight at a time. Scripts know no time, no ids and no bytes; the session
// (initiator_session.h) has those. One thread.
#ifndef VOF_CORE_ENGINE_INITIATOR_SCRIPT_H_
#define VOF_CORE_ENGINE_INITIATOR_SCRIPT_H_

#include "absl/status/status.h"
#include "core/wire/command.h"

namespace vof {

class InitiatorScript {
 public:
  virtual ~InitiatorScript() = default;

  // The next command; false: none now. Called again for the same command never.
  virtual bool Next(Command* command) = 0;
  // An error ends the script: Finish is called with it.
  virtual absl::Status OnAnswer(const Command& command, const Completion& completion) = 0;
  // Nothing is left to do. A script that is not done and has no Next() waits for something outside.
  virtual bool done() const = 0;
  // Whether its failure leaves the device in a state that only a new session gets out of.
  virtual bool failure_ends_session() const { return false; }
  // Called once, last: done, failed, or the session ended before.
  virtual void Finish(const absl::Status& status) = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_SCRIPT_H_
