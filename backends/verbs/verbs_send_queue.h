// SPDX-License-Identifier: Apache-2.0
//
// The posts of a channel from the call to the event: a ring of ready work requests, so that posting
// never allocates and a flush is one chain.
//
//   post --TakeChain--> flushed --Complete--> done --NextEvent--> free again; always in order
//
// Selective signalling: the device reports every signal_every-th work request and the last of each
// chain; the others are done when a later one is. A failed work request is always reported.
//
// Inside this folder only; one thread.
#ifndef VOF_BACKENDS_VERBS_VERBS_SEND_QUEUE_H_
#define VOF_BACKENDS_VERBS_VERBS_SEND_QUEUE_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/transport/message_channel.h"

namespace vof {

struct VerbsSendOptions {
  int signal_every = 32;
  uint32_t device_inline_bytes = 0;  // what the device copies by itself
};

// Tells the work requests of sends from those of receives, which share a completion queue.
inline constexpr uint64_t kSendWorkRequest = uint64_t{1} << 63;

class VerbsSendQueue {
 public:
  VerbsSendQueue(const ChannelLimits& limits, const VerbsSendOptions& options);
  VerbsSendQueue(const VerbsSendQueue&) = delete;
  VerbsSendQueue& operator=(const VerbsSendQueue&) = delete;

  bool full() const { return posted_ - reaped_ == work_requests_.size(); }
  bool empty() const { return posted_ == reaped_; }
  bool has_done() const { return done_ != reaped_; }

  // Memory for messages that the device does not copy, to be registered when there is any.
  MutableBuffer copies();
  void set_copies_key(uint32_t lkey) { copies_key_ = lkey; }

  struct Post {
    ibv_wr_opcode opcode = IBV_WR_SEND;
    RemoteBuffer remote;
    uint32_t immediate = 0;
    uint64_t tag = 0;
  };
  // Not when full. False: beyond the limits, or sizes that differ. It must not be flushed then, and
  // fails with the channel.
  bool Add(const Post& post, std::span<const LocalBuffer> local);
  // The posts that were not flushed, linked; null when there are none.
  ibv_send_wr* TakeChain();
  // The device reported this work request; those ahead of it went well.
  void Complete(uint64_t work_request, bool ok);
  // Everything that is not done has failed: the queue pair is gone.
  void FailRest();
  bool NextEvent(ChannelEvent* event);

 private:
  struct Kept {
    uint64_t tag = 0;
    ChannelEventKind kind = ChannelEventKind::kSent;
    bool ok = false;  // once done
  };

  size_t Slot(uint64_t number) const { return static_cast<size_t>(number % work_requests_.size()); }
  // The segments of a work request; false when one has no key.
  bool Reference(std::span<const LocalBuffer> local, ibv_send_wr* work_request);
  void Copy(std::span<const LocalBuffer> local, uint32_t size_bytes, ibv_send_wr* work_request);

  const ChannelLimits limits_;
  const VerbsSendOptions options_;
  std::vector<ibv_send_wr> work_requests_;
  std::vector<ibv_sge> segments_;  // max_local_segments for each
  std::vector<Kept> kept_;
  std::vector<std::byte> copies_;  // inline_bytes for each
  uint32_t copies_key_ = 0;
  int unsignalled_ = 0;
  // Numbers of posts since the beginning: reaped <= done <= flushed <= posted.
  uint64_t posted_ = 0;
  uint64_t flushed_ = 0;
  uint64_t done_ = 0;
  uint64_t reaped_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_SEND_QUEUE_H_
