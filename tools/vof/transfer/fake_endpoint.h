// SPDX-License-Identifier: Apache-2.0
//
// An endpoint in memory for tests: with holes, a block size, and errors on demand.
//
//   FakeEndpoint disk(1 << 20, {.block_bytes = 512});
//   disk.FailAt(4096);          // Read, Write and Zero that touch that byte fail
#ifndef VOF_TOOLS_VOF_TRANSFER_FAKE_ENDPOINT_H_
#define VOF_TOOLS_VOF_TRANSFER_FAKE_ENDPOINT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tools/vof/transfer/endpoint.h"

namespace vof {

struct FakeEndpointOptions {
  uint32_t block_bytes = 1;
  uint32_t zero_run_bytes = 4096;
  uint64_t hole_unit_bytes = 0;  // units of zeros are reported as holes; 0: no holes are known
};

class FakeEndpoint final : public Endpoint {
 public:
  explicit FakeEndpoint(uint64_t size_bytes, const FakeEndpointOptions& options = {})
      : options_(options), bytes_(size_bytes) {}

  std::vector<std::byte>& bytes() { return bytes_; }
  void set_store_epoch(uint64_t epoch) { store_epoch_ = epoch; }
  void FailAt(uint64_t offset_bytes) { fail_at_ = offset_bytes; }
  uint64_t written_bytes() const { return written_bytes_; }
  uint64_t zeroed_bytes() const { return zeroed_bytes_; }
  uint64_t read_bytes() const { return read_bytes_; }
  int num_flushes() const { return num_flushes_; }
  bool saw_unaligned() const { return saw_unaligned_; }

  const std::string& name() const override { return name_; }
  uint64_t size_bytes() const override { return bytes_.size(); }
  uint32_t block_bytes() const override { return options_.block_bytes; }
  uint32_t zero_run_bytes() const override { return options_.zero_run_bytes; }
  uint64_t store_epoch() const override { return store_epoch_; }

  absl::StatusOr<Extent> ExtentAt(uint64_t offset_bytes) override {
    const std::lock_guard lock(mutex_);
    const uint64_t unit = options_.hole_unit_bytes;
    if (unit == 0) return Extent{bytes_.size(), false};
    const uint64_t end = std::min<uint64_t>((offset_bytes / unit + 1) * unit, bytes_.size());
    const auto at = [&](uint64_t offset) {
      return bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
    };
    const bool zero = std::all_of(at(offset_bytes / unit * unit), at(end),
                                  [](std::byte byte) { return byte == std::byte{0}; });
    return Extent{end, zero};
  }
  absl::Status Read(uint64_t offset_bytes, std::span<std::byte> buffer) override {
    const std::lock_guard lock(mutex_);
    if (Fails(offset_bytes, buffer.size())) return absl::UnknownError("fake read error");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset_bytes), buffer.size(),
                buffer.begin());
    read_bytes_ += buffer.size();
    return absl::OkStatus();
  }
  absl::Status Write(uint64_t offset_bytes, std::span<const std::byte> data) override {
    const std::lock_guard lock(mutex_);
    NoteAlignment(offset_bytes, data.size());
    if (Fails(offset_bytes, data.size())) return absl::UnknownError("fake write error");
    std::copy(data.begin(), data.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset_bytes));
    written_bytes_ += data.size();
    return absl::OkStatus();
  }
  absl::Status Zero(uint64_t offset_bytes, uint64_t size_bytes) override {
    const std::lock_guard lock(mutex_);
    NoteAlignment(offset_bytes, size_bytes);
    if (Fails(offset_bytes, size_bytes)) return absl::UnknownError("fake zero error");
    std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset_bytes), size_bytes,
                std::byte{0});
    zeroed_bytes_ += size_bytes;
    return absl::OkStatus();
  }
  absl::Status Flush() override {
    ++num_flushes_;
    return absl::OkStatus();
  }

 private:
  bool Fails(uint64_t offset_bytes, uint64_t size_bytes) const {
    return fail_at_ && *fail_at_ >= offset_bytes && *fail_at_ < offset_bytes + size_bytes;
  }
  void NoteAlignment(uint64_t offset_bytes, uint64_t size_bytes) {
    if ((offset_bytes | size_bytes) % options_.block_bytes != 0) saw_unaligned_ = true;
  }

  const std::string name_ = "fake";
  const FakeEndpointOptions options_;
  std::mutex mutex_;
  std::vector<std::byte> bytes_;
  std::optional<uint64_t> fail_at_;
  uint64_t store_epoch_ = 0;
  uint64_t read_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t zeroed_bytes_ = 0;
  int num_flushes_ = 0;
  bool saw_unaligned_ = false;
};

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_FAKE_ENDPOINT_H_
