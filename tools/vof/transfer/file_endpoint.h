// SPDX-License-Identifier: Apache-2.0
//
// A regular file or a local block device as an endpoint.
//
//   auto image = FileEndpoint::OpenForReading("disk.img");
//   auto copy = FileEndpoint::Create("copy.img", (*image)->size_bytes());   // created or truncated
//
// Holes of a file that is read are found with SEEK_DATA and SEEK_HOLE. A created file begins empty
// and grows with what is written: however the program ends, no part of a copy has the size of all.
#ifndef VOF_TOOLS_VOF_TRANSFER_FILE_ENDPOINT_H_
#define VOF_TOOLS_VOF_TRANSFER_FILE_ENDPOINT_H_

#include <memory>
#include <string>

#include "tools/vof/transfer/endpoint.h"
#include "tools/vof/transfer/unique_fd.h"

namespace vof {

class FileEndpoint final : public Endpoint {
 public:
  // Regular files and block devices; anything else is an error.
  static absl::StatusOr<std::unique_ptr<FileEndpoint>> OpenForReading(const std::string& path);
  // The same, of what nobody writes meanwhile: what a target serves is refused, unless it serves it
  // read-only, and so is what another copy writes. Whoever wants to write it is refused in turn
  // (flock) while the endpoint lives.
  static absl::StatusOr<std::unique_ptr<FileEndpoint>> OpenUnchanging(const std::string& path);
  // A regular file is created or truncated and gets `size_bytes`, which must be possible, with
  // Flush. A block device is opened as it is
  // and must have room for them (kOutOfRange, naming both sizes). What a target serves, or another
  // copy writes, is refused as it is; the endpoint holds the same lock (flock) while it lives.
  static absl::StatusOr<std::unique_ptr<FileEndpoint>> Create(const std::string& path,
                                                              uint64_t size_bytes);

  const std::string& name() const override { return path_; }
  uint64_t size_bytes() const override { return size_bytes_; }
  uint32_t block_bytes() const override { return 1; }
  uint32_t zero_run_bytes() const override { return 4096; }

  absl::StatusOr<Extent> ExtentAt(uint64_t offset_bytes) override;
  absl::Status Read(uint64_t offset_bytes, std::span<std::byte> buffer) override;
  absl::Status Write(uint64_t offset_bytes, std::span<const std::byte> data) override;
  // Every range is written or zeroed once: nothing to do in a file that began as a hole.
  absl::Status Zero(uint64_t offset_bytes, uint64_t size_bytes) override;
  // A created file has its size from here on.
  absl::Status Flush() override;
  bool CutTo(uint64_t size_bytes) override;

 private:
  enum class Kind : uint8_t { kOpened, kCreated, kBlockDevice };

  FileEndpoint(std::string path, UniqueFd fd, uint64_t size_bytes, Kind kind)
      : path_(std::move(path)), fd_(std::move(fd)), size_bytes_(size_bytes), kind_(kind) {}

  absl::Status WriteZeroBytes(uint64_t offset_bytes, uint64_t size_bytes);

  const std::string path_;
  const UniqueFd fd_;
  const uint64_t size_bytes_;
  const Kind kind_;
};

// A descriptor that keeps writers away as OpenUnchanging does, for a file that is open already: of
// the file behind `fd`, for people called `name`. Nothing to hold when it is no file.
absl::StatusOr<UniqueFd> HoldUnchanging(int fd, const std::string& name);

// Whether both name one existing file, whose creation would destroy the source.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_FILE_ENDPOINT_H_
