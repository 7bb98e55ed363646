// SPDX-License-Identifier: Apache-2.0
//
// Fault injection for any byte stream: short reads and writes, delays, cuts at a chosen byte. A
// test library for everybody who embeds this project; the same seed gives the same faults.
//
//   auto [client, server] = MakeLoopbackPair();
//   FaultPlan plan{.seed = 7};
//   plan.read.largest_piece_bytes = 1;                  // every answer arrives byte by byte
//   plan.write.cut_after_bytes = 40;                    // and the connection breaks in the third
//   command FaultyStream<LoopbackStream> faulty(std::move(client), plan); auto connection =
//   std::make_unique<StreamConnection<FaultyStream<LoopbackStream>>>(
//       std::move(faulty), std::move(engine));
//
// Directions are those of the wrapped end: `read` is what it receives. In virtual time hand in a
// clock and look at NextEvent() for when to move it; in real time a reactor polls a delayed stream
// without sleeping. Belongs to one thread, as every stream does.
#ifndef VOF_BACKENDS_LOOPBACK_FAULTS_H_
#define VOF_BACKENDS_LOOPBACK_FAULTS_H_

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/time.h"
#include "core/base/uninitialized_array.h"
#include "core/transport/byte_stream.h"

namespace vof {

enum class CutKind : uint8_t {
  kReset,  // both directions break: kError with ECONNRESET here, the end (or worse) at the peer
  kEnd,    // an orderly end of this direction
};

// Probabilities are per call, in thousandths.
struct DirectionFaults {
  uint32_t short_per_mille = 0;  // moves a random part of what it could
  size_t largest_piece_bytes = std::numeric_limits<size_t>::max();
  uint32_t again_per_mille = 0;   // says kAgain although something could move
  uint32_t delay_per_mille = 0;   // says kAgain for a while
  Nanoseconds longest_delay = 0;  // of a random length up to this
  uint64_t cut_after_bytes = std::numeric_limits<uint64_t>::max();  // exactly so many get through
  CutKind cut_kind = CutKind::kReset;
};

struct FaultPlan {
  uint64_t seed = 0;
  DirectionFaults read = {};
  DirectionFaults write = {};
};

// SplitMix64: small, seedable with anything, the same on every machine.
class FaultRandom {
 public:
  explicit FaultRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
  // Draws only when there is a chance, so that adding a fault kind does not change the others.
  bool Chance(uint32_t per_mille) { return per_mille != 0 && Below(1000) < per_mille; }

 private:
  uint64_t state_;
};

template <ByteStream S>
class FaultyStream {
 public:
  using Clock = std::function<MonotonicTime()>;

  FaultyStream(S inner, const FaultPlan& plan, Clock clock = MonotonicNow)
      : inner_(std::move(inner)),
        clock_(std::move(clock)),
        read_(plan.read, plan.seed * 2),
        write_(plan.write, plan.seed * 2 + 1) {}

  IoResult ReadSome(std::span<const MutableBuffer> into) {
    return Move(read_, into,
                [this](std::span<const MutableBuffer> part) { return inner_.ReadSome(part); });
  }
  IoResult WriteSome(std::span<const ConstBuffer> from) {
    return Move(write_, from,
                [this](std::span<const ConstBuffer> part) { return inner_.WriteSome(part); });
  }

  bool HasBuffered() const { return inner_.HasBuffered(); }
  bool WantRead() const { return inner_.WantRead(); }
  bool WantWrite() const { return inner_.WantWrite(); }
  // What a fault held back is there to be moved at once, or after a delay that no descriptor
  // announces.
  bool Arm() { return !read_.held_back && !write_.held_back && inner_.Arm(); }
  int wait_fd() const { return inner_.wait_fd(); }
  void Shutdown() { inner_.Shutdown(); }
  void ShutdownWrite() requires HalfCloseable<S> { inner_.ShutdownWrite(); }
  const PeerIdentity& peer() const { return inner_.peer(); }

  // When the earliest delay in progress ends; kInfiniteFuture without one.
  MonotonicTime NextEvent() const { return std::min(read_.delayed_until, write_.delayed_until); }
  bool was_cut() const { return read_.cut || write_.cut; }
  uint64_t bytes_read() const { return read_.bytes; }
  uint64_t bytes_written() const { return write_.bytes; }
  S& inner() { return inner_; }

 private:
  struct Direction {
    Direction(const DirectionFaults& f, uint64_t seed) : faults(f), random(seed) {}

    DirectionFaults faults;
    FaultRandom random;
    uint64_t bytes = 0;
    MonotonicTime delayed_until = kInfiniteFuture;
    bool held_back = false;  // the last call moved less than it could
    bool cut = false;
  };

  static constexpr IoResult kAgain{IoStatus::kAgain, 0, 0};

  template <typename Buffer, typename Call>
  IoResult Move(Direction& direction, std::span<const Buffer> buffers, Call call) {
    if (broken_) return {IoStatus::kError, 0, ECONNRESET};
    if (direction.cut) return {IoStatus::kClosed, 0, 0};
    direction.held_back = true;
    if (Delayed(direction)) return kAgain;
    if (direction.bytes >= direction.faults.cut_after_bytes) return Cut(direction);
    if (direction.random.Chance(direction.faults.again_per_mille)) return kAgain;

    const uint64_t offered = TotalBytes(buffers);
    const uint64_t allowed = Allowed(direction, offered);
    UninitializedArray<Buffer, kMaxIovecs> places;
    const IoResult result = call(Clip(buffers, allowed, places.span()));
    direction.held_back = result.status == IoStatus::kOk && allowed < offered;
    if (result.status == IoStatus::kOk) direction.bytes += result.bytes;
    return result;
  }

  bool Delayed(Direction& direction) {
    if (direction.delayed_until != kInfiniteFuture) {
      if (clock_() < direction.delayed_until) return true;
      direction.delayed_until = kInfiniteFuture;
      return false;  // this call moves something: delays in a row would be one longer delay
    }
    if (!direction.random.Chance(direction.faults.delay_per_mille)) return false;
    const auto longest = static_cast<uint64_t>(direction.faults.longest_delay);
    const auto delay = static_cast<Nanoseconds>(1 + direction.random.Below(longest));
    direction.delayed_until = DeadlineAfter(clock_(), delay);
    return true;
  }

  IoResult Cut(Direction& direction) {
    direction.cut = true;
    direction.held_back = false;
    if (direction.faults.cut_kind == CutKind::kReset) {
      broken_ = true;
      inner_.Shutdown();  // what got through before the cut stays readable at the peer
      return {IoStatus::kError, 0, ECONNRESET};
    }
    if (&direction == &write_) {
      if constexpr (HalfCloseable<S>) {
        inner_.ShutdownWrite();
      } else {
        inner_.Shutdown();
      }
    }
    return {IoStatus::kClosed, 0, 0};
  }

  // How many of `offered` bytes this call may move; at least one.
  uint64_t Allowed(Direction& direction, uint64_t offered) {
    const DirectionFaults& faults = direction.faults;
    uint64_t allowed = std::min<uint64_t>(offered, faults.largest_piece_bytes);
    allowed = std::min(allowed, faults.cut_after_bytes - direction.bytes);
    if (allowed > 1 && direction.random.Chance(faults.short_per_mille)) {
      allowed = 1 + direction.random.Below(allowed - 1);
    }
    return std::max<uint64_t>(allowed, offered == 0 ? 0 : 1);
  }

  template <typename Buffer>
  static std::span<const Buffer> Clip(std::span<const Buffer> buffers, uint64_t bytes,
                                      std::span<Buffer> places) {
    size_t count = 0;
    for (size_t i = 0; i < buffers.size() && bytes > 0 && count < places.size(); ++i) {
      const auto part = static_cast<size_t>(std::min<uint64_t>(bytes, buffers[i].size_bytes));
      if (part == 0) continue;
      places[count++] = Buffer(buffers[i].data, part);
      bytes -= part;
    }
    return places.first(count);
  }

  S inner_;
  Clock clock_;
  Direction read_;
  Direction write_;
  bool broken_ = false;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FAULTS_H_
