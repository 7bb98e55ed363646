// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_session.h"

#include <algorithm>

namespace vof {

SimSession::SimSession(const SimAttempt::Parts& parts, const SessionPlan& plan, size_t index)
    : parts_(parts),
      context_(parts.context),
      plan_(plan),
      quota_(parts.context->plan.chaos_requests) {
  body_.initiator_name = "host" + std::to_string(index);
  body_.target_name = kSimDisk;
  if (plan.has_token && plan.dialect == Dialect::kV5) {
    for (std::byte& b : body_.token) b = static_cast<std::byte>(1 + context_->random.Below(255));
  }
}

std::string SimSession::Describe() const {
  static constexpr const char* kStages[] = {"works", "verifies", "compares sizes", "leaves",
                                            "gone"};
  return "  " + body_.initiator_name + " " + kStages[static_cast<int>(stage_)] +
         (current_ == nullptr ? ", not connected"
          : ready()           ? ", ready"
                              : ", connecting") +
         ", " + std::to_string(attempts_.size()) + " lives, " +
         (current_ != nullptr ? std::to_string(current_->outstanding()) : "no") + " requests\n";
}

void SimSession::Poll() {
  Forget();
  if (current_ != nullptr && (current_->ending() || current_->gone())) {
    current_ = nullptr;
    retry_at_ = context_->now + Milliseconds(1 + context_->random.Below(200));
    if (stage_ == Stage::kLeave) OnLeft();
    if (stage_ == Stage::kVerify) verified_sectors_ = 0;
    asked_for_size_ = 0;
  }
  if (current_ == nullptr) {
    if (stage_ != Stage::kGone && context_->now >= retry_at_) Connect();
    return;
  }
  if (!current_->ready()) return;
  switch (stage_) {
    case Stage::kWork:
      return Work();
    case Stage::kVerify:
      return Verify();
    case Stage::kAgree:
      return Agree();
    case Stage::kLeave:
      return Leave();
    case Stage::kGone:
      return;
  }
}

// --- Lives ---

void SimSession::Connect() {
  const bool strict = context_->calm && context_->now - calm_since_ >= kCalmSettles;
  const int number = ++num_attempts_;
  SimAttempt::Hooks hooks;
  hooks.on_connected = [this, number] {
    // The target promises that nothing of an older life with this token lands from now on.
    if (body_.has_token()) SettleWrites(number);
  };
  hooks.on_ready = [] {};
  hooks.on_unsettled = [this, number](const DiskModel::WriteHandle& write) {
    OnUnsettled(number, write);
  };
  attempts_.push_back(
      std::make_unique<SimAttempt>(parts_, plan_, body_, number, strict, std::move(hooks)));
  current_ = attempts_.back().get();
  current_->Start();
}

void SimSession::Forget() {
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    SimAttempt& attempt = **it;
    if (!attempt.gone() || (&attempt == current_ && !attempt.ending())) {
      ++it;
      continue;
    }
    attempt.CheckGone();
    if (&attempt == current_) {
      current_ = nullptr;
      retry_at_ = context_->now + Milliseconds(1 + context_->random.Below(200));
      if (stage_ == Stage::kLeave) OnLeft();
      asked_for_size_ = 0;
    }
    it = attempts_.erase(it);
  }
}

void SimSession::OnUnsettled(int attempt, const DiskModel::WriteHandle& write) {
  if (attempt < over_before_) {
    context_->model.Settle(write);
  } else {
    unsettled_.emplace_back(attempt, write);
  }
}

void SimSession::SettleWrites(int before_attempt) {
  over_before_ = std::max(over_before_, before_attempt);
  std::erase_if(unsettled_, [&](const auto& entry) {
    if (entry.first >= over_before_) return false;
    context_->model.Settle(entry.second);
    return true;
  });
}

// --- Work ---

void SimSession::Work() {
  for (size_t queue = 0; queue < current_->num_queues() && quota_ > 0; ++queue) {
    while (quota_ > 0 && current_->outstanding(queue) < plan_.depth) {
      --quota_;
      current_->Submit(queue, std::make_unique<SimRequest>(context_, current_->Limits()));
    }
  }
  if (quota_ == 0 && context_->calm && current_->outstanding() == 0) stage_ = Stage::kVerify;
}

// Reads the disk from front to back, a few requests at a time.
void SimSession::Verify() {
  const uint64_t sectors = context_->capacity_sectors;
  const SimRequestLimits limits = current_->Limits();
  while (verified_sectors_ < sectors && current_->outstanding() < 4) {
    const uint64_t most = std::min<uint64_t>(16, (limits.max_in_bytes - 1) / 512);
    const uint64_t count = std::min<uint64_t>(most, sectors - verified_sectors_);
    const size_t queue = context_->random.Below(current_->num_queues());
    current_->Submit(
        queue, std::make_unique<SimRequest>(context_, limits, Extent{verified_sectors_, count}));
    verified_sectors_ += count;
  }
  if (verified_sectors_ >= sectors && current_->outstanding() == 0) stage_ = Stage::kAgree;
}

// In `v5` the session has been told of every change; in `ref` nobody tells it.
void SimSession::Agree() {
  if (plan_.dialect == Dialect::kRef && asked_for_size_ != context_->capacity_sectors) {
    asked_for_size_ = context_->capacity_sectors;
    current_->ReadCapacity();
  }
  if (current_->capacity_seen() == context_->capacity_sectors) {
    stage_ = Stage::kLeave;
  }
}

void SimSession::Leave() {
  if (std::exchange(leaving_, true)) return;
  if (context_->random.Chance(500)) {
    current_->Drain();
  } else {
    current_->Disconnect();
  }
}

void SimSession::OnLeft() {
  stage_ = Stage::kGone;
  if (!std::exchange(may_return_, false)) return;
  stage_ = Stage::kWork;
  retry_at_ = std::max(retry_at_, calm_since_ + kCalmSettles);
  quota_ = context_->plan.calm_requests;
  verified_sectors_ = 0;
  leaving_ = false;
}

void SimSession::BeginCalm() {
  may_return_ = plan_.returns;
  calm_since_ = context_->now;
  quota_ = context_->plan.calm_requests;
}

// --- What happens to it ---

void SimSession::Act() {
  if (current_ == nullptr) return;
  if (!current_->ready()) {
    if (context_->random.Chance(100)) current_->BreakOne();
    if (context_->random.Chance(50)) current_->EndNow();
    return;
  }
  ActAtRandom();
}

void SimSession::ActAtRandom() {
  FaultRandom& random = context_->random;
  switch (random.Below(16)) {
    case 0:
    case 1:
    case 2:
      return current_->Reset();
    case 3:
      return current_->Ping();
    case 4:
      return current_->ReadCapacity();
    case 5:
      return current_->WriteCache(random.Chance(500));
    case 6:
      return current_->Drain();
    case 7:
      return current_->Disconnect();
    case 8:
      return current_->EndNow();
    case 9:
      return current_->CloseOne();
    case 10:
      return current_->BreakOne();
    case 11:
    case 12:
      return current_->Blackhole();
    default:
      return;
  }
}

}  // namespace vof
