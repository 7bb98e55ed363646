// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/device/device_endpoint.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vof {

absl::Status ReadOnlyError(const std::string& name) {
  return absl::UnimplementedError(absl::StrCat(name, " is read-only: the target serves it so"));
}

absl::StatusOr<std::unique_ptr<Endpoint>> DeviceEndpoint::Make(std::string name,
                                                               std::unique_ptr<BlkClient> client,
                                                               OpenMode mode) {
  if (mode == OpenMode::kWrite && client->info().read_only) return ReadOnlyError(name);
  return std::unique_ptr<Endpoint>(new DeviceEndpoint(std::move(name), std::move(client)));
}

uint64_t DeviceEndpoint::store_epoch() const {
  const SessionInfo& session = client_->device().info();
  return session.dialect == Dialect::kV5 ? session.epoch : 0;
}

absl::Status DeviceEndpoint::Read(uint64_t offset_bytes, std::span<std::byte> buffer) {
  const uint64_t block = info_.block_bytes;
  const uint64_t begin = offset_bytes / block * block;
  const uint64_t end = (offset_bytes + buffer.size() + block - 1) / block * block;
  if (begin == offset_bytes && end - begin == buffer.size()) {
    return client_->Read(offset_bytes, buffer);
  }
  std::vector<std::byte> blocks(end - begin);
  const absl::Status read = client_->Read(begin, blocks);
  if (!read.ok()) return read;
  std::copy_n(blocks.begin() + static_cast<std::ptrdiff_t>(offset_bytes - begin), buffer.size(),
              buffer.begin());
  return absl::OkStatus();
}

absl::Status DeviceEndpoint::Zero(uint64_t offset_bytes, uint64_t size_bytes) {
  if (info_.can_write_zeroes) {
    return client_->WriteZeroes(offset_bytes, size_bytes, info_.write_zeroes_may_unmap);
  }
  static constexpr std::array<std::byte, 128 << 10> kZeros{};
  while (size_bytes > 0) {
    const size_t now = std::min<uint64_t>(size_bytes, kZeros.size());
    const absl::Status written = client_->Write(offset_bytes, std::span(kZeros).first(now));
    if (!written.ok()) return written;
    offset_bytes += now;
    size_bytes -= now;
  }
  return absl::OkStatus();
}

}  // namespace vof
