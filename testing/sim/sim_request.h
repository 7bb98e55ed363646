// SPDX-License-Identifier: Apache-2.0
//
// One block request of the simulated driver: made at random, cut at random, and judged when it
// completes.
//
//   SimRequest request(&context, limits);                 // draws verb, place, size and cuts
//   request.on_done = [](SimRequest* r) { ... };          // it has been judged by then
//   queue->Submit(&request.request());
//
// Lives from before Submit until after `done`. Its readable bytes are garbled as soon as it is
// done, and its writable ones are watched: nobody may touch either any more.
#ifndef VOF_TESTING_SIM_SIM_REQUEST_H_
#define VOF_TESTING_SIM_SIM_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/engine/initiator_request.h"
#include "testing/sim/disk_model.h"
#include "testing/sim/sim_context.h"

namespace vof {

enum class SimVerb : uint8_t { kRead, kWrite, kFlush, kGetId, kDiscard, kWriteZeroes };

struct SimRequestLimits {
  uint32_t max_out_bytes = 0;
  uint32_t max_in_bytes = 0;
  bool discard = false;  // negotiated
  bool write_zeroes = false;
  bool flush = false;
  bool attempt_may_end = true;  // false in calm: an error of the connection is a failure
  Nanoseconds timeout = 0;
  // `ref` serves requests while the device is reset, without its features: a number that changes
  // when a reset begins (it is odd then) and when it ends. Null: no such thing.
  const uint64_t* reset_marks = nullptr;
};

inline constexpr char kSimSerial[] = "sim-disk-0001";

class SimRequest {
 public:
  SimRequest(SimContext* context, const SimRequestLimits& limits);
  // A read of exactly these sectors.
  SimRequest(SimContext* context, const SimRequestLimits& limits, Extent extent);
  SimRequest(const SimRequest&) = delete;
  SimRequest& operator=(const SimRequest&) = delete;
  ~SimRequest();

  InitiatorRequest& request() { return request_; }
  // Called in `done`; may destroy the request.
  std::function<void(SimRequest*)> on_done;
  // All that it lets be read, and written.
  std::span<std::byte> readable_memory() { return out_; }
  std::span<std::byte> writable_memory() { return in_; }
  // In on_done, when nobody knows whether its write will land.
  const DiskModel::WriteHandle& unsettled_write() const { return unsettled_write_; }
  // Nobody wrote into its buffers since it was done.
  void CheckUntouched() const;
  std::string Describe() const;

 private:
  void Judge();
  void Draw();
  void Build();
  void AddSegments();
  void CutPieces();
  std::vector<size_t> Cuts(size_t bytes);
  bool within_capacity() const;
  bool met_a_reset() const;
  void JudgeDeviceAnswer();
  void JudgeRead(uint8_t status);
  WriteOutcome OutcomeOfError() const;
  void FinishModel(WriteOutcome outcome);
  void Fail(const std::string& what) const;

  SimContext* const context_;
  const SimRequestLimits limits_;
  SimVerb verb_ = SimVerb::kRead;
  std::vector<Extent> extents_;
  std::vector<std::byte> out_, in_;
  std::vector<ConstBuffer> readable_;
  std::vector<MutableBuffer> writable_;
  InitiatorRequest request_;

  uint64_t resizes_at_start_ = 0;
  uint64_t effect_clock_at_start_ = 0;
  uint64_t reset_mark_at_start_ = 0;
  MonotonicTime submitted_at_ = 0;
  Nanoseconds slept_at_start_ = 0;
  uint32_t version_ = kZeroVersion;
  DiskModel::WriteHandle write_, unsettled_write_;
  std::optional<DiskModel::ReadHandle> read_;
  bool done_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_REQUEST_H_
