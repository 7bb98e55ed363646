// SPDX-License-Identifier: Apache-2.0
//
// A ring under a file queue whose kernel misbehaves on purpose: moves a part of what it was asked
// to, says that it was interrupted, that the disk is full or broken.
//
//   BasicFileQueue<FaultyRing> queue(file, zeros);
//   queue.ring()->SetFaults({.seed = 7, .shorts_per_mille = 300, .errors = {EIO, ENOSPC}, ...});
//   queue.ring()->Hold(true);      // what is submitted stays under way until Hold(false)
//
// Deterministic for a seed and a sequence of calls, as far as the kernel is. One thread, as IoRing.
#ifndef VOF_DEVICES_BLK_TESTING_FAULTY_RING_H_
#define VOF_DEVICES_BLK_TESTING_FAULTY_RING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "devices/blk/io_ring.h"

namespace vof {

struct RingFaults {
  uint32_t seed = 1;
  uint32_t shorts_per_mille = 0;  // of the transfers: stop somewhere before their end
  uint32_t errors_per_mille = 0;  // of all calls: one of `errors`, nothing done
  std::vector<int> errors;
};

class FaultyRing {
 public:
  void SetFaults(const RingFaults& faults) {
    faults_ = faults;
    random_.seed(faults.seed);
  }
  void Hold(bool hold) { hold_ = hold; }
  void FailOpen(absl::Status error) { open_error_ = std::move(error); }
  uint64_t num_errors() const { return num_errors_; }
  uint64_t num_shorts() const { return num_shorts_; }

  absl::Status Open(int file_fd) { return open_error_.ok() ? ring_.Open(file_fd) : open_error_; }
  bool is_open() const { return ring_.is_open(); }
  int wait_fd() const { return failed_.empty() ? ring_.wait_fd() : -1; }
  unsigned in_flight() const {
    return ring_.in_flight() + static_cast<unsigned>(failed_.size() + held_.size());
  }
  bool has_unsubmitted() const { return ring_.has_unsubmitted() || !failed_.empty() || hold_; }

  bool Prepare(const FileStep& step, void* token) {
    if (hold_) {
      held_.push_back({step, token});
      return true;
    }
    if (Happens(faults_.errors_per_mille) && !faults_.errors.empty()) {
      ++num_errors_;
      failed_.push_back({token, -faults_.errors[random_() % faults_.errors.size()]});
      return true;
    }
    const bool transfer = step.call == FileCall::kRead || step.call == FileCall::kWrite;
    if (!transfer || !Happens(faults_.shorts_per_mille)) return ring_.Prepare(step, token);
    ++num_shorts_;
    return ring_.Prepare(Shortened(step), token);
  }
  bool Submit() { return ring_.Submit(); }
  void CancelAll() { ring_.CancelAll(); }
  void Wait() {
    if (failed_.empty() && held_.empty()) ring_.Wait();
  }

  template <typename Function>
  void Reap(Function&& on_result) {
    if (!hold_) ReleaseHeld();
    std::deque<std::pair<void*, int32_t>> failed;
    failed.swap(failed_);
    for (const auto& [token, result] : failed) on_result(token, result);
    ring_.Reap(on_result);
  }

 private:
  bool Happens(uint32_t per_mille) { return random_() % 1000 < per_mille; }

  void ReleaseHeld() {
    while (!held_.empty() && ring_.Prepare(held_.front().first, held_.front().second)) {
      held_.pop_front();
    }
    ring_.Submit();
  }

  // The same transfer, as far as a piece that is cut; lists of pieces stay until the ring is gone.
  FileStep Shortened(FileStep step) {
    uint64_t left_bytes = 1 + random_() % step.length_bytes;  // none would be the end of the file
    step.length_bytes = left_bytes;
    std::vector<iovec>& pieces = pieces_.emplace_back(step.pieces.begin(), step.pieces.end());
    for (iovec& piece : pieces) {
      piece.iov_len = std::min<uint64_t>(piece.iov_len, left_bytes);
      left_bytes -= piece.iov_len;
    }
    step.pieces = pieces;
    return step;
  }

  IoRing ring_;
  absl::Status open_error_;
  RingFaults faults_;
  std::mt19937 random_{1};
  bool hold_ = false;
  std::deque<std::pair<FileStep, void*>> held_;
  std::deque<std::pair<void*, int32_t>> failed_;  // to be reaped
  std::deque<std::vector<iovec>> pieces_;
  uint64_t num_errors_ = 0;
  uint64_t num_shorts_ = 0;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_TESTING_FAULTY_RING_H_
