// SPDX-License-Identifier: Apache-2.0
//
// An io_uring and what may be in flight on it: owns the ring, turns a FileStep into a submission
// entry.
//
//   if (absl::Status s = IoRing::CheckAvailable(); !s.ok()) ...        // at set-up
//   IoRing ring;
//   if (absl::Status s = ring.Open(fd); !s.ok()) ...
//   while (ring.Prepare(step, token)) ...        // false: full, go on after Submit and Reap
//   ring.Submit();                               // one system call for all of them
//   ring.Reap([](void* token, int32_t result) { ... });
//
// One thread, from Open to destruction.
#ifndef VOF_DEVICES_BLK_IO_RING_H_
#define VOF_DEVICES_BLK_IO_RING_H_

#include <liburing.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "devices/blk/file_operation.h"

namespace vof {

class IoRing {
 public:
  // Submissions that fit into one batch; twice as many may be in flight.
  static constexpr unsigned kEntries = 256;

  // Whether this process may use io_uring, and the kernel knows the operations that a disk needs.
  static absl::Status CheckAvailable();

  IoRing() = default;
  ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  // Blocks for at most kLongestRingWait (ring_setup.h), when memory that may be locked is short.
  absl::Status Open(int file_fd);
  bool is_open() const { return is_open_; }
  // Readable while completions wait to be reaped; -1 while closed.
  int wait_fd() const { return is_open_ ? ring_.ring_fd : -1; }
  // Prepared and not reaped yet.
  unsigned in_flight() const { return in_flight_; }
  bool has_unsubmitted() const { return is_open_ && io_uring_sq_ready(&ring_) > 0; }

  // `token` is not null; what the step points to stays until it is reaped.
  bool Prepare(const FileStep& step, void* token);
  // False when the kernel would not take all of them: they stay, call it again later.
  bool Submit();
  // Asks everything in flight to be cancelled.
  void CancelAll();

  template <typename Function>
  void Reap(Function&& on_result) {
    io_uring_cqe* cqe = nullptr;
    while (is_open_ && io_uring_peek_cqe(&ring_, &cqe) == 0) {
      void* const token = io_uring_cqe_get_data(cqe);
      const int32_t result = cqe->res;
      io_uring_cqe_seen(&ring_, cqe);
      if (token == nullptr) continue;  // of CancelAll
      --in_flight_;
      on_result(token, result);
    }
  }
  // Blocks until something can be reaped.
  void Wait();

 private:
  io_uring ring_ = {};
  bool is_open_ = false;
  bool fixed_file_ = false;
  int file_fd_ = -1;
  unsigned in_flight_ = 0;
  unsigned max_in_flight_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_IO_RING_H_
