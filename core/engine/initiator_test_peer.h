// SPDX-License-Identifier: Apache-2.0
//
// For tests of initiator engines: drives one without I/O, in reads of any size, and forges what a
// target says.
//
//   EngineDriver driver(&engine);
//   std::string sent = driver.Turn();                 // what the engine sent
//   driver.Feed(CompletionBytes<V5>(CommandKind::kVq, {.command_id = 0}), /*step=*/1);
#ifndef VOF_CORE_ENGINE_INITIATOR_TEST_PEER_H_
#define VOF_CORE_ENGINE_INITIATOR_TEST_PEER_H_

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/engine/stream_engine.h"
#include "core/wire/codec.h"

namespace vof {

// A scratch buffer smaller than a reactor's shows more edges; large enough to hold small answers.
inline constexpr size_t kTestScratchBytes = 64u << 10;

class EngineDriver {
 public:
  explicit EngineDriver(StreamEngine* engine) : engine_(engine), scratch_(kTestScratchBytes) {}

  MonotonicTime now = 1000;
  int reads = 0;   // calls of OnRead
  int writes = 0;  // calls of PrepareWrite that had something

  // One turn without input; returns what the engine wants to send, all taken.
  std::string Turn() {
    if (now >= engine_->NextDeadline()) engine_->OnTimer(now);
    engine_->Advance(now);
    std::string sent = Drain(~size_t{0});
    CloseIfWanted();
    return sent;
  }
  // Takes at most `limit` bytes of the engine's output.
  std::string Drain(size_t limit) {
    std::string sent;
    std::array<ConstBuffer, 64> pieces;
    while (limit > 0) {
      const int n = engine_->PrepareWrite(pieces);
      if (n == 0) break;
      ++writes;
      size_t taken = 0;
      for (int i = 0; i < n && taken < limit; ++i) {
        const size_t bytes = std::min(pieces[i].size_bytes, limit - taken);
        sent.append(reinterpret_cast<const char*>(pieces[i].data), bytes);
        taken += bytes;
      }
      engine_->OnWritten(taken);
      limit -= taken;
    }
    return sent;
  }
  // Hands `bytes` in, at most `step` per read, without a turn of the rest.
  void Feed(std::string_view bytes, size_t step = ~size_t{0}) {
    std::array<MutableBuffer, 16> places;
    while (!bytes.empty() && engine_->wants_read()) {
      const int n = engine_->PrepareRead({scratch_.data(), scratch_.size()}, places);
      if (n == 0) return;
      size_t read = 0;
      for (int i = 0; i < n; ++i) {
        const size_t take = std::min({places[i].size_bytes, bytes.size(), step - read});
        std::memcpy(places[i].data, bytes.data(), take);
        bytes.remove_prefix(take);
        read += take;
      }
      ++reads;
      engine_->OnRead(read, now);
    }
  }
  void PeerCloses() {
    engine_->OnClosed(CloseReason::kPeerClosed, 0, now);
    Turn();
  }

 private:
  void CloseIfWanted() {
    if (!engine_->wants_close() || engine_->finished()) return;
    engine_->OnClosed(CloseReason::kLocal, 0, now);
    while (engine_->Advance(now)) {
    }
  }

  StreamEngine* const engine_;
  std::vector<std::byte> scratch_;
};

template <typename C>
std::string CompletionBytes(CommandKind kind, const Completion& completion) {
  std::string bytes(kHeaderBytes, '\0');
  C::EncodeCompletion(kind, completion,
                      HeaderOut(reinterpret_cast<std::byte*>(bytes.data()), size_t{kHeaderBytes}));
  return bytes;
}

template <typename C>
Command DecodeCommandAt(std::string_view bytes, size_t offset) {
  Command command;
  C::DecodeCommand(
      HeaderIn(reinterpret_cast<const std::byte*>(bytes.data()) + offset, size_t{kHeaderBytes}),
      command);
  return command;
}

template <typename C>
std::string SegmentBytes(const Segment& segment) {
  std::string bytes(C::kDescriptorBytes, '\0');
  C::EncodeSegment(segment, {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
  return bytes;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_TEST_PEER_H_
