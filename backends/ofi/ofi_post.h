// SPDX-License-Identifier: Apache-2.0
//
// The posts of one channel, oldest first, from the call that made them to the event that reports
// them. Inside this folder.
//
//   OfiPost* post = posts.Add();          // null: full
//   posts.Flush();
//   while (OfiPost* next = posts.NextToIssue()) { Submit(*next); posts.Issued(); }
//   if (const OfiPost* done = posts.Oldest(); done != nullptr && done->is_done)
//   posts.RemoveOldest();
//
//   while (OfiPost* before = posts.TakeUnreported(done)) ...   // done without a word of their own
//
// Providers may complete in any order; events come in order of posting.
#ifndef VOF_BACKENDS_OFI_OFI_POST_H_
#define VOF_BACKENDS_OFI_OFI_POST_H_

#include <rdma/fabric.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/ofi/ofi_context.h"
#include "core/transport/message_channel.h"

namespace vof {

// Of one post; providers offer 4 (tcp, shm) to 30.
inline constexpr int kMaxOfiSegments = 16;

enum class OfiPostKind : uint8_t { kSend, kFetch, kStore, kStoreWithImmediate };

struct OfiPost {
  // The others are done without it, or break the channel.
  bool reaches_provider() const {
    return is_valid && (size_bytes > 0 || kind == OfiPostKind::kSend ||
                        kind == OfiPostKind::kStoreWithImmediate);
  }

  OfiContext context;
  OfiPostKind kind = OfiPostKind::kSend;
  bool is_valid = true;  // false: fails when its turn comes
  bool is_inline = false;
  bool is_reported = true;  // by a completion of its own
  bool is_done = false;
  bool ok = false;  // is_done
  int segments = 0;
  uint32_t immediate = 0;
  uint64_t tag = 0;
  size_t size_bytes = 0;
  RemoteBuffer remote;
  std::array<iovec, kMaxOfiSegments> local;
  std::array<void*, kMaxOfiSegments> descriptors;
};

class OfiPosts {
 public:
  explicit OfiPosts(int depth) : posts_(static_cast<size_t>(depth)) {
    for (size_t i = 0; i < posts_.size(); ++i) {
      posts_[i].context.index = static_cast<uint32_t>(i);
    }
  }

  // Null when it is full.
  OfiPost* Add() {
    if (end_ - begin_ == posts_.size()) return nullptr;
    OfiPost& post = At(end_++);
    post.is_valid = true;
    post.is_inline = post.is_done = post.ok = false;
    return &post;
  }
  void Flush() { flushed_ = end_; }
  OfiPost* NextToIssue() { return issued_ == flushed_ ? nullptr : &At(issued_); }
  // The one behind it, null when it is the last one flushed.
  const OfiPost* AfterNextToIssue() { return issued_ + 1 == flushed_ ? nullptr : &At(issued_ + 1); }
  void Issued() { ++issued_; }
  bool has_unissued() const { return issued_ != flushed_; }
  // The next one to issue has nothing before it that is still under way.
  bool NextIsAlone() const {
    for (uint64_t i = begin_; i != issued_; ++i) {
      if (!posts_[i % posts_.size()].is_done) return false;
    }
    return true;
  }
  OfiPost& ByIndex(uint32_t index) { return posts_[index]; }
  // The oldest before `reported` that is not done and has no completion of its own; null when there
  // is none. For a provider that completes in order.
  OfiPost* TakeUnreported(const OfiPost& reported) {
    reported_ = std::max(reported_, begin_);
    while (reported_ != issued_ && &At(reported_) != &reported) {
      OfiPost& post = At(reported_++);
      if (!post.is_done && !post.is_reported) return &post;
    }
    return nullptr;
  }
  OfiPost* Oldest() { return empty() ? nullptr : &At(begin_); }
  void RemoveOldest() { ++begin_; }
  bool empty() const { return begin_ == end_; }
  // All that is not done has failed: nothing will complete any more.
  void FailAll() {
    for (uint64_t i = begin_; i != end_; ++i) At(i).is_done = true;
    issued_ = flushed_ = end_;
  }

 private:
  OfiPost& At(uint64_t number) { return posts_[number % posts_.size()]; }

  std::vector<OfiPost> posts_;
  // Numbers of posts: begin <= issued <= flushed <= end.
  uint64_t begin_ = 0;
  uint64_t reported_ = 0;  // what is before it is done, or has a completion; may be behind begin
  uint64_t issued_ = 0;
  uint64_t flushed_ = 0;
  uint64_t end_ = 0;
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_POST_H_
