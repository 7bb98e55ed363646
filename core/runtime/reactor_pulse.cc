// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reactor_pulse.h"

#include "core/runtime/reactor.h"

namespace vof {

void ReactorPulse::Add(Reactor* reactor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  members_.push_back({reactor, std::make_shared<std::atomic<bool>>(false)});
}

ReactorPulse::Answer ReactorPulse::Ask() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Answer slowest;
  for (Member& member : members_) {
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
