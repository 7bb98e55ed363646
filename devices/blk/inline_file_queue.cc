// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/inline_file_queue.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "devices/blk/store_bounds.h"

namespace vof {
namespace {

ssize_t CallKernel(int fd, const FileStep& step) {
  const auto offset = static_cast<off_t>(step.offset_bytes);
  const auto num_pieces = static_cast<int>(step.pieces.size());
  switch (step.call) {
    case FileCall::kRead:
      return preadv(fd, step.pieces.data(), num_pieces, offset);
    case FileCall::kWrite:
      return pwritev2(fd, step.pieces.data(), num_pieces, offset, step.durable ? RWF_DSYNC : 0);
    case FileCall::kSync:
      return fdatasync(fd);
    case FileCall::kAllocate:
      return fallocate(fd, step.mode, offset, static_cast<off_t>(step.length_bytes));
  }
  errno = EINVAL;
  return -1;
}

// As io_uring reports it. A transfer is at most kMaxDataBytes.
int32_t Result(int fd, const FileStep& step) {
  const ssize_t result = CallKernel(fd, step);
  return result < 0 ? -errno : static_cast<int32_t>(result);
}

}  // namespace

InlineFileQueue::InlineFileQueue(std::shared_ptr<FileHandle> file,
                                 std::shared_ptr<const ZeroArea> zeros)
    : file_(std::move(file)), zeros_(std::move(zeros)), reach_(file_->reach()) {
  rules_.zeros = zeros_.get();
  rules_.on_error = &file_->on_error();
  rules_.can_punch = file_->can_discard();
}

void InlineFileQueue::Submit(std::span<StoreOperation* const> batch) {
  for (const StoreOperation* operation : batch) reach_.Raise(EndOfChange(*operation));
  for (StoreOperation* operation : batch) Run(operation);
  if (reach_.end_bytes() != 0) reach_.Lower(0);
}

void InlineFileQueue::Run(StoreOperation* operation) {
  const bool finished = file_operation_.Start(operation, &rules_);
  const bool flush_is_hopeless = operation->verb == StoreVerb::kFlush && file_->lost_writes();
  if (!IsInside(*operation, file_->size_bytes()) || flush_is_hopeless) {
    return file_operation_.Abort(StoreStatus::kIoError);
  }
  if (file_->IsCutOff(*operation)) return file_operation_.Abort(StoreStatus::kIoError, /*error=*/0);
  if (finished) return;
  while (!file_operation_.OnResult(Result(file_->fd(), file_operation_.Next()))) continue;
  if (file_operation_.sync_failed()) file_->SetLostWrites();
  if (const auto end = file_operation_.end_found_bytes()) file_->NoteEnd(*end);
}

}  // namespace vof
