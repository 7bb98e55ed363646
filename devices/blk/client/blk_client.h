// SPDX-License-Identifier: Apache-2.0
//
// A block device behind a URI: read and write it from any thread.
//
//   auto disk = BlkClient::Connect(*ParseUri("tcp://host/disk0"), &registry, {});
//   if (!disk.ok()) return disk.status();
//   absl::Status status = (*disk)->Write(/*offset_bytes=*/4096, data);
//   if (status.ok()) status = (*disk)->Flush();
//
// The blocking calls cut what is larger than a request and keep several requests in flight; many
// threads may call at once; none of them on a reactor's thread. Code on a reactor uses
// BlkClientQueue: queue(i).
#ifndef VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_H_
#define VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/client.h"
#include "devices/blk/client/blk_client_queue.h"
#include "devices/blk/client/blk_info.h"
#include "devices/blk/client/blk_io.h"
#include "devices/blk/client/blk_transfer.h"

namespace vof {

class BlkClient {
 public:
  // As DeviceClient::Connect; kUnimplemented when the device is not a block device. The fields of
  // `options` about features and queues are filled in here.
  static absl::StatusOr<std::unique_ptr<BlkClient>> Connect(const Uri& uri,
                                                            BackendRegistry* registry,
                                                            DeviceClientOptions options);
  ~BlkClient();

  // As of Connect or the last Refresh. Any thread.
  BlkInfo info() const;
  DeviceClient& device() { return *device_; }

  // --- Blocking ---
  // Offsets and lengths are multiples of info().block_bytes and inside the capacity:
  // kInvalidArgument and kOutOfRange otherwise, before anything is sent. kDataLoss: the device
  // failed it, contents of the range are undefined. Errors name range and URI.
  absl::Status Read(uint64_t offset_bytes, std::span<std::byte> into);
  absl::Status Write(uint64_t offset_bytes, std::span<const std::byte> data);
  // Everything written before is durable. OK at once when the device has no write cache.
  absl::Status Flush();
  // kUnimplemented when the device has no such request.
  absl::Status Discard(uint64_t offset_bytes, uint64_t length_bytes);
  // `may_unmap`: the device may deallocate the range.
  absl::Status WriteZeroes(uint64_t offset_bytes, uint64_t length_bytes, bool may_unmap);
  // Empty when the device has none.
  absl::StatusOr<std::string> GetId();
  // Turns the write cache on or off, where the device can (CONFIG_WCE).
  absl::Status SetWriteCache(bool on);
  // Reads the configuration again, after a resize for example.
  absl::StatusOr<BlkInfo> Refresh();

  // --- For code on the queue's reactor ---
  size_t num_queues() const { return queues_.size(); }
  BlkClientQueue& queue(size_t index) { return *queues_[index]; }

 private:
  BlkClient() = default;
  absl::Status Init();
  absl::Status CheckRange(std::string_view verb, uint64_t offset_bytes, uint64_t length_bytes,
                          bool writes) const;
  absl::Status Run(BlkTransfer* transfer, BlkClientQueue* queue, const BlkTransfer::Plan& plan);
  absl::Status RunRange(BlkTransfer::Plan plan, uint64_t largest_bytes);
  BlkClientQueue* PickQueue();

  std::unique_ptr<DeviceClient> device_;
  std::vector<std::unique_ptr<BlkClientQueue>> queues_;
  std::atomic<uint32_t> next_queue_{0};
  mutable std::mutex mutex_;  // info_
  BlkInfo info_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_CLIENT_BLK_CLIENT_H_
