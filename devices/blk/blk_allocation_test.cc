// SPDX-License-Identifier: Apache-2.0
//
// Nothing allocates per request, once the pools have grown to the deepest queue.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "devices/blk/blk_device.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/testing/driver_double.h"
#include "devices/blk/testing/temp_file.h"
#include "gtest/gtest.h"

namespace {
std::atomic<int64_t> num_allocations = 0;

void* Count(size_t size) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
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

constexpr size_t kDepth = 100;
constexpr uint64_t kDiskBytes = 4u << 20;

// Requests with memory of their own, used again and again.
class Rig final : public CompletionSink {
 public:
  explicit Rig(DeviceQueue* queue)
      : queue_(queue), lends_(queue->traits().lends_results), requests_(kDepth) {
    for (size_t i = 0; i < kDepth; ++i) {
      Entry& entry = entries_.emplace_back();
      entry.readable =
          i % 2 == 0 ? BlkReadRequest(i * 8) : BlkWriteRequest(i * 8, PatternBytes(4096, i));
      if (i % 10 == 9) entry.readable = BlkSegmentsRequest(kBlkTypeWriteZeroes, {{i * 8, 8, 1}});
      entry.writable.resize(i % 2 == 0 ? 4097 : 1);
      batch_.push_back(&requests_[i]);
    }
  }

  void RunOnce() {
    for (size_t i = 0; i < kDepth; ++i) {
      Entry& entry = entries_[i];
      entry.in = ConstBuffer(entry.readable.data(), entry.readable.size());
      entry.out = MutableBuffer(entry.writable.data(), entry.writable.size());
      requests_[i].Reset(this);
      requests_[i].readable = {&entry.in, 1};
      requests_[i].readable_bytes = static_cast<uint32_t>(entry.readable.size());
      if (!lends_) requests_[i].writable = {&entry.out, 1};
      requests_[i].writable_bytes = static_cast<uint32_t>(entry.writable.size());
    }
    completed_ = 0;
    queue_->Submit(batch_);
    while (completed_ < kDepth) queue_->Poll();
  }
  void OnComplete(DeviceRequest*) override { ++completed_; }

 private:
  struct Entry {
    Bytes readable, writable;
    ConstBuffer in;
    MutableBuffer out;
  };

  DeviceQueue* const queue_;
  const bool lends_;
  std::vector<DeviceRequest> requests_;
  std::vector<Entry> entries_;
  std::vector<DeviceRequest*> batch_;
  size_t completed_ = 0;
};

void ExpectNoAllocations(const std::shared_ptr<BlockStore>& store) {
  const auto device = *MakeBlkDevice({.block_size_bytes = 4096}, store);
  const auto queue = *device->OpenQueue(0);
  queue->Activate(device->features());
  Rig rig(queue.get());
  for (int i = 0; i < 3; ++i) rig.RunOnce();
  const int64_t before = num_allocations;
  for (int i = 0; i < 50; ++i) rig.RunOnce();
  EXPECT_EQ(num_allocations - before, 0);
}

TEST(BlkAllocationTest, TheCounterCounts) {
  const int64_t before = num_allocations;
  std::vector<std::byte> some(100);
  EXPECT_GT(num_allocations, before) << some.size();
}

TEST(BlkAllocationTest, Memory) {
  ExpectNoAllocations(*MakeMemoryStore({.size_bytes = kDiskBytes}));
}

TEST(BlkAllocationTest, File) {
  TempFile image;
  ExpectNoAllocations(*MakeFileStore({.path = image.path(), .create_size_bytes = kDiskBytes}));
}

TEST(BlkAllocationTest, DirectFileThroughBounceBuffers) {
  TempFile image;
  const auto store =
      MakeFileStore({.path = image.path(), .direct = true, .create_size_bytes = kDiskBytes});
  if (!store.ok()) GTEST_SKIP() << store.status();
  ExpectNoAllocations(*store);
}

}  // namespace
}  // namespace vof
