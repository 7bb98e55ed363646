// SPDX-License-Identifier: Apache-2.0
//
// Flow control by credits, both ends (docs/protocol.md, "Credits"). A credit is the right to have
// one command in flight; the window is credits held plus commands in flight, between 1 and the
// queue size at all times.
//
//   InitiatorCredits credits(queue_size);            // Connect grants queue_size
//   if (credits.available() > 0) { credits.OnSend(); ... }
//   if (!credits.OnCompletion(completion.grant)) Close(WireError::kGrant);
//
//   TargetCredits credits(queue_size);
//   if (!credits.OnCommand()) Answer(Cause::kTooManyCommands, /*grant=*/0);
//   completion.grant = credits.OnCompletion(memory_is_short);
//   if (uint16_t grant = credits.IdleGrant(memory_is_short)) SendEvent(kEventCredit, grant);
#ifndef VOF_CORE_ENGINE_CREDIT_WINDOW_H_
#define VOF_CORE_ENGINE_CREDIT_WINDOW_H_

#include <algorithm>
#include <cstdint>

namespace vof {

class InitiatorCredits {
 public:
  explicit InitiatorCredits(uint16_t queue_size) : queue_size_(queue_size), held_(queue_size) {}

  uint32_t available() const { return held_; }
  uint32_t in_flight() const { return in_flight_; }
  void OnSend() { --held_, ++in_flight_; }
  // A command was answered, with `grant` credits. False: the target broke the rule 1 <= window <=
  // size.
  bool OnCompletion(uint16_t grant) {
    --in_flight_;
    held_ += grant;
    return InRange();
  }
  // The credit event: allowed while nothing is in flight, or it crossed a command on its way.
  bool OnEvent(uint16_t grant) {
    held_ += grant;
    return grant > 0 && InRange();
  }

 private:
  bool InRange() const {
    const uint32_t window = held_ + in_flight_;
    return window >= 1 && window <= queue_size_;
  }
  const uint32_t queue_size_;
  uint32_t held_;
  uint32_t in_flight_ = 0;
};

class TargetCredits {
 public:
  explicit TargetCredits(uint16_t queue_size) : queue_size_(queue_size), granted_(queue_size) {}

  uint32_t window() const { return granted_ + in_flight_; }
  // Whether the next command has a credit.
  bool available() const { return granted_ > 0; }
  // A command came. False: it had no credit.
  bool OnCommand() {
    event_outstanding_ = false;
    if (granted_ == 0) return false;
    --granted_, ++in_flight_;
    return true;
  }
  // The grant of the completion about to be sent: 0 while memory is short and the window can
  // shrink, else everything that is missing, a few at a time so that a window reopens gently.
  uint16_t OnCompletion(bool memory_is_short) {
    --in_flight_;
    if (memory_is_short) return Grant(window() == 0 ? 1 : 0);
    return Grant(std::min<uint32_t>(queue_size_ - window(), kMostPerCompletion));
  }
  // What to grant by an event when nothing is in flight and the window is not whole; 0: send none.
  uint16_t IdleGrant(bool memory_is_short) {
    if (in_flight_ > 0 || event_outstanding_ || memory_is_short || window() == queue_size_)
      return 0;
    event_outstanding_ = true;
    return Grant(queue_size_ - window());
  }

 private:
  static constexpr uint32_t kMostPerCompletion = 2;
  uint16_t Grant(uint32_t credits) {
    granted_ += credits;
    return static_cast<uint16_t>(credits);
  }
  const uint32_t queue_size_;
  uint32_t granted_;
  uint32_t in_flight_ = 0;
  bool event_outstanding_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_CREDIT_WINDOW_H_
