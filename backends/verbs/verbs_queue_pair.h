// SPDX-License-Identifier: Apache-2.0
//
// What a channel has on the device: a reliable connected queue pair, its completion queue, and the
// descriptor that tells of completions.
//
//   absl::StatusOr<std::unique_ptr<VerbsQueuePair>> pair =
//       VerbsQueuePair::Create(domain, id, options, receives);
//   pair->limits()                                 // what the device granted
//
// Inside this folder only; one thread.
#ifndef VOF_BACKENDS_VERBS_VERBS_QUEUE_PAIR_H_
#define VOF_BACKENDS_VERBS_VERBS_QUEUE_PAIR_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/verbs/verbs_domain.h"
#include "backends/verbs/verbs_options.h"
#include "core/transport/message_channel.h"

namespace vof {

class VerbsQueuePair {
 public:
  // Every channel copies messages up to here when they are posted, whatever the device can do.
  static constexpr uint32_t kMinInlineBytes = 64;

  // `shared_queue` may be null: the queue pair then has room for options.max_receives of its own.
  // `max_receives` is the most that may complete here.
  static absl::StatusOr<std::unique_ptr<VerbsQueuePair>> Create(std::shared_ptr<VerbsDomain> domain,
                                                                rdma_cm_id* id,
                                                                const VerbsOptions& options,
                                                                ibv_srq* shared_queue,
                                                                int max_receives);
  ~VerbsQueuePair();
  VerbsQueuePair(const VerbsQueuePair&) = delete;
  VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;

  const ChannelLimits& limits() const { return limits_; }
  uint32_t device_inline_bytes() const { return device_inline_bytes_; }
  ibv_qp* get() const { return ended_ ? nullptr : id_->qp; }  // null after End
  int fd() const { return notifications_->fd; }

  // Negative: the completion queue is broken.
  int Poll(std::span<ibv_wc> completions) {
    return calls().Poll(queue_, static_cast<int>(completions.size()), completions.data());
  }
  // Asks for fd() to become readable with the next completion, and makes it unreadable before. 0 or
  // an errno.
  int Arm();
  // Nothing touches memory any more; completions that were not polled are lost.
  void End();

 private:
  VerbsQueuePair(std::shared_ptr<VerbsDomain> domain, rdma_cm_id* id)
      : domain_(std::move(domain)), id_(id) {}
  VerbsCalls& calls() const { return domain_->calls(); }
  absl::Status OpenQueue(int entries);
  absl::Status OpenPair(const VerbsOptions& options, ibv_srq* shared_queue, int max_receives);
  void TakeNotifications();
  absl::Status Error(std::string_view what, int error) const;

  const std::shared_ptr<VerbsDomain> domain_;
  rdma_cm_id* const id_;
  ChannelLimits limits_;
  uint32_t device_inline_bytes_ = 0;
  ibv_comp_channel* notifications_ = nullptr;
  ibv_cq* queue_ = nullptr;
  bool ended_ = true;  // there is no queue pair (any more)
  bool armed_ = false;
  unsigned unacknowledged_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_QUEUE_PAIR_H_
