// SPDX-License-Identifier: Apache-2.0
//
// One store operation on a file, as the sequence of system calls that it takes: resumes short
// transfers, retries interrupted ones, falls back where a file system lacks a call. A state machine
// without I/O.
//
//   FileOperation op;
//   if (!op.Start(store_operation, rules)) Submit(op.Next());       // false: there is something to
//   do
//   ...
//   if (op.OnResult(cqe->res)) Finish(op.operation()); else Submit(op.Next());
//
// One thread. The FileOperation stays where it is between Next and OnResult: the step points into
// it.
#ifndef VOF_DEVICES_BLK_FILE_OPERATION_H_
#define VOF_DEVICES_BLK_FILE_OPERATION_H_

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/buffer.h"
#include "devices/blk/block_store.h"
#include "devices/blk/direct_alignment.h"
#include "devices/blk/store_error.h"
#include "devices/blk/zero_area.h"

namespace vof {

enum class FileCall : uint8_t { kRead, kWrite, kSync, kAllocate };

struct FileStep {
  FileCall call;
  bool durable = false;  // kWrite: RWF_DSYNC
  int mode = 0;          // kAllocate: of fallocate
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;
  std::span<const iovec> pieces = {};  // kRead, kWrite: length_bytes in all
};

// What the operations of one queue have in common.
struct FileRules {
  bool direct = false;
  DirectAlignment alignment;  // direct only
  const ZeroArea* zeros = nullptr;
  const StoreErrorObserver* on_error = nullptr;  // null or empty: nobody
  // Learned on the way: calls that the file system turned out not to have.
  bool can_punch = true;
  bool can_zero_range = true;
};

// The unit in which an operation with unaligned memory goes through aligned memory.
inline constexpr size_t kBounceBytes = 256u << 10;

class FileOperation {
 public:
  // True: finished at once.
  bool Start(StoreOperation* operation, FileRules* rules);
  // Whether Next needs kBounceBytes of aligned memory, to be given by SetBounce before.
  bool needs_bounce() const { return needs_bounce_ && bounce_.size_bytes == 0; }
  void SetBounce(MutableBuffer memory) { bounce_ = memory; }
  // Takes it back; empty when there was none. After the operation has finished.
  MutableBuffer TakeBounce();

  FileStep Next();
  // `result` is what the call of the last step returned: bytes, or a negated errno. True: finished,
  // and the status of the operation is set.
  bool OnResult(int32_t result);
  // Finishes without another call. `error` is for StoreError.
  void Abort(StoreStatus status, int error = EIO) {
    error_ = error;
    Finish(status);
  }

  StoreOperation* operation() const { return operation_; }
  // The last result was the failure of a sync: data that was acknowledged may be lost.
  bool sync_failed() const { return sync_failed_; }
  // Where a read found the end of the file.
  std::optional<uint64_t> end_found_bytes() const { return end_found_bytes_; }

 private:
  enum class Stage : uint8_t { kTransfer, kAllocate, kZero, kSync };
  static constexpr int kMaxRetries = 64;  // in a row
  static constexpr size_t kMaxPieces = 32;

  FileStep NextTransfer();
  FileStep NextAllocate() const;
  FileStep NextZero();
  bool OnError(int error);
  bool OnTransfer(uint32_t bytes);
  bool OnZeroed(uint32_t bytes);
  bool OnAllocateUnsupported(int error);
  void TakeProgress(uint64_t bytes);
  bool IsPunch() const;
  // The next range that is not empty, or what follows the last one.
  bool StartRange();
  bool AfterChange();
  bool Finish(StoreStatus status);
  void Report() const;
  bool Retry();
  template <typename Buffer>
  bool IsAligned(BufferCursor<Buffer> data) const;
  template <typename Buffer>
  uint64_t Gather(BufferCursor<Buffer> data);

  StoreOperation* operation_ = nullptr;
  FileRules* rules_ = nullptr;
  Stage stage_ = Stage::kTransfer;
  bool needs_bounce_ = false;
  bool sync_failed_ = false;
  std::optional<uint64_t> end_found_bytes_;
  int retries_ = 0;
  int error_ = 0;              // of the last call that failed
  uint64_t offset_bytes_ = 0;  // of what is still to be done
  uint64_t remaining_bytes_ = 0;
  uint64_t step_bytes_ = 0;  // asked for by the last step
  size_t range_index_ = 0;
  MutableBuffer bounce_;
  std::array<iovec, kMaxPieces> pieces_;
  size_t num_pieces_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_FILE_OPERATION_H_
