// SPDX-License-Identifier: Apache-2.0
//
// How a target's queue ends, and the resets that it owes an arrival: what does not depend on how
// its bytes travel.
//
//   TargetQueueLife life;
//   life.CloseNow(EndCause::kProtocol, "...");
//   if (life.wants_close()) ...
//   life.AddReset(done);  ...  if (nothing_in_flight) life.Arrive();
//
// One thread: that of the queue.
#ifndef VOF_CORE_ENGINE_TARGET_QUEUE_LIFE_H_
#define VOF_CORE_ENGINE_TARGET_QUEUE_LIFE_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "core/engine/queue_end.h"
#include "core/engine/queue_engine.h"
#include "core/engine/queue_link.h"

namespace vof {

class TargetQueueLife {
 public:
  enum class Ending : uint8_t {
    kNo,
    kIdle,   // when everything in flight is answered
    kFlush,  // when the output is sent
    kNow,
  };

  // --- Endings: the first reason counts ---
  Ending ending() const { return ending_; }
  bool goes_on() const { return ending_ == Ending::kNo; }
  bool wants_close() const { return ending_ == Ending::kNow || ending_ == Ending::kFlush; }
  const QueueEnd& end() const { return end_; }
  void CloseNow(EndCause cause, std::string_view why) {
    if (ending_ == Ending::kNow) return;
    ending_ = Ending::kNow;
    end_ = {cause, std::string(why)};
  }
  // False: it ends already.
  bool EndWhenIdle(EndCause cause, std::string_view why) {
    if (ending_ != Ending::kNo) return false;
    ending_ = Ending::kIdle;
    end_ = {cause, std::string(why)};
    return true;
  }
  // Everything in flight is answered.
  void Flush() { ending_ = Ending::kFlush; }
  // The transport is closed, perhaps for a reason of its own.
  void OnClosed(CloseReason reason, int error) {
    if (end_.cause != EndCause::kNone) return;
    switch (reason) {
      case CloseReason::kPeerClosed:
        end_ = {EndCause::kPeerClosed, "closed by the peer"};
        break;
      case CloseReason::kPeerReset:
        end_ = {EndCause::kBroken, std::string("broken: ") + std::strerror(error)};
        break;
      case CloseReason::kLocal:
        end_ = {EndCause::kStopped, "cut off by the target"};
        break;
    }
  }

  // --- Resets ---
  void AddReset(std::shared_ptr<Gather> done) { resets_.push_back(std::move(done)); }
  bool resetting() const { return !resets_.empty(); }
  // Requests in flight at the device have until `limit` after the first call.
  void WaitForDevice(MonotonicTime now, Nanoseconds limit) {
    if (reset_deadline_ == kInfiniteFuture) reset_deadline_ = DeadlineAfter(now, limit);
  }
  MonotonicTime reset_deadline() const { return reset_deadline_; }
  void Arrive() {
    reset_deadline_ = kInfiniteFuture;
    for (const std::shared_ptr<Gather>& done : std::exchange(resets_, {})) done->Arrive();
  }

 private:
  Ending ending_ = Ending::kNo;
  QueueEnd end_;
  std::vector<std::shared_ptr<Gather>> resets_;
  MonotonicTime reset_deadline_ = kInfiniteFuture;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_QUEUE_LIFE_H_
