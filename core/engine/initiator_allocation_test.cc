// SPDX-License-Identifier: Apache-2.0
//
// The initiator allocates nothing per request, once it has served a full window.
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/engine/initiator_test_peer.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace {
int64_t num_allocations = 0;

void* Count(size_t size) {
  ++num_allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
}  // namespace

void* operator new(size_t size) { return Count(size); }
void* operator new[](size_t size) { return Count(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace vof {
namespace {

constexpr uint16_t kDepth = 64;
constexpr uint32_t kDataBytes = 4096;

struct Io {
  std::array<std::byte, 16> header{};
  std::array<std::byte, kDataBytes> data{};
  std::byte status{};
  std::array<ConstBuffer, 1> readable;
  std::array<MutableBuffer, 2> writable;
  InitiatorRequest request;
};

template <typename C>
class InitiatorAllocationTest : public testing::Test {
 protected:
  void SetUp() override {
    InitiatorQueueOptions options;
    options.queue_size = kDepth;
    options.credits = C::kDialect == Dialect::kV5;
    options.timeout = kNanosecondsPerSecond;
    queue_ = std::make_shared<InitiatorQueue>(options);
    engine_ = std::make_unique<InitiatorVirtqueueStream<C>>(InitiatorVirtqueueOptions{}, queue_);
    for (Io& io : ios_) {
      io.readable[0] = ConstBuffer(io.header.data(), io.header.size());
      io.writable = {MutableBuffer(io.data.data(), io.data.size()), MutableBuffer(&io.status, 1)};
      io.request.readable = io.readable;
      io.request.writable = io.writable;
      io.request.done = [](InitiatorRequest*) {};
    }
    Pump();
    Receive(CompletionBytes<C>(CommandKind::kConnect, {}));
    Pump();
    for (uint16_t id = 0; id < kDepth; ++id) {
      answers_ += CompletionBytes<C>(CommandKind::kVq, {.command_id = id,
                                                        .used_length = kDataBytes + 1,
                                                        .inline_length = kDataBytes + 1,
                                                        .grant = 1,
                                                        .ndesc = 2});
      if constexpr (C::kSegmentedStreams) {
        answers_ += SegmentBytes<C>({.length_bytes = kDataBytes, .id = 1, .writable = true});
        answers_ += SegmentBytes<C>({.length_bytes = 1, .id = 2, .writable = true});
      }
      answers_ += std::string(kDataBytes + 1, '\0');
    }
  }
  void TearDown() override {
    engine_->OnClosed(CloseReason::kPeerClosed, 0, now_);
    while (engine_->Advance(now_)) {
    }
  }
  void Pump() {
    now_ += 1000;
    engine_->Advance(now_);
    std::array<ConstBuffer, 64> pieces;
    for (int n = engine_->PrepareWrite(pieces); n > 0; n = engine_->PrepareWrite(pieces)) {
      size_t bytes = 0;
      for (int i = 0; i < n; ++i) bytes += pieces[i].size_bytes;
      engine_->OnWritten(bytes);
    }
  }
  void Receive(std::string_view bytes) {
    std::array<MutableBuffer, 16> places;
    while (!bytes.empty()) {
      const int n = engine_->PrepareRead({scratch_.data(), scratch_.size()}, places);
      size_t read = 0;
      for (int i = 0; i < n; ++i) {
        const size_t take = std::min(places[i].size_bytes, bytes.size());
        std::memcpy(places[i].data, bytes.data(), take);
        bytes.remove_prefix(take);
        read += take;
      }
      engine_->OnRead(read, now_);
    }
  }
  void Round() {
    for (Io& io : ios_) queue_->Submit(&io.request);
    Pump();
    Receive(answers_);
    Pump();
    for (Io& io : ios_) errors_ += io.request.error != RequestError::kNone;
  }

  std::shared_ptr<InitiatorQueue> queue_;
  std::unique_ptr<InitiatorVirtqueueStream<C>> engine_;
  std::array<Io, kDepth> ios_;
  std::array<std::byte, 100'000> scratch_;
  std::string answers_;
  MonotonicTime now_ = 0;
  int errors_ = 0;
};

using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(InitiatorAllocationTest, Codecs);

TYPED_TEST(InitiatorAllocationTest, NothingAfterWarmUp) {
  this->Round();
  const int64_t before = num_allocations;
  for (int i = 0; i < 100; ++i) this->Round();
  EXPECT_EQ(num_allocations - before, 0);
  EXPECT_EQ(this->errors_, 0);
}

}  // namespace
}  // namespace vof
