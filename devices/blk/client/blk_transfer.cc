// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/client/blk_transfer.h"

#include <algorithm>

namespace vof {

BlkTransfer::BlkTransfer(BlkClientQueue* queue, const Plan& plan) : queue_(queue), plan_(plan) {
  for (Step& step : steps_) {
    step.transfer = this;
    step.io.context = &step;
    step.io.done = [](BlkIo* io) {
      Step* finished = static_cast<Step*>(io->context);
      finished->transfer->OnDone(finished);
    };
  }
}

BlkTransfer::Outcome BlkTransfer::Run() {
  queue_->Post([this] { Begin(); });
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [this] { return done_; });
  return outcome_;
}

void BlkTransfer::Begin() {
  for (Step& step : steps_) {
    if (!has_more()) return;
    SendNext(&step);
  }
}

void BlkTransfer::SendNext(Step* step) {
  begun_ = true;
  step->offset_bytes = plan_.offset_bytes + next_bytes_;
  step->length_bytes = std::min(plan_.length_bytes - next_bytes_, plan_.largest_request_bytes);
  const uint64_t done_before = next_bytes_;
  next_bytes_ += step->length_bytes;
  ++in_flight_;
  switch (plan_.type) {
    case kBlkTypeIn:
      queue_->Read(&step->io, step->offset_bytes, {plan_.into + done_before, step->length_bytes});
      return;
    case kBlkTypeOut:
      queue_->Write(&step->io, step->offset_bytes,
                    ConstBuffer(plan_.from + done_before, step->length_bytes));
      return;
    case kBlkTypeDiscard:
      queue_->Discard(&step->io, step->offset_bytes, step->length_bytes);
      return;
    case kBlkTypeWriteZeroes:
      queue_->WriteZeroes(&step->io, step->offset_bytes, step->length_bytes, plan_.may_unmap);
      return;
    case kBlkTypeGetId:
      queue_->GetId(&step->io, id_);
      return;
    default:
      queue_->Flush(&step->io);
      return;
  }
}

void BlkTransfer::OnDone(Step* step) {
  --in_flight_;
  if (step->io.error != BlkError::kNone && outcome_.error == BlkError::kNone) {
    outcome_ = {.error = step->io.error,
                .cause = step->io.request.cause,
                .status = step->io.request.status,
                .offset_bytes = step->offset_bytes,
                .length_bytes = step->length_bytes};
  }
  if (outcome_.error == BlkError::kNone && has_more()) {
    SendNext(step);
    return;
  }
  if (in_flight_ > 0) return;
  // Under the lock to the end: the waiter destroys all this as soon as it sees `done_`.
  const std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  ended_.notify_one();
}

}  // namespace vof
