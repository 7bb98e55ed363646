// SPDX-License-Identifier: Apache-2.0
//
// A block device behind a URI as an endpoint of transfers.
//
//   auto endpoint = DeviceEndpoint::Make("tcp://host/disk0", std::move(client), OpenMode::kWrite);
#ifndef VOF_TOOLS_VOF_DEVICE_DEVICE_ENDPOINT_H_
#define VOF_TOOLS_VOF_DEVICE_DEVICE_ENDPOINT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "devices/blk/client/blk_client.h"
#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/transfer_job.h"

namespace vof {

class DeviceEndpoint final : public Endpoint {
 public:
  // kUnimplemented: a read-only device cannot be opened for writing.
  static absl::StatusOr<std::unique_ptr<Endpoint>> Make(std::string name,
                                                        std::unique_ptr<BlkClient> client,
                                                        OpenMode mode);

  const std::string& name() const override { return name_; }
  uint64_t size_bytes() const override { return info_.capacity_bytes; }
  uint32_t block_bytes() const override { return info_.block_bytes; }
  // Below it, one request that carries zeros costs less than cutting it into three.
  uint32_t zero_run_bytes() const override { return 64u << 10; }
  uint64_t store_epoch() const override;

  // A virtio device does not say where its holes are.
  absl::StatusOr<Extent> ExtentAt(uint64_t) override { return Extent{size_bytes(), false}; }
  absl::Status Read(uint64_t offset_bytes, std::span<std::byte> buffer) override;
  absl::Status Write(uint64_t offset_bytes, std::span<const std::byte> data) override {
    return client_->Write(offset_bytes, data);
  }
  absl::Status Zero(uint64_t offset_bytes, uint64_t size_bytes) override;
  absl::Status Flush() override { return client_->Flush(); }

 private:
  DeviceEndpoint(std::string name, std::unique_ptr<BlkClient> client)
      : name_(std::move(name)), client_(std::move(client)), info_(client_->info()) {}

  const std::string name_;
  const std::unique_ptr<BlkClient> client_;
  const BlkInfo info_;
};

absl::Status ReadOnlyError(const std::string& name);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_DEVICE_DEVICE_ENDPOINT_H_
