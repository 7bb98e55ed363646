// SPDX-License-Identifier: Apache-2.0
//
// Somebody at the target's door who has no business there: sends its bytes, listens for a while,
// goes away.
//
//   auto stranger = std::make_unique<SimStranger>(bytes, leave_at, [](std::span<const std::byte>
//       answer) { ... });
#ifndef VOF_TESTING_SIM_SIM_STRANGER_H_
#define VOF_TESTING_SIM_SIM_STRANGER_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/stream_engine.h"

namespace vof {

class SimStranger final : public StreamEngine {
 public:
  using Bytes = std::vector<std::byte>;
  using OnEnd = std::function<void(const Bytes& answer)>;

  SimStranger(Bytes bytes, MonotonicTime leave_at, OnEnd on_end)
      : bytes_(std::move(bytes)), leave_at_(leave_at), on_end_(std::move(on_end)) {}

  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    if (leaves_) return 0;
    into[0] = scratch_ = scratch;
    return 1;
  }
  void OnRead(size_t bytes, MonotonicTime) override {
    answer_.insert(answer_.end(), scratch_.data, scratch_.data + bytes);
  }
  bool wants_read() const override { return !leaves_; }
  bool Advance(MonotonicTime) override { return false; }
  bool has_pending_work() const override { return false; }
  int work_fd() const override { return -1; }
  int PrepareWrite(std::span<ConstBuffer> from) override {
    if (!wants_write()) return 0;
    from[0] = ConstBuffer(bytes_.data() + sent_, bytes_.size() - sent_);
    return 1;
  }
  void OnWritten(size_t bytes) override { sent_ += bytes; }
  bool wants_write() const override { return !leaves_ && sent_ < bytes_.size(); }
  MonotonicTime NextDeadline() const override { return leaves_ ? kInfiniteFuture : leave_at_; }
  void OnTimer(MonotonicTime) override { leaves_ = true; }
  bool wants_close() const override { return leaves_; }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason, int, MonotonicTime) override {
    if (!std::exchange(closed_, true)) on_end_(answer_);
  }
  bool finished() const override { return closed_; }
  std::string Describe() const override { return "stranger"; }

 private:
  const Bytes bytes_;
  const MonotonicTime leave_at_;
  const OnEnd on_end_;
  MutableBuffer scratch_;
  Bytes answer_;
  size_t sent_ = 0;
  bool leaves_ = false;
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_STRANGER_H_
