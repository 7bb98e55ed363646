// SPDX-License-Identifier: Apache-2.0
//
// The simplest engine: sends back what it receives. For tests of connections and reactors.
//
//   auto engine = std::make_unique<EchoEngine>(EchoOptions{.capacity_bytes = 4096}, &log);
//   reactor->Add(std::make_unique<StreamConnection<S>>(std::move(stream), std::move(engine)));
//
// It reads no more than `capacity_bytes` ahead of what it has written (back-pressure), can hold
// answers back until it is told to go on, and notes in its log, which outlives it, how the
// connection ended.
#ifndef VOF_TESTING_CONFORMANCE_ECHO_ENGINE_H_
#define VOF_TESTING_CONFORMANCE_ECHO_ENGINE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/time.h"
#include "core/engine/stream_engine.h"

namespace vof {

struct EchoOptions {
  size_t capacity_bytes = 1u << 20;
  // Cuts the output into pieces of this size; 0: one piece.
  size_t piece_bytes = 0;
  // Closes after this many bytes were received, having sent them back first.
  size_t close_after_bytes = SIZE_MAX;
};

// What a test sees; written on the reactor's thread.
struct EchoLog {
  size_t read_bytes = 0;
  size_t written_bytes = 0;
  int advances_after_close = 0;
  bool closed = false;
  bool destroyed = false;
  CloseReason reason = CloseReason::kLocal;
  int error = 0;
};

class EchoEngine final : public StreamEngine {
 public:
  explicit EchoEngine(const EchoOptions& options, EchoLog* log)
      : options_(options), log_(log), buffer_(options.capacity_bytes) {}
  ~EchoEngine() override { log_->destroyed = true; }

  // --- For tests, on the reactor's thread ---
  // Bytes sent without being asked, for the side that starts a conversation.
  void Say(std::span<const std::byte> bytes) {
    std::memcpy(buffer_.data() + end_, bytes.data(), bytes.size());
    end_ += bytes.size();
    Wake();
  }
  // While held, what was received is not sent back and counts as work at a device.
  void Hold(bool held) {
    held_ = held;
    Wake();
  }
  void set_deadline(MonotonicTime deadline) { deadline_ = deadline; }

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    if (!wants_read()) return 0;
    scratch_ = MutableBuffer(scratch.data, std::min(scratch.size_bytes, buffer_.size() - end_));
    into[0] = scratch_;
    return 1;
  }
  void OnRead(size_t bytes, MonotonicTime) override {
    std::memcpy(buffer_.data() + end_, scratch_.data, bytes);
    end_ += bytes;
    log_->read_bytes += bytes;
  }
  bool wants_read() const override { return end_ < buffer_.size() && !wants_close(); }
  bool Advance(MonotonicTime) override {
    if (closed_) ++log_->advances_after_close;
    return false;
  }
  bool has_pending_work() const override { return held_; }
  int work_fd() const override { return work_fd_; }
  void set_work_fd(int fd) { work_fd_ = fd; }

  int PrepareWrite(std::span<ConstBuffer> from) override {
    if (held_ || begin_ == end_) return 0;
    const size_t piece = options_.piece_bytes == 0 ? end_ - begin_ : options_.piece_bytes;
    size_t count = 0;
    for (size_t at = begin_; at < end_ && count < from.size(); at += piece) {
      from[count++] = ConstBuffer(buffer_.data() + at, std::min(piece, end_ - at));
    }
    return static_cast<int>(count);
  }
  void OnWritten(size_t bytes) override {
    begin_ += bytes;
    log_->written_bytes += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  bool wants_write() const override { return !held_ && begin_ != end_; }

  MonotonicTime NextDeadline() const override { return deadline_; }
  void OnTimer(MonotonicTime) override {
    deadline_ = kInfiniteFuture;
    timed_out_ = true;
  }

  bool wants_close() const override {
    return timed_out_ || log_->read_bytes >= options_.close_after_bytes;
  }
  bool flush_before_close() const override { return true; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    closed_ = true;
    log_->closed = true;
    log_->reason = reason;
    log_->error = error;
  }
  bool finished() const override { return closed_ && !held_; }
  std::string Describe() const override { return "echo"; }

 private:
  const EchoOptions options_;
  EchoLog* const log_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  MutableBuffer scratch_;
  MonotonicTime deadline_ = kInfiniteFuture;
  int work_fd_ = -1;
  bool held_ = false;
  bool timed_out_ = false;
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_ECHO_ENGINE_H_
