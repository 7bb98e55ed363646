// SPDX-License-Identifier: Apache-2.0
//
// One request in a target's virtqueue: what the device sees, and what the engine keeps beside it.
//
//   RequestTable table(queue_size);
//   TargetRequest* request = table.Acquire();     // null: all are in use
//   RequestList waiting;  waiting.PushBack(request);
//   table.Release(waiting.PopFront());
//
// Requests are made in chunks when they are first needed and then reused: nothing allocates after
// warm-up. A request is in at most one list at a time. One thread.
#ifndef VOF_CORE_ENGINE_TARGET_REQUEST_H_
#define VOF_CORE_ENGINE_TARGET_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/device/device_request.h"
#include "core/memory/buffer_pool.h"
#include "core/wire/command.h"

namespace vof {

// What keyed transmission keeps of a request beside it.
struct KeyedRequest {
  uint64_t receive_tag = 0;  // of its message, which is held until the answer is posted
  std::span<const std::byte> descriptors;
  uint32_t writable_offset = 0;  // into the range that they describe
  bool has_writable_descriptors = false;
  bool answered = false;
  uint32_t posts = 0;  // posted, or about to be, whose events are missing
};

struct TargetRequest final : DeviceRequest {
  // Enough for data and status of `ref` without pool memory.
  static constexpr size_t kInlineSegmentBytes = 72;

  TargetRequest* next = nullptr;
  uint64_t sent_mark = 0;  // sent completely when this many bytes of output were
  ConstBuffer readable_piece;
  MutableBuffer writable_piece;
  std::byte* out_place = nullptr;  // where the payload goes; null: it stays in the receive buffer
  PoolBuffer memory;
  PoolBuffer second_memory;
  uint32_t memory_bytes = 0;
  uint16_t command_id = 0;
  uint16_t num_segments = 0;  // device-writable ones of `ref`, to echo
  Cause cause = Cause::kOk;
  const std::byte* segments = nullptr;
  std::array<std::byte, kInlineSegmentBytes> inline_segments;
  std::byte* message_place = nullptr;  // RequestShape::message_bytes of pool memory
  KeyedRequest keyed;
};

// First in, first out.
class RequestList {
 public:
  bool empty() const { return first_ == nullptr; }
  TargetRequest* front() const { return first_; }
  void PushBack(TargetRequest* request) {
    request->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = request;
    last_ = request;
  }
  TargetRequest* PopFront() {
    TargetRequest* request = first_;
    first_ = request->next;
    if (first_ == nullptr) last_ = nullptr;
    return request;
  }

 private:
  TargetRequest* first_ = nullptr;
  TargetRequest* last_ = nullptr;
};

class RequestTable {
 public:
  explicit RequestTable(uint16_t capacity) : capacity_(capacity) {}

  bool exhausted() const { return in_use_ == capacity_; }
  uint32_t in_use() const { return in_use_; }
  TargetRequest* Acquire() {
    if (exhausted()) return nullptr;
    if (free_ == nullptr) Grow();
    TargetRequest* request = free_;
    free_ = request->next;
    ++in_use_;
    return request;
  }
  // Gives its memory back too.
  void Release(TargetRequest* request) {
    request->memory.Release();
    request->second_memory.Release();
    request->next = free_;  // the last one used is the next one used: it is still in the cache
    free_ = request;
    --in_use_;
  }

 private:
  static constexpr uint32_t kChunk = 32;

  void Grow() {
    const uint32_t count = capacity_ - made_ < kChunk ? capacity_ - made_ : kChunk;
    chunks_.push_back(std::make_unique<TargetRequest[]>(count));
    made_ += count;
    for (uint32_t i = count; i-- > 0;) {
      chunks_.back()[i].next = free_;
      free_ = &chunks_.back()[i];
    }
  }

  const uint32_t capacity_;
  uint32_t made_ = 0;
  uint32_t in_use_ = 0;
  TargetRequest* free_ = nullptr;
  std::vector<std::unique_ptr<TargetRequest[]>> chunks_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_REQUEST_H_
