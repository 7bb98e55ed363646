// SPDX-License-Identifier: Apache-2.0
//
// After warm-up a virtqueue of a target serves requests without allocating.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace {
std::atomic<size_t> allocations{0};
}

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace vof {
namespace {

// Drives a queue through its engine alone, so that only the engine can allocate.
template <typename C>
class Driver {
 public:
  Driver(TargetHarness& target, RawPeer& queue) : target_(target), engine_(queue.engine()) {}

  void Serve(const std::vector<std::byte>& bytes, size_t chunk) {
    for (size_t sent = 0; sent < bytes.size();) {
      std::array<MutableBuffer, 8> places;
      const int count = engine_.PrepareRead({scratch_.data(), scratch_.size()}, places);
      size_t moved = 0;
      for (int i = 0; i < count && sent < bytes.size() && moved < chunk; ++i) {
        const size_t n = std::min({places[i].size_bytes, bytes.size() - sent, chunk - moved});
        std::memcpy(places[i].data, bytes.data() + sent, n);
        sent += n;
        moved += n;
      }
      if (moved > 0) engine_.OnRead(moved, target_.now);
      Drain();
    }
    Drain();
  }
  uint64_t answered_bytes() const { return answered_bytes_; }

 private:
  void Drain() {
    engine_.Advance(target_.now);
    std::array<ConstBuffer, 64> pieces;
    for (int count = engine_.PrepareWrite(pieces); count > 0;
         count = engine_.PrepareWrite(pieces)) {
      size_t bytes = 0;
      for (int i = 0; i < count; ++i) bytes += pieces[i].size_bytes;
      answered_bytes_ += bytes;
      engine_.OnWritten(bytes);
    }
  }
  TargetHarness& target_;
  TargetConnection& engine_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(kScratchBytes);
  uint64_t answered_bytes_ = 0;
};

template <typename C>
class TargetAllocationTest : public testing::Test {};
using Dialects = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(TargetAllocationTest, Dialects);

TYPED_TEST(TargetAllocationTest, NoneAfterWarmUp) {
  for (const bool lends : {true, false}) {
    FakeDeviceOptions options;
    options.completes_inline = true;
    options.lends_results = lends;
    TargetHarness target(options);
    TestSession<TypeParam> session(target, transport_feature::kCredit);
    std::vector<std::byte> bytes;
    for (uint16_t i = 0; i < 32; ++i) {
      const bool write = i % 2 == 0;
      const auto one =
          RequestBytes<TypeParam>(i, std::string(write ? 4112 : 16, 'x'), write ? 1 : 4097);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    Driver<TypeParam> driver(target, *session.queue);
    // Whole batches, and pieces that cut headers and payloads everywhere.
    const size_t chunks[] = {bytes.size(), 9999, 1000, 61};
    for (size_t chunk : chunks) driver.Serve(bytes, chunk);
    const uint64_t answered = driver.answered_bytes();
    const size_t before = allocations;
    for (size_t chunk : chunks) driver.Serve(bytes, chunk);
    EXPECT_EQ(allocations - before, 0u) << "lends " << lends;
    EXPECT_EQ(driver.answered_bytes(), 2 * answered);
  }
}

}  // namespace
}  // namespace vof
