// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_send_queue.h"

#include <arpa/inet.h>

#include <cstring>

#include "backends/verbs/verbs_domain.h"
#include "core/base/check.h"

namespace vof {
namespace {

ChannelEventKind KindOf(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
      return ChannelEventKind::kSent;
    case IBV_WR_RDMA_READ:
      return ChannelEventKind::kFetched;
    default:
      return ChannelEventKind::kStored;
  }
}

uint64_t TotalOf(std::span<const LocalBuffer> local) {
  uint64_t total = 0;
  for (const LocalBuffer& segment : local) total += segment.size_bytes;
  return total;
}

}  // namespace

VerbsSendQueue::VerbsSendQueue(const ChannelLimits& limits, const VerbsSendOptions& options)
    : limits_(limits),
      options_(options),
      work_requests_(static_cast<size_t>(limits.send_depth)),
      segments_(work_requests_.size() * static_cast<size_t>(limits.max_local_segments)),
      kept_(work_requests_.size()),
      copies_(work_requests_.size() * limits.inline_bytes) {
  DebugCheck(limits.send_depth > 0 && limits.max_local_segments > 0, "a send queue has room");
}

MutableBuffer VerbsSendQueue::copies() { return {copies_.data(), copies_.size()}; }

bool VerbsSendQueue::Add(const Post& post, std::span<const LocalBuffer> local) {
  DebugCheck(!full(), "a full send queue takes nothing");
  const size_t slot = Slot(posted_);
  kept_[slot] = Kept{.tag = post.tag, .kind = KindOf(post.opcode)};
  ibv_send_wr& work_request = work_requests_[slot];
  work_request = {};
  work_request.wr_id = posted_ | kSendWorkRequest;
  work_request.opcode = post.opcode;
  work_request.sg_list = &segments_[slot * static_cast<size_t>(limits_.max_local_segments)];
  ++posted_;

  const uint64_t total = TotalOf(local);
  if (post.opcode == IBV_WR_SEND) {
    if (total > limits_.max_message_bytes) return false;
  } else {
    if (total != post.remote.size_bytes) return false;
    work_request.wr.rdma.remote_addr = post.remote.address;
    work_request.wr.rdma.rkey = post.remote.key;
    work_request.imm_data = htonl(post.immediate);
  }
  if (post.opcode == IBV_WR_RDMA_READ || total > limits_.inline_bytes) {
    return Reference(local, &work_request);
  }
  Copy(local, static_cast<uint32_t>(total), &work_request);
  return true;
}

bool VerbsSendQueue::Reference(std::span<const LocalBuffer> local, ibv_send_wr* work_request) {
  int count = 0;
  for (const LocalBuffer& segment : local) {
    // To verbs a length of 0 means 2^31.
    if (segment.size_bytes == 0) continue;
    if (segment.local_key == nullptr || count == limits_.max_local_segments) return false;
    work_request->sg_list[count++] = {.addr = reinterpret_cast<uintptr_t>(segment.data),
                                      .length = segment.size_bytes,
                                      .lkey = LocalKeyOf(segment.local_key)};
  }
  work_request->num_sge = count;
  return true;
}

void VerbsSendQueue::Copy(std::span<const LocalBuffer> local, uint32_t size_bytes,
                          ibv_send_wr* work_request) {
  if (size_bytes == 0) return;
  const size_t slot = Slot(work_request->wr_id & ~kSendWorkRequest);
  std::byte* const copy = &copies_[slot * limits_.inline_bytes];
  std::byte* into = copy;
  for (const LocalBuffer& segment : local) {
    if (segment.size_bytes == 0) continue;
    std::memcpy(into, segment.data, segment.size_bytes);
    into += segment.size_bytes;
  }
  work_request->sg_list[0] = {
      .addr = reinterpret_cast<uintptr_t>(copy), .length = size_bytes, .lkey = copies_key_};
  work_request->num_sge = 1;
  if (size_bytes <= options_.device_inline_bytes) work_request->send_flags = IBV_SEND_INLINE;
}

ibv_send_wr* VerbsSendQueue::TakeChain() {
  if (flushed_ == posted_) return nullptr;
  ibv_send_wr* const first = &work_requests_[Slot(flushed_)];
  for (; flushed_ != posted_; ++flushed_) {
    ibv_send_wr& work_request = work_requests_[Slot(flushed_)];
    const bool last = flushed_ + 1 == posted_;
    work_request.next = last ? nullptr : &work_requests_[Slot(flushed_ + 1)];
    if (last || ++unsignalled_ >= options_.signal_every) {
      work_request.send_flags |= IBV_SEND_SIGNALED;
      unsignalled_ = 0;
    }
  }
  return first;
}

void VerbsSendQueue::Complete(uint64_t work_request, bool ok) {
  const uint64_t number = work_request & ~kSendWorkRequest;
  // A device that reports something else would free what is in use.
  if (number < done_ || number >= flushed_) return;
  for (; done_ < number; ++done_) kept_[Slot(done_)].ok = true;
  kept_[Slot(done_++)].ok = ok;
}

void VerbsSendQueue::FailRest() {
  for (; done_ != posted_; ++done_) kept_[Slot(done_)].ok = false;
  flushed_ = posted_;
}

bool VerbsSendQueue::NextEvent(ChannelEvent* event) {
  if (!has_done()) return false;
  const Kept& kept = kept_[Slot(reaped_++)];
  *event = ChannelEvent{};
  event->kind = kept.kind;
  event->ok = kept.ok;
  event->tag = kept.tag;
  return true;
}

}  // namespace vof
