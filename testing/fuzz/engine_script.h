// SPDX-License-Identifier: Apache-2.0
//
// How the engine fuzzers read their input: a list of events, each a code, a length and bytes.
//
//   FuzzScript script(data);
//   for (FuzzEvent event; script.Next(&event);) ... event.code, event.lane, event.bytes ...
//
// One byte: the kind of event (low nibble) and the connection it happens to (high nibble). Two
// bytes: how many bytes follow; less when the input ends. So any input means something, and a
// prefix of it means the same up to its end.
#ifndef VOF_TESTING_FUZZ_ENGINE_SCRIPT_H_
#define VOF_TESTING_FUZZ_ENGINE_SCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace vof {

struct FuzzEvent {
  unsigned code = 0;  // 0..15
  size_t lane = 0;    // 0..15
  std::span<const std::byte> bytes;

  // The first bytes as a number, little-endian; 0 without any.
  uint64_t number() const {
    uint64_t value = 0;
    for (size_t i = 0; i < std::min<size_t>(bytes.size(), 8); ++i) {
      value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
  }
};

class FuzzScript {
 public:
  explicit FuzzScript(std::span<const std::byte> data) : left_(data) {}

  bool Next(FuzzEvent* event) {
    if (left_.size() < 3) return false;
    const auto head = std::to_integer<unsigned>(left_[0]);
    const size_t length = std::to_integer<size_t>(left_[1]) | std::to_integer<size_t>(left_[2])
                                                                  << 8;
    left_ = left_.subspan(3);
    event->code = head & 15;
    event->lane = head >> 4;
    event->bytes = left_.first(std::min(length, left_.size()));
    left_ = left_.subspan(event->bytes.size());
    return true;
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_ENGINE_SCRIPT_H_
