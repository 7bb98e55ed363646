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
    return {.synchronous = file_->serves_inline(),
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
    if (file_->serves_inline()) return std::make_unique<InlineFileQueue>(file_, zeros_);
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

}  // namespace

absl::StatusOr<std::shared_ptr<BlockStore>> MakeFileStore(const FileStoreOptions& options) {
  if (absl::Status s = IoRing::CheckAvailable(); !s.ok()) return s;
  absl::StatusOr<std::shared_ptr<FileHandle>> file = FileHandle::Open(options);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::shared_ptr<const ZeroArea>> zeros = ZeroArea::Create();
  if (!zeros.ok()) return zeros.status();
  return std::make_shared<FileStore>(*std::move(file), *std::move(zeros));
}

}  // namespace vof
