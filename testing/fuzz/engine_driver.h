// SPDX-License-Identifier: Apache-2.0
//
// Drives a stream engine as stream_engine.h says, with bytes and room that a fuzzer hands out.
//
//   FuzzDriver driver(std::make_unique<...>(...), /*scratch_bytes=*/300);
//   driver.Feed(bytes, now);             // what the peer sent
//   driver.set_room(40);                 // what the transport takes from now on
//   driver.End(now);                     // closes, and lets the engine finish
//
// The receive buffer is an allocation of its own in every read, so that a sanitizer sees whoever
// looks behind it or keeps a pointer into it.
#ifndef VOF_TESTING_FUZZ_ENGINE_DRIVER_H_
#define VOF_TESTING_FUZZ_ENGINE_DRIVER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/engine/stream_engine.h"

namespace vof {

class FuzzDriver {
 public:
  FuzzDriver(std::unique_ptr<StreamEngine> engine, size_t scratch_bytes)
      : scratch_bytes_(scratch_bytes), engine_(std::move(engine)) {}

  StreamEngine& engine() { return *engine_; }
  bool closed() const { return closed_; }
  // How many bytes of output the transport takes before it is full.
  void set_room(size_t room_bytes) { room_bytes_ = room_bytes; }
  // What the engine has written so far, and forgets.
  std::vector<std::byte> TakeOutput() { return std::exchange(output_, {}); }

  void Feed(std::span<const std::byte> bytes, MonotonicTime now) {
    unread_.insert(unread_.end(), bytes.begin(), bytes.end());
    Run(now);
  }
  // Turns until nothing moves.
  void Run(MonotonicTime now) {
    for (int i = 0; i < kMostTurns && Turn(now); ++i) {
    }
  }
  bool Turn(MonotonicTime now) {
    if (closed_) return !engine_->finished() && engine_->Advance(now);
    if (now >= engine_->NextDeadline()) engine_->OnTimer(now);
    bool moved = Read(now);
    moved |= engine_->Advance(now);
    moved |= Write();
    if (engine_->wants_close() && (!engine_->flush_before_close() || !engine_->wants_write())) {
      Close(CloseReason::kLocal, now);
      return true;
    }
    return moved;
  }
  void Close(CloseReason reason, MonotonicTime now) {
    if (std::exchange(closed_, true)) return;
    engine_->OnClosed(reason, 0, now);
  }
  void End(MonotonicTime now) {
    Close(CloseReason::kPeerReset, now);
    Run(now);
    Check(engine_->finished(), "an engine finishes after its connection is closed");
  }

 private:
  static constexpr int kMostTurns = 100'000;

  bool Read(MonotonicTime now) {
    if (unread_.empty() || !engine_->wants_read()) return false;
    std::vector<std::byte> scratch(scratch_bytes_);
    std::array<MutableBuffer, 64> places;
    const int count = engine_->PrepareRead({scratch.data(), scratch.size()}, places);
    Check(count > 0, "an engine that wants to read has a place for it");
    size_t moved = 0;
    for (int i = 0; i < count && moved < unread_.size(); ++i) {
      const size_t part = std::min(places[i].size_bytes, unread_.size() - moved);
      std::copy_n(unread_.begin() + static_cast<ptrdiff_t>(moved), part, places[i].data);
      moved += part;
    }
    unread_.erase(unread_.begin(), unread_.begin() + static_cast<ptrdiff_t>(moved));
    if (moved > 0) engine_->OnRead(moved, now);
    return moved > 0;
  }

  bool Write() {
    bool moved = false;
    while (room_bytes_ > 0) {
      std::array<ConstBuffer, 64> pieces;
      const int count = engine_->PrepareWrite(pieces);
      size_t bytes = 0;
      for (int i = 0; i < count && bytes < room_bytes_; ++i) {
        const size_t part = std::min(pieces[i].size_bytes, room_bytes_ - bytes);
        output_.insert(output_.end(), pieces[i].data, pieces[i].data + part);
        bytes += part;
      }
      if (bytes == 0) return moved;
      engine_->OnWritten(bytes);
      room_bytes_ -= bytes;
      moved = true;
    }
    return moved;
  }

  const size_t scratch_bytes_;
  std::unique_ptr<StreamEngine> engine_;
  std::vector<std::byte> unread_, output_;
  size_t room_bytes_ = std::numeric_limits<size_t>::max();
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_DRIVER_H_
