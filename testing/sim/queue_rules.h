// SPDX-License-Identifier: Apache-2.0
//
// The rules of the protocol that do not depend on how bytes travel, held against what the two ends
// of one connection of a session say: credits, command ids, answers, events (docs/protocol.md).
//
//   auto session = std::make_shared<WireSession>();     // shared by the connections of a session
//   QueueRules rules(session, [](std::string what) { ... });
//   rules.OnConnect(connect, /*is_ref=*/false);
//   rules.OnCommand(command);
//   std::optional<Command> answered = rules.OnVqAnswer(completion);
//
// Checks that the initiator never sends without a credit, that the window stays between 1 and the
// queue size, that every answer answers something, that no id is in flight twice, and that no
// configuration event comes before DRIVER_OK.
#ifndef VOF_TESTING_SIM_QUEUE_RULES_H_
#define VOF_TESTING_SIM_QUEUE_RULES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

// What the control queue has agreed on, seen on the wire.
struct WireSession {
  bool credit = false;
  bool driver_ok = false;    // asked for, and no reset has been answered since
  bool inline_data = false;  // keyed transmission
  std::map<uint16_t, uint16_t> queue_sizes;
};

class QueueRules {
 public:
  using Fail = std::function<void(std::string)>;

  QueueRules(std::shared_ptr<WireSession> session, Fail fail)
      : session_(std::move(session)), fail_(std::move(fail)) {}

  void OnConnect(const Command& command, bool is_ref);
  void OnCommand(const Command& command);
  // The first answer. False: it was seen before.
  bool OnConnectAnswer();
  // The command that a control completion of that id answers; nothing for events and nonsense.
  std::optional<Command> OnControlAnswer(uint16_t command_id);
  // The same completion, decoded for its command.
  void OnControlResult(const Command& command, const Completion& completion);
  // False: it is a credit event, or answers nothing.
  bool OnVqAnswer(const Completion& completion);

  bool connect_seen() const { return connect_seen_; }
  bool connect_answered() const { return connect_answered_; }
  bool is_control() const { return is_control_; }
  bool is_ref() const { return is_ref_; }
  const WireSession& session() const { return *session_; }
  // Messages that the initiator may send or has sent without an answer: the target has to have
  // receives for those that have not arrived.
  int64_t num_expected() const {
    return session_->credit ? held_ : queue_size_ - static_cast<int64_t>(in_flight_.size());
  }
  void Broken(std::string what) const { fail_(std::move(what)); }

 private:
  void OnControlCommand(const Command& command);
  void OnVqCommand(const Command& command);
  void OnGrant(uint16_t grant, bool answers_command);

  const std::shared_ptr<WireSession> session_;
  const Fail fail_;
  bool is_ref_ = false;
  bool connect_seen_ = false;
  bool connect_answered_ = false;
  bool is_control_ = false;
  int64_t queue_size_ = 0;
  int64_t held_ = 0;                        // credits
  std::map<uint16_t, Command> in_flight_;   // by command id
  std::vector<Command> control_in_flight_;  // `ref`: in order
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_QUEUE_RULES_H_
