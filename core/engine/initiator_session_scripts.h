// SPDX-License-Identifier: Apache-2.0
//
// The short scripts of a session: one command, and one run of the handshake. See
// initiator_script.h.
//
//   Enqueue(std::make_unique<OneCommandScript>(dialect, command, "keepalive", done));
#ifndef VOF_CORE_ENGINE_INITIATOR_SESSION_SCRIPTS_H_
#define VOF_CORE_ENGINE_INITIATOR_SESSION_SCRIPTS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/engine/initiator_handshake.h"
#include "core/engine/initiator_script.h"
#include "core/engine/initiator_status.h"
#include "core/wire/command.h"

namespace vof {

class OneCommandScript final : public InitiatorScript {
 public:
  using Callback = std::function<void(const absl::Status&)>;
  // `what` names it for people when it is refused.
  OneCommandScript(Dialect dialect, const Command& command, std::string what, Callback done)
      : dialect_(dialect), command_(command), what_(std::move(what)), callback_(std::move(done)) {}

  bool Next(Command* command) override {
    if (done_) return false;
    *command = command_;
    return true;
  }
  absl::Status OnAnswer(const Command&, const Completion& completion) override {
    done_ = completion.ok();
    return done_ ? absl::OkStatus() : RefusedStatus(dialect_, what_, completion);
  }
  bool done() const override { return done_; }
  void Finish(const absl::Status& status) override {
    if (callback_) callback_(status);
  }

 private:
  const Dialect dialect_;
  const Command command_;
  const std::string what_;
  const Callback callback_;
  bool done_ = false;
};

class HandshakeScript final : public InitiatorScript {
 public:
  using Callback = std::function<void(const absl::Status&)>;
  // `restart`: behind Connect, when the handshake was done before.
  HandshakeScript(InitiatorHandshake* handshake, bool restart, Callback done)
      : handshake_(handshake), restart_(restart), callback_(std::move(done)) {}

  bool Next(Command* command) override {
    if (std::exchange(restart_, false)) handshake_->Restart();
    return handshake_->Next(command);
  }
  absl::Status OnAnswer(const Command& command, const Completion& completion) override {
    return handshake_->OnAnswer(command, completion);
  }
  bool done() const override { return !restart_ && handshake_->done(); }
  bool failure_ends_session() const override { return true; }
  void Finish(const absl::Status& status) override {
    if (callback_) callback_(status);
  }

 private:
  InitiatorHandshake* const handshake_;
  bool restart_;
  const Callback callback_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_SESSION_SCRIPTS_H_
