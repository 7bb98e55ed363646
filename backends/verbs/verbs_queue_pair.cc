// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_queue_pair.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backends/verbs/verbs_error.h"
#include "core/base/limits.h"

namespace vof {
namespace {

// Acknowledging takes a lock, so it is done for many at once.
constexpr unsigned kAcknowledgeBatch = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsQueuePair>> VerbsQueuePair::Create(
    std::shared_ptr<VerbsDomain> domain, rdma_cm_id* id, const VerbsOptions& options,
    ibv_srq* shared_queue, int max_receives) {
  const ibv_device_attr& device = domain->attributes();
  std::unique_ptr<VerbsQueuePair> pair(new VerbsQueuePair(std::move(domain), id));
  // Reads have a limit of their own on some devices.
  const int max_segments =
      device.max_sge_rd > 0 ? std::min(device.max_sge, device.max_sge_rd) : device.max_sge;
  pair->limits_ = {
      .max_message_bytes = kMaxMessageBytes,
      .inline_bytes = 0,
      .max_local_segments = std::clamp(options.max_local_segments, 1, std::max(1, max_segments)),
      .send_depth = std::clamp(options.send_depth, 1, std::max(1, device.max_qp_wr)),
      .has_immediate = true};
  // Room for every completion that there can be: a queue that overflows is lost.
  const int entries = pair->limits_.send_depth + max_receives;
  if (absl::Status s = pair->OpenQueue(entries); !s.ok()) return s;
  if (absl::Status s = pair->OpenPair(options, shared_queue, max_receives); !s.ok()) return s;
  return pair;
}

absl::Status VerbsQueuePair::Error(std::string_view what, int error) const {
  return VerbsError(absl::StrCat("cannot make ", std::string(what), " on ", domain_->device_name()),
                    error);
}

absl::Status VerbsQueuePair::OpenQueue(int entries) {
  const int max_entries = domain_->attributes().max_cqe;
  if (entries > max_entries) {
    return absl::ResourceExhaustedError(
        absl::StrCat("max_cqe of ", domain_->device_name(), " is ", max_entries, ", ", entries,
                     " are needed; lower the send depth or the number of receives"));
  }
  notifications_ = calls().CreateCompletionChannel(domain_->context());
  if (notifications_ == nullptr) return Error("a completion channel", errno);
  if (fcntl(notifications_->fd, F_SETFL, O_NONBLOCK) != 0) {
    return Error("a completion channel that does not block", errno);
  }
  queue_ = calls().CreateCompletionQueue(domain_->context(), entries, notifications_);
  if (queue_ != nullptr) return absl::OkStatus();
  return Error(absl::StrCat("a completion queue of ", entries, " entries"), errno);
}

absl::Status VerbsQueuePair::OpenPair(const VerbsOptions& options, ibv_srq* shared_queue,
                                      int max_receives) {
  ibv_qp_init_attr attributes = {};
  int error = 0;
  // A device does not say how much it can copy; what it cannot is refused as a whole.
  for (uint32_t inline_bytes = std::max(options.inline_bytes, kMinInlineBytes);;
       inline_bytes = inline_bytes > kMinInlineBytes ? kMinInlineBytes : 0) {
    attributes = {
        .qp_context = nullptr,
        .send_cq = queue_,
        .recv_cq = queue_,
        .srq = shared_queue,
        .cap = {.max_send_wr = static_cast<uint32_t>(limits_.send_depth),
                .max_recv_wr = shared_queue != nullptr ? 0 : static_cast<uint32_t>(max_receives),
                .max_send_sge = static_cast<uint32_t>(limits_.max_local_segments),
                .max_recv_sge = 1,
                .max_inline_data = inline_bytes},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 0};
    error = calls().CreateQueuePair(id_, domain_->get(), &attributes);
    if (error == 0) break;
    if ((error != EINVAL && error != ENOMEM) || inline_bytes == 0) {
      return Error(absl::StrCat("a queue pair of ", limits_.send_depth, " sends and ", max_receives,
                                " receives"),
                   error);
    }
  }
  ended_ = false;
  device_inline_bytes_ = attributes.cap.max_inline_data;
  limits_.inline_bytes =
      std::max(kMinInlineBytes,
               std::min(std::max(options.inline_bytes, kMinInlineBytes), device_inline_bytes_));
  return absl::OkStatus();
}

int VerbsQueuePair::Arm() {
  if (armed_) TakeNotifications();
  armed_ = true;
  return calls().RequestNotification(queue_);
}

void VerbsQueuePair::TakeNotifications() {
  while (calls().GetCompletionEvent(notifications_) == 0) ++unacknowledged_;
  if (unacknowledged_ < kAcknowledgeBatch) return;
  calls().AckCompletionEvents(queue_, std::exchange(unacknowledged_, 0));
}

void VerbsQueuePair::End() {
  if (std::exchange(ended_, true)) return;
  calls().DestroyQueuePair(id_);
}

VerbsQueuePair::~VerbsQueuePair() {
  End();
  if (queue_ != nullptr) {
    // It cannot be destroyed while a notification is out.
    if (armed_) TakeNotifications();
    if (unacknowledged_ > 0) calls().AckCompletionEvents(queue_, unacknowledged_);
    calls().DestroyCompletionQueue(queue_);
  }
  if (notifications_ != nullptr) calls().DestroyCompletionChannel(notifications_);
}

}  // namespace vof
