// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/io_ring.h"

#include <linux/fs.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "devices/blk/ring_setup.h"

namespace vof {
namespace {

// Completions are posted when this thread enters the kernel, not by interrupting it; liburing sees
// the pending work in the ring's flags. Kernels before 6.0 do not know these.
constexpr unsigned kQuietFlags =
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER;

// At set-up nobody is kept waiting.
constexpr Nanoseconds kLongestCheckWait = kNanosecondsPerSecond;

int TryOpenRing(unsigned entries, io_uring* ring) {
  const int result = io_uring_queue_init(entries, ring, kQuietFlags);
  return result == -EINVAL ? io_uring_queue_init(entries, ring, 0) : result;
}

}  // namespace

absl::Status IoRing::CheckAvailable() {
  io_uring ring;
  const absl::Status made =
      MakeRingWithin(kLongestCheckWait, [&ring] { return TryOpenRing(4, &ring); });
  if (!made.ok()) {
    return absl::Status(made.code(), absl::StrCat("no io_uring: ", made.message()));
  }
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  bool complete = probe != nullptr;
  for (const int op : {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_READV, IORING_OP_WRITEV,
                       IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_ASYNC_CANCEL}) {
    complete = complete && io_uring_opcode_supported(probe, op);
  }
  io_uring_free_probe(probe);
  io_uring_queue_exit(&ring);
  if (complete) return absl::OkStatus();
  return absl::UnimplementedError(
      "no io_uring with read, write, fsync and fallocate: Linux 5.6 or later has one");
}

IoRing::~IoRing() {
  if (!is_open_) return;
  // The kernel takes a ring apart later; the file must be free now, for whoever opens it next.
  if (fixed_file_) io_uring_unregister_files(&ring_);
  io_uring_queue_exit(&ring_);
}

absl::Status IoRing::Open(int file_fd) {
  const absl::Status made =
      MakeRingWithin(kLongestRingWait, [this] { return TryOpenRing(kEntries, &ring_); });
  if (!made.ok()) return made;
  is_open_ = true;
  file_fd_ = file_fd;
  max_in_flight_ = ring_.cq.ring_entries;
  fixed_file_ = io_uring_register_files(&ring_, &file_fd, 1) == 0;
  return absl::OkStatus();
}

namespace {

void PrepareTransfer(const FileStep& step, int fd, io_uring_sqe* sqe) {
  const bool is_read = step.call == FileCall::kRead;
  if (step.pieces.size() == 1) {  // spares the kernel a copy of the list
    const iovec& piece = step.pieces.front();
    io_uring_prep_rw(is_read ? IORING_OP_READ : IORING_OP_WRITE, sqe, fd, piece.iov_base,
                     static_cast<unsigned>(piece.iov_len), step.offset_bytes);
  } else {
    io_uring_prep_rw(is_read ? IORING_OP_READV : IORING_OP_WRITEV, sqe, fd, step.pieces.data(),
                     static_cast<unsigned>(step.pieces.size()), step.offset_bytes);
  }
  if (step.durable) sqe->rw_flags = RWF_DSYNC;
}

}  // namespace

bool IoRing::Prepare(const FileStep& step, void* token) {
  if (in_flight_ == max_in_flight_) return false;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) return false;
  const int fd = fixed_file_ ? 0 : file_fd_;
  switch (step.call) {
    case FileCall::kRead:
    case FileCall::kWrite:
      PrepareTransfer(step, fd, sqe);
      break;
    case FileCall::kSync:
      io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
      break;
    case FileCall::kAllocate:
      io_uring_prep_fallocate(sqe, fd, step.mode, static_cast<off_t>(step.offset_bytes),
                              static_cast<off_t>(step.length_bytes));
      break;
  }
  if (fixed_file_) sqe->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(sqe, token);
  ++in_flight_;
  return true;
}

bool IoRing::Submit() {
  while (is_open_ && io_uring_sq_ready(&ring_) > 0) {
    const int result = io_uring_submit(&ring_);
    if (result == -EINTR) continue;
    if (result <= 0) return false;
  }
  return true;
}

void IoRing::CancelAll() {
  if (in_flight_ == 0) return;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) return;  // everything that is in the way will complete by itself
  io_uring_prep_cancel(sqe, nullptr, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
  io_uring_sqe_set_data(sqe, nullptr);
  Submit();
}

void IoRing::Wait() {
  io_uring_cqe* cqe = nullptr;
  while (io_uring_wait_cqe(&ring_, &cqe) == -EINTR) continue;
}

}  // namespace vof
