// SPDX-License-Identifier: Apache-2.0
//
// Any sequence of requests to a block queue, over a memory disk and over a store that is late and
// fails: each is answered exactly once, with a status, and the disk keeps its size.
//
// Input: which store (1 byte), then requests: length of the readable part (2), writable bytes (4),
// the readable part.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/little_endian.h"
#include "core/base/time.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/testing/fake_store.h"
#include "devices/blk/work_time.h"

namespace vof {
namespace {

constexpr uint64_t kDiskBytes = 64 * kSectorBytes;
constexpr uint32_t kMostWritableBytes = kDiskBytes + 4096;
constexpr size_t kMostRequests = 64;

struct RequestHead {
  Le16 readable_bytes;
  Le32 writable_bytes;
};
static_assert(sizeof(RequestHead) == 6);

struct Request final : CompletionSink {
  void OnComplete(DeviceRequest* completed) override {
    Check(completed == &request && !is_done, "completed once");
    is_done = true;
    Check(request.failed() == (request.writable_bytes == 0), "fails only where no status fits");
    if (request.failed()) return;
    Check(request.used_length() == request.writable_bytes, "all of the writable part is filled");
    const std::byte status = Last();
    Check(status <= std::byte{2}, "a status of the specification");
  }
  std::byte Last() const {
    if (!memory.empty()) return memory.back();
    Check(request.result_bytes() == request.writable_bytes, "lends as much as it says");
    return request.result().back().span().back();
  }

  DeviceRequest request;
  ConstBuffer readable;
  MutableBuffer writable;
  std::vector<std::byte> memory;
  bool is_done = false;
};

std::shared_ptr<BlockStore> MakeStore(uint8_t choice, WorkTime* time) {
  if ((choice & 1) == 0) {
    return *MakeMemoryStore({.size_bytes = kDiskBytes, .max_size_bytes = kDiskBytes},
                            {.time = time});
  }
  return std::make_shared<FakeStore>(FakeStore::Options{
      .size_bytes = kDiskBytes, .seed = choice, .failures_per_mille = (choice & 2) * 100u});
}

void Run(std::span<const std::byte> input) {
  if (input.empty()) return;
  const auto choice = std::to_integer<uint8_t>(input[0]);
  input = input.subspan(1);
  // In steps, but as fast as it is polled.
  WorkTime time({.share = kNanosecondsPerSecond, .window = 1});
  const std::shared_ptr<BlockStore> store = MakeStore(choice, &time);
  const auto device =
      *MakeBlkDevice({.read_only = (choice & 4) != 0, .write_cache = (choice & 8) == 0}, store);
  const auto queue = *device->OpenQueue(0);
  queue->Activate((choice & 16) != 0 ? 0 : device->features());

  std::vector<std::unique_ptr<Request>> requests;
  while (input.size() >= sizeof(RequestHead) && requests.size() < kMostRequests) {
    const auto head = ReadStruct<RequestHead>(input);
    input = input.subspan(sizeof(head));
    const auto readable = input.first(std::min<size_t>(head.readable_bytes, input.size()));
    input = input.subspan(readable.size());
    Request& r = *requests.emplace_back(std::make_unique<Request>());
    r.request.Reset(&r);
    r.readable = ConstBuffer(readable.data(), readable.size());
    r.request.readable = {&r.readable, 1};
    r.request.readable_bytes = static_cast<uint32_t>(readable.size());
    r.request.writable_bytes = std::min<uint32_t>(head.writable_bytes, kMostWritableBytes);
    if (queue->traits().lends_results) continue;
    r.memory.resize(r.request.writable_bytes, std::byte{0xee});
    r.writable = MutableBuffer(r.memory.data(), r.memory.size());
    r.request.writable = {&r.writable, 1};
  }
  std::vector<DeviceRequest*> batch;
  for (const auto& r : requests) batch.push_back(&r->request);
  queue->Submit(batch);
  const auto is_done = [](const auto& r) { return r->is_done; };
  for (int i = 0; i < 1000 && !std::all_of(requests.begin(), requests.end(), is_done); ++i) {
    queue->Poll();
  }
  Check(std::all_of(requests.begin(), requests.end(), is_done), "everything completes");
  Check(store->size_bytes() == kDiskBytes, "the disk keeps its size");
}

}  // namespace
}  // namespace vof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vof::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
