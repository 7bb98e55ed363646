// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/file_operation.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace vof {
namespace {

bool IsAlignedTo(uint64_t value, uint64_t alignment) { return (value & (alignment - 1)) == 0; }

StoreStatus StatusForError(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return StoreStatus::kNoSpace;
    case ECANCELED:
      return StoreStatus::kCancelled;
    default:
      return StoreStatus::kIoError;
  }
}

}  // namespace

// --- Beginning and end ---

bool FileOperation::Start(StoreOperation* operation, FileRules* rules) {
  operation_ = operation;
  rules_ = rules;
  needs_bounce_ = sync_failed_ = false;
  retries_ = error_ = 0;
  end_found_bytes_.reset();
  offset_bytes_ = remaining_bytes_ = 0;
  range_index_ = 0;
  switch (operation->verb) {
    case StoreVerb::kRead:
    case StoreVerb::kWrite:
      stage_ = Stage::kTransfer;
      offset_bytes_ = operation->offset_bytes;
      remaining_bytes_ = operation->length_bytes;
      if (remaining_bytes_ == 0) return Finish(StoreStatus::kOk);
      needs_bounce_ =
          rules->direct && !(operation->verb == StoreVerb::kRead ? IsAligned(operation->destination)
                                                                 : IsAligned(operation->source));
      return false;
    case StoreVerb::kFlush:
      stage_ = Stage::kSync;
      return false;
    case StoreVerb::kDiscard:
    case StoreVerb::kWriteZeroes:
      return StartRange();
  }
  return Finish(StoreStatus::kIoError);
}

MutableBuffer FileOperation::TakeBounce() {
  const MutableBuffer memory = bounce_;
  bounce_ = MutableBuffer();
  return memory;
}

bool FileOperation::Finish(StoreStatus status) {
  operation_->status = status;
  if (status == StoreStatus::kIoError || status == StoreStatus::kNoSpace) [[unlikely]]
    Report();
  return true;
}

void FileOperation::Report() const {
  if (rules_->on_error == nullptr || !*rules_->on_error) return;
  (*rules_->on_error)({.verb = operation_->verb,
                       .offset_bytes = offset_bytes_,
                       .length_bytes = remaining_bytes_,
                       .error = error_});
}

// Not for ever: a call that keeps being refused is an error.
bool FileOperation::Retry() {
  return ++retries_ > kMaxRetries ? Finish(StoreStatus::kIoError) : false;
}

// --- What to call ---

FileStep FileOperation::Next() {
  switch (stage_) {
    case Stage::kTransfer:
      return NextTransfer();
    case Stage::kAllocate:
      return NextAllocate();
    case Stage::kZero:
      return NextZero();
    case Stage::kSync:
      break;
  }
  return {.call = FileCall::kSync};
}

FileStep FileOperation::NextTransfer() {
  const bool is_read = operation_->verb == StoreVerb::kRead;
  if (bounce_.size_bytes != 0) {
    step_bytes_ = std::min<uint64_t>(remaining_bytes_, bounce_.size_bytes);
    if (!is_read) {
      BufferReader source = operation_->source;
      source.Read(bounce_.data, step_bytes_);
    }
    pieces_[0] = {bounce_.data, step_bytes_};
    num_pieces_ = 1;
  } else {
    step_bytes_ = is_read ? Gather(operation_->destination) : Gather(operation_->source);
  }
  return {.call = is_read ? FileCall::kRead : FileCall::kWrite,
          .durable = !is_read && operation_->durable,
          .offset_bytes = offset_bytes_,
          .length_bytes = step_bytes_,
          .pieces = {pieces_.data(), num_pieces_}};
}

bool FileOperation::IsPunch() const {
  const bool may_unmap =
      operation_->verb == StoreVerb::kDiscard || operation_->ranges[range_index_].may_unmap;
  return may_unmap && rules_->can_punch;
}

FileStep FileOperation::NextAllocate() const {
  const int mode = IsPunch() ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
  return {.call = FileCall::kAllocate,
          .mode = mode | FALLOC_FL_KEEP_SIZE,
          .offset_bytes = offset_bytes_,
          .length_bytes = remaining_bytes_};
}

FileStep FileOperation::NextZero() {
  step_bytes_ = std::min<uint64_t>(remaining_bytes_, ZeroArea::kSizeBytes);
  pieces_[0] = {const_cast<std::byte*>(rules_->zeros->data()), step_bytes_};
  return {.call = FileCall::kWrite,
          .durable = operation_->durable,
          .offset_bytes = offset_bytes_,
          .length_bytes = step_bytes_,
          .pieces = {pieces_.data(), 1}};
}

template <typename Buffer>
bool FileOperation::IsAligned(BufferCursor<Buffer> data) const {
  while (data.remaining_bytes() > 0) {
    const Buffer run = data.Next(SIZE_MAX);
    if (!IsAlignedTo(reinterpret_cast<uintptr_t>(run.data), rules_->alignment.memory_bytes) ||
        !IsAlignedTo(run.size_bytes, rules_->alignment.offset_bytes)) {
      return false;
    }
  }
  return true;
}

// As much of `data` as one call takes.
template <typename Buffer>
uint64_t FileOperation::Gather(BufferCursor<Buffer> data) {
  uint64_t total_bytes = 0;
  num_pieces_ = 0;
  while (num_pieces_ < kMaxPieces && data.remaining_bytes() > 0) {
    const Buffer run = data.Next(SIZE_MAX);
    pieces_[num_pieces_++] = {const_cast<std::byte*>(run.data), run.size_bytes};
    total_bytes += run.size_bytes;
  }
  return total_bytes;
}

// --- What came of it ---

bool FileOperation::OnResult(int32_t result) {
  if (result < 0) return OnError(-result);
  switch (stage_) {
    case Stage::kTransfer:
      return OnTransfer(static_cast<uint32_t>(result));
    case Stage::kZero:
      return OnZeroed(static_cast<uint32_t>(result));
    case Stage::kAllocate:
      retries_ = 0;
      ++range_index_;
      return StartRange();
    case Stage::kSync:
      break;
  }
  return Finish(StoreStatus::kOk);
}

bool FileOperation::OnError(int error) {
  error_ = error;
  if (error == EINTR || error == EAGAIN) return Retry();
  if (stage_ == Stage::kAllocate &&
      (error == EOPNOTSUPP || error == ENOSYS || error == ENODEV || error == EINVAL)) {
    return OnAllocateUnsupported(error);
  }
  // A durable write may be told of the loss of an earlier one.
  const bool durable_write = operation_->durable && operation_->verb != StoreVerb::kRead;
  sync_failed_ = stage_ == Stage::kSync ? error != ECANCELED : durable_write && error == EIO;
  return Finish(StatusForError(error));
}

bool FileOperation::OnAllocateUnsupported(int error) {
  const bool was_punch = IsPunch();
  // Misaligned ranges are EINVAL on block devices: that says nothing about the next one.
  if (error != EINVAL) (was_punch ? rules_->can_punch : rules_->can_zero_range) = false;
  if (operation_->verb == StoreVerb::kDiscard) {  // a hint: may be ignored
    ++range_index_;
    return StartRange();
  }
  const bool try_zero_range = was_punch && !rules_->can_punch && rules_->can_zero_range;
  if (!try_zero_range) stage_ = Stage::kZero;
  return false;
}

bool FileOperation::OnTransfer(uint32_t bytes) {
  uint64_t progress = std::min<uint64_t>(bytes, step_bytes_);
  // The next direct call must start at a block again.
  if (rules_->direct && progress < step_bytes_) {
    progress &= ~uint64_t{rules_->alignment.offset_bytes - 1};
  }
  if (progress == 0) {
    // The file ends before the disk does: somebody has cut it.
    error_ = 0;
    if (operation_->verb != StoreVerb::kRead) return Retry();
    end_found_bytes_ = offset_bytes_;
    return Finish(StoreStatus::kIoError);
  }
  retries_ = 0;
  TakeProgress(progress);
  return remaining_bytes_ == 0 ? Finish(StoreStatus::kOk) : false;
}

void FileOperation::TakeProgress(uint64_t bytes) {
  offset_bytes_ += bytes;
  remaining_bytes_ -= bytes;
  if (operation_->verb == StoreVerb::kWrite) {
    operation_->source.Skip(bytes);
  } else if (bounce_.size_bytes != 0) {
    operation_->destination.Write(bounce_.data, bytes);
  } else {
    operation_->destination.Skip(bytes);
  }
}

bool FileOperation::OnZeroed(uint32_t bytes) {
  const uint64_t progress = std::min<uint64_t>(bytes, step_bytes_);
  if (progress == 0) return Retry();
  retries_ = 0;
  offset_bytes_ += progress;
  remaining_bytes_ -= progress;
  if (remaining_bytes_ > 0) return false;
  ++range_index_;
  return StartRange();
}

bool FileOperation::StartRange() {
  const std::span<const StoreRange> ranges = operation_->ranges;
  while (range_index_ < ranges.size() && ranges[range_index_].length_bytes == 0) ++range_index_;
  if (range_index_ == ranges.size()) return AfterChange();
  offset_bytes_ = ranges[range_index_].offset_bytes;
  remaining_bytes_ = ranges[range_index_].length_bytes;
  stage_ = Stage::kAllocate;
  if (IsPunch()) return false;
  if (operation_->verb == StoreVerb::kDiscard) return AfterChange();
  if (!rules_->can_zero_range) stage_ = Stage::kZero;
  return false;
}

bool FileOperation::AfterChange() {
  if (!operation_->durable) return Finish(StoreStatus::kOk);
  stage_ = Stage::kSync;
  return false;
}

}  // namespace vof
