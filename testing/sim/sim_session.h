// SPDX-License-Identifier: Apache-2.0
//
// One simulated initiator: connects, works, suffers, connects again, and in the end - when the
// faults have stopped - does some last work, reads the whole disk, and leaves in good order.
//
//   SimSession session(parts, plan, /*index=*/0);
//   session.Poll();                       // connects and submits what is due
//   session.Act();                        // something happens to it
//   session.BeginCalm(); ... session.finished()
#ifndef VOF_TESTING_SIM_SIM_SESSION_H_
#define VOF_TESTING_SIM_SIM_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/sim/sim_attempt.h"

namespace vof {

// From then on nothing that happened before can disturb a new session: every half-open connection
// and every Connect that was under way is over.
inline constexpr Nanoseconds kCalmSettles = 15 * kNanosecondsPerSecond;

class SimSession {
 public:
  SimSession(const SimAttempt::Parts& parts, const SessionPlan& plan, size_t index);

  void Poll();
  MonotonicTime NextEvent() const { return current_ == nullptr ? retry_at_ : kInfiniteFuture; }
  void Act();
  void BeginCalm();
  bool chaos_done() const { return quota_ == 0; }
  bool finished() const { return stage_ == Stage::kGone && attempts_.empty(); }
  bool ready() const { return current_ != nullptr && current_->ready(); }
  uint16_t instance_id() const { return current_ != nullptr ? current_->info().instance_id : 0; }
  const ConnectBody& body() const { return body_; }
  std::string Describe() const;

 private:
  enum class Stage : uint8_t { kWork, kVerify, kAgree, kLeave, kGone };

  void Connect();
  void Forget();
  void Work();
  void Verify();
  void Agree();
  void Leave();
  void OnLeft();
  void OnUnsettled(int attempt, const DiskModel::WriteHandle& write);
  void SettleWrites(int before_attempt);
  void SubmitOne(size_t queue);
  void ActAtRandom();

  const SimAttempt::Parts parts_;
  SimContext* const context_;
  const SessionPlan plan_;
  ConnectBody body_;
  std::vector<std::unique_ptr<SimAttempt>> attempts_;
  SimAttempt* current_ = nullptr;
  int num_attempts_ = 0;
  int over_before_ = 0;  // attempts below are known to be over
  std::vector<std::pair<int, DiskModel::WriteHandle>> unsettled_;
  MonotonicTime retry_at_ = 0;
  MonotonicTime calm_since_ = kInfiniteFuture;
  uint32_t quota_ = 0;  // requests left in this phase
  uint64_t verified_sectors_ = 0;
  uint64_t asked_for_size_ = 0;  // the size of the disk when it last read it
  bool leaving_ = false;
  bool may_return_ = false;
  Stage stage_ = Stage::kWork;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_SESSION_H_
