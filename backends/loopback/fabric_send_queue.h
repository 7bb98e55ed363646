// SPDX-License-Identifier: Apache-2.0
//
// The posts of one end of the in-process fabric, from the call to the event: a ring of fixed size
// with everything that belongs to a post, so that posting never allocates.
//
//   post --Flush--> flushed --takes effect--> done --Reap--> free again; always in order
//
// Inside this folder only; under the mutex of the link.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_SEND_QUEUE_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_SEND_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/transport/message_channel.h"

namespace vof {

enum class FabricPostKind : uint8_t { kSend, kFetch, kStore, kStoreWithImmediate };

struct FabricPost {
  FabricPostKind kind = FabricPostKind::kSend;
  bool valid = true;  // within the limits; one that is not fails when its turn comes
  bool is_inline = false;
  bool ok = false;  // once done
  uint64_t tag = 0;
  RemoteBuffer remote;
  uint32_t immediate = 0;
  uint32_t size_bytes = 0;
  size_t num_segments = 0;
  uint64_t effect_turn = 0;  // takes effect from this turn on
  uint64_t sequence = 0;     // of its completion
  uint64_t ready_turn = 0;   // reported from this turn on
};

class FabricSendQueue {
 public:
  explicit FabricSendQueue(const ChannelLimits& limits)
      : max_segments_(static_cast<size_t>(limits.max_local_segments)),
        inline_bytes_(limits.inline_bytes),
        posts_(static_cast<size_t>(limits.send_depth)),
        segments_(posts_.size() * max_segments_),
        inline_storage_(posts_.size() * inline_bytes_) {
    DebugCheck(limits.send_depth > 0, "a send queue has room for a post");
  }

  bool full() const { return posted_ - reaped_ == posts_.size(); }
  bool empty() const { return posted_ == reaped_; }
  bool has_done() const { return done_ != reaped_; }
  bool has_flushed() const { return flushed_ != done_; }      // and not done
  bool has_unflushed() const { return posted_ != flushed_; }  // or broken before
  bool has_unfinished() const { return posted_ != done_; }

  // Not when full.
  void Post(const FabricPost& post, std::span<const LocalBuffer> local) {
    FabricPost& kept = posts_[Slot(posted_)];
    kept = post;
    kept.valid = post.valid && local.size() <= max_segments_;
    kept.num_segments = kept.valid ? local.size() : 0;
    std::copy_n(local.begin(), kept.num_segments, segments_.begin() + SegmentsOf(posted_));
    if (kept.valid && post.is_inline) CopyInline(local);
    ++posted_;
  }
  // The oldest post that was not flushed; there is one.
  FabricPost& FlushOne() { return posts_[Slot(flushed_++)]; }
  // The oldest post that is not done; there is one.
  FabricPost& current() { return posts_[Slot(done_)]; }
  std::span<const LocalBuffer> current_segments() const {
    return {segments_.data() + SegmentsOf(done_), posts_[Slot(done_)].num_segments};
  }
  std::span<const std::byte> current_inline() const {
    return {inline_storage_.data() + Slot(done_) * inline_bytes_, posts_[Slot(done_)].size_bytes};
  }
  // Also of one that was never flushed, when the channel breaks.
  void FinishOne() {
    ++done_;
    flushed_ = std::max(flushed_, done_);
  }
  // The oldest post that was not reaped; has_done().
  const FabricPost& front() const { return posts_[Slot(reaped_)]; }
  void PopFront() { ++reaped_; }

 private:
  size_t Slot(uint64_t number) const { return static_cast<size_t>(number % posts_.size()); }
  std::ptrdiff_t SegmentsOf(uint64_t number) const {
    return static_cast<std::ptrdiff_t>(Slot(number) * max_segments_);
  }
  void CopyInline(std::span<const LocalBuffer> local) {
    std::byte* into = inline_storage_.data() + Slot(posted_) * inline_bytes_;
    for (const LocalBuffer& segment : local) {
      if (segment.size_bytes == 0) continue;
      std::memcpy(into, segment.data, segment.size_bytes);
      into += segment.size_bytes;
    }
  }

  const size_t max_segments_;
  const size_t inline_bytes_;
  std::vector<FabricPost> posts_;
  std::vector<LocalBuffer> segments_;  // max_segments_ for each post
  std::vector<std::byte> inline_storage_;
  // Numbers of posts since the beginning: reaped <= done <= flushed <= posted.
  uint64_t posted_ = 0;
  uint64_t flushed_ = 0;
  uint64_t done_ = 0;
  uint64_t reaped_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_SEND_QUEUE_H_
