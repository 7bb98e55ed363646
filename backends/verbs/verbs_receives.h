// SPDX-License-Identifier: Apache-2.0
//
// Receive memory, registered with a domain: of one channel, or of all that share a receive queue.
//
//   auto receives = VerbsReceives::Shared(domain, 16384);      // once for each domain
//   (*receives)->Want(129, nullptr);                           // a channel's depth
//   (*receives)->Post(indices, nullptr);                       // those that were handled
//
// Each receive holds the longest message. Depths that channels ask for add up; one that ends takes
// its part back for the next one. Whoever needs a receive takes it, so a channel may use those of
// another: that is what is shared. Any thread.
#ifndef VOF_BACKENDS_VERBS_VERBS_RECEIVES_H_
#define VOF_BACKENDS_VERBS_VERBS_RECEIVES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/verbs/verbs_domain.h"
#include "core/base/limits.h"
#include "core/transport/domain.h"

namespace vof {

class VerbsReceives {
 public:
  // Rounded up to whole cache lines, so that no two receives share one.
  static constexpr size_t kReceiveBytes = (kMaxMessageBytes + 63) / 64 * 64;

  // For one channel: the calls below name its queue pair.
  static std::shared_ptr<VerbsReceives> Own(std::shared_ptr<VerbsDomain> domain, int max_receives);
  // A shared receive queue of the device; the calls below are given no queue pair.
  static absl::StatusOr<std::shared_ptr<VerbsReceives>> Shared(std::shared_ptr<VerbsDomain> domain,
                                                               int max_receives);
  ~VerbsReceives();
  VerbsReceives(const VerbsReceives&) = delete;
  VerbsReceives& operator=(const VerbsReceives&) = delete;

  ibv_srq* shared_queue() const { return shared_queue_; }  // null: of one channel
  int max_receives() const { return static_cast<int>(slots_.size()); }

  // Adds to what is wanted in all, and posts what is missing. kResourceExhausted: names the limit.
  absl::Status Want(int more, ibv_qp* queue_pair);
  // 0 or an errno: the queue pair is broken then.
  int Post(std::span<const uint32_t> indices, ibv_qp* queue_pair);
  // `owner` hands a receive to its user, and takes it back; false when it did not hand it out.
  void Hold(uint32_t index, const void* owner) {
    slots_[index].owner.store(owner, std::memory_order_relaxed);
  }
  bool Release(uint32_t index, const void* owner);
  // An owner that wanted `count` ends. What its user still held is posted for the others.
  void Leave(const void* owner, int count);

  // `index` is what a completion of a receive names; false when it names none.
  bool Has(uint64_t index) const { return index < slots_.size() && slots_[index].data != nullptr; }
  const std::byte* data(uint32_t index) const { return slots_[index].data; }

 private:
  struct Slot {
    std::byte* data = nullptr;
    uint32_t lkey = 0;
    std::atomic<const void*> owner{nullptr};  // whose user has it
  };
  struct FreePages {
    void operator()(std::byte* pages) const { ::operator delete[](pages, kPage); }
  };
  struct Block {
    std::unique_ptr<std::byte[], FreePages> memory;
    Region region;  // ends first
  };
  static constexpr std::align_val_t kPage{4096};

  VerbsReceives(std::shared_ptr<VerbsDomain> domain, int max_receives)
      : domain_(std::move(domain)), slots_(static_cast<size_t>(max_receives)) {}
  absl::Status Grow(int count, ibv_qp* queue_pair);

  const std::shared_ptr<VerbsDomain> domain_;
  ibv_srq* shared_queue_ = nullptr;
  std::mutex mutex_;  // of what follows; a slot does not change once it was posted
  int wanted_ = 0;
  int made_ = 0;
  std::vector<Slot> slots_;
  std::vector<Block> blocks_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_RECEIVES_H_
