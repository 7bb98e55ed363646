// SPDX-License-Identifier: Apache-2.0
//
// The driver's side of a block queue, for tests and fuzzers: builds requests, cuts them into
// pieces, checks the contract of DeviceRequest on the way, and hands back answers as plain bytes.
//
//   BlkDriverDouble driver(queue.get(), BlkCuts::kRandom, /*seed=*/7);
//   BlkAnswer answer = driver.Run(BlkReadRequest(8), 4096 + 1);
//   EXPECT_EQ(answer.status(), kBlkStatusOk);
//
// Every piece is an allocation of its own, so that a sanitizer sees any access beside it.
#ifndef VOF_DEVICES_BLK_TESTING_DRIVER_DOUBLE_H_
#define VOF_DEVICES_BLK_TESTING_DRIVER_DOUBLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/device/device.h"
#include "devices/blk/blk_wire.h"

namespace vof {

using Bytes = std::vector<std::byte>;

// --- The readable part of requests ---
Bytes BlkRequestBytes(uint32_t type, uint64_t sector, std::span<const std::byte> data = {});
Bytes BlkReadRequest(uint64_t sector);
Bytes BlkWriteRequest(uint64_t sector, std::span<const std::byte> data);
struct TestSegment {
  uint64_t sector;
  uint32_t num_sectors;
  uint32_t flags = 0;
};
Bytes BlkSegmentsRequest(uint32_t type, std::initializer_list<TestSegment> segments);
Bytes BlkSegmentsRequest(uint32_t type, std::span<const TestSegment> segments);
// Bytes that differ by seed and position.
Bytes PatternBytes(size_t size_bytes, uint64_t seed);

struct BlkAnswer {
  bool completed = false;
  bool failed = false;                      // DeviceRequest::Fail
  Bytes bytes;                              // the used part of the writable part
  uint8_t status() const;                   // its last byte; 0xff when there is none
  std::span<const std::byte> data() const;  // the rest
};

enum class BlkCuts : uint8_t {
  kAligned,  // one piece, placed as an engine does: what follows the header is page-aligned
  kRandom,   // any number of pieces of any size at any address, empty ones included
};

class BlkDriverDouble final : public CompletionSink {
 public:
  explicit BlkDriverDouble(DeviceQueue* queue, BlkCuts cuts = BlkCuts::kAligned, uint32_t seed = 1);
  ~BlkDriverDouble();

  // Submits one request and waits for its answer.
  BlkAnswer Run(Bytes readable, uint32_t writable_bytes);

  // Submits a batch; the answers come under the ids that it returns.
  std::vector<int> Start(std::span<const std::pair<Bytes, uint32_t>> requests);
  BlkAnswer Wait(int id);
  // Polls once; whether `id` is there.
  bool IsDone(int id);
  size_t outstanding() const { return outstanding_; }

  void OnComplete(DeviceRequest* request) override;

 private:
  struct Pending;
  Pending* Make(Bytes readable, uint32_t writable_bytes);
  // The sizes of pieces that make up `size_bytes`.
  std::vector<size_t> CutSizes(size_t size_bytes);

  DeviceQueue* const queue_;
  const QueueTraits traits_;
  const BlkCuts cuts_;
  std::mt19937 random_;
  int next_id_ = 0;
  size_t outstanding_ = 0;
  std::map<int, std::unique_ptr<Pending>> pending_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_TESTING_DRIVER_DOUBLE_H_
