// SPDX-License-Identifier: Apache-2.0
//
// The other side of an EchoEngine: sends a known sequence of bytes and checks what comes back.
//
//   auto engine = std::make_unique<TalkEngine>(TalkOptions{.total_bytes = 1 << 20}, &log);
//   ... run both reactors ...
//   EXPECT_EQ(log.echoed_bytes, 1 << 20); EXPECT_FALSE(log.mismatch);
#ifndef VOF_TESTING_CONFORMANCE_TALK_ENGINE_H_
#define VOF_TESTING_CONFORMANCE_TALK_ENGINE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/engine/stream_engine.h"

namespace vof {

struct TalkOptions {
  uint64_t total_bytes = 0;
  // Not yet echoed bytes at a time; a small one makes a ping-pong.
  uint64_t window_bytes = 1u << 20;
  bool close_when_done = true;
};

// Written on the reactor's thread; atomics so that another one may watch.
struct TalkLog {
  std::atomic<uint64_t> echoed_bytes{0};
  std::atomic<bool> mismatch{false};
  std::atomic<bool> closed{false};
  std::atomic<bool> destroyed{false};
  CloseReason reason = CloseReason::kLocal;  // valid when closed
  int error = 0;
  std::function<void()> on_done;  // all bytes came back
};

class TalkEngine final : public StreamEngine {
 public:
  TalkEngine(const TalkOptions& options, TalkLog* log) : options_(options), log_(log) {
    for (size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = PatternAt(i);
  }
  ~TalkEngine() override { log_->destroyed = true; }

  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    scratch_ = into[0] = scratch;
    return 1;
  }
  void OnRead(size_t bytes, MonotonicTime) override {
    for (size_t i = 0; i < bytes; ++i) {
      if (scratch_.data[i] != pattern_[(echoed_ + i) % pattern_.size()]) log_->mismatch = true;
    }
    echoed_ += bytes;
    log_->echoed_bytes = echoed_;
    if (echoed_ == options_.total_bytes && log_->on_done) log_->on_done();
  }
  bool wants_read() const override { return true; }
  bool Advance(MonotonicTime) override { return false; }
  bool has_pending_work() const override { return false; }
  int work_fd() const override { return -1; }

  int PrepareWrite(std::span<ConstBuffer> from) override {
    uint64_t left = Sendable();
    size_t count = 0;
    for (uint64_t at = sent_; left > 0 && count < from.size(); ++count) {
      const size_t offset = at % pattern_.size();
      const auto part = static_cast<size_t>(std::min<uint64_t>(left, pattern_.size() - offset));
      from[count] = ConstBuffer(pattern_.data() + offset, part);
      at += part;
      left -= part;
    }
    return static_cast<int>(count);
  }
  void OnWritten(size_t bytes) override { sent_ += bytes; }
  bool wants_write() const override { return Sendable() > 0; }

  MonotonicTime NextDeadline() const override { return kInfiniteFuture; }
  void OnTimer(MonotonicTime) override {}
  bool wants_close() const override {
    return options_.close_when_done && echoed_ >= options_.total_bytes;
  }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    log_->reason = reason;
    log_->error = error;
    closed_ = true;
    log_->closed = true;
  }
  bool finished() const override { return closed_; }
  std::string Describe() const override { return "talk"; }

 private:
  static std::byte PatternAt(size_t i) { return static_cast<std::byte>((i * 131) ^ (i >> 7)); }
  uint64_t Sendable() const {
    return std::min(options_.total_bytes, echoed_ + options_.window_bytes) - sent_;
  }

  const TalkOptions options_;
  TalkLog* const log_;
  std::array<std::byte, 10'007> pattern_;  // a prime: no cut lines up with it
  MutableBuffer scratch_;
  uint64_t sent_ = 0;
  uint64_t echoed_ = 0;
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_TALK_ENGINE_H_
