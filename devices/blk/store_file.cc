// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "devices/blk/file_queue.h"
#include "devices/blk/inline_file_queue.h"
#include "devices/blk/io_ring.h"
#include "devices/blk/random_epoch.h"
#include "devices/blk/zero_area.h"

namespace vof {
namespace {

class FileStore final : public BlockStore {
 public:
  FileStore(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros)
      : file_(std::move(file)), zeros_(std::move(zeros)), epoch_(RandomEpoch()) {}

  StoreTraits traits() const override {
    return {.synchronous = file_->io() == FileIo::kCalls,
            .read_only = file_->read_only(),
            .can_discard = file_->can_discard(),
            .alignment_bytes = file_->direct() ? file_->alignment().offset_bytes : 512,
            .physical_block_bytes = file_->physical_block_bytes(),
            .optimal_io_bytes = file_->optimal_io_bytes()};
  }
  uint64_t size_bytes() const override { return file_->size_bytes(); }
  uint64_t epoch() const override { return epoch_; }
  absl::Status Resize(uint64_t size_bytes) override { return file_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    if (file_->io() == FileIo::kCalls) return std::make_unique<InlineFileQueue>(file_, zeros_);
    auto queue = std::make_unique<FileQueue>(file_, zeros_);
    if (absl::Status s = queue->Open(); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat(file_->path(), ": ", s.message()));
    }
    return queue;
  }

 private:
  const std::shared_ptr<FileHandle> file_;
  const std::shared_ptr<const ZeroArea> zeros_;
  const uint64_t epoch_;
};

// How the file will be read and written.
absl::StatusOr<FileIo> ChooseFileIo(const FileStoreOptions& options) {
  if (options.io == FileIo::kCalls) {
    if (!options.direct) return FileIo::kCalls;
    return absl::InvalidArgumentError(
        absl::StrCat(options.path, ": direct input and output needs io_uring, not plain calls"));
  }
  const absl::Status available = IoRing::CheckAvailable();
  if (available.ok()) return FileIo::kUring;
  // A lack of memory or descriptors is for a person to mend; a sandbox often cannot be.
  const bool may_fall_back = options.io == FileIo::kAuto && !options.direct;
  if (!may_fall_back || !absl::IsUnimplemented(available)) {
    return absl::Status(available.code(), absl::StrCat(options.path, ": ", available.message()));
  }
  if (options.on_plain_calls) options.on_plain_calls(available);
  return FileIo::kCalls;
}

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeFileStore(const FileStoreOptions& options) {
  absl::StatusOr<FileIo> io = ChooseFileIo(options);
  if (!io.ok()) return io.status();
  FileStoreOptions chosen = options;
  chosen.io = *io;
  absl::StatusOr<std::shared_ptr<FileHandle>> file = FileHandle::Open(chosen);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
  if (!zeros.ok()) return zeros.status();
  return std::make_shared<FileStore>(*std::move(file), *std::move(zeros));
}

}  // namespace vof
