// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor_pulse.h"

#include "core/runtime/reactor.h"

namespace vof {

void ReactorPulse::Add(Reactor* reactor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.push_back({reactor, std::make_shared<std::atomic<bool>>(false),
                      std::make_shared<std::atomic<bool>>(false)});
}

ReactorPulse::Excuse::Excuse(const ReactorPulse& pulse, const Reactor* reactor) {
  const std::lock_guard<std::mutex> lock(pulse.mutex_);
  for (const Member& member : pulse.members_) {
    if (member.reactor == reactor) is_excused_ = member.is_excused;
  }
  if (is_excused_ != nullptr) is_excused_->store(true);
}

ReactorPulse::Excuse::~Excuse() {
  if (is_excused_ != nullptr) is_excused_->store(false);
}

ReactorPulse::Answer ReactorPulse::Ask() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Answer slowest;
  for (Member& member : members_) {
    if (member.is_excused->load()) {
      member.unanswered = 0;
      continue;
    }
    if (member.owes_answer->load()) {
      if (++member.unanswered > slowest.unanswered) {
        slowest = {member.reactor->options().name, member.unanswered};
      }
      continue;
    }
    member.unanswered = 0;
    member.owes_answer->store(true);
    member.reactor->Post([owes_answer = member.owes_answer] { owes_answer->store(false); });
  }
  return slowest;
}

void ReactorPulse::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.clear();
}

}  // namespace vof
