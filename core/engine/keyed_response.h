// SPDX-License-Identifier: Apache-2.0
//
// Turns the result of one keyed request into posts: stores into the initiator's memory, then the
// completion.
//
//   KeyedResponse<V5> response;
//   response.Begin(request, limits, regions);
//   while (ring.room() > 0 && response.PushStore(ring, regions, tag)) {}
//   if (response.stores_done()) response.PushCompletion(ring, completion, tag);
//
// Small pieces travel in the action itself; what fits goes inline behind the completion; the rest
// is stored from where it is. A response may take several turns, when the ring is full.
//
// What a device lends from memory that is not registered is copied, if the request has memory for
// it. It has not when the device grew after the request was taken; then it is stored in small
// steps, which needs none.
#ifndef VOF_CORE_ENGINE_KEYED_RESPONSE_H_
#define VOF_CORE_ENGINE_KEYED_RESPONSE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/engine/action_ring.h"
#include "core/engine/keyed_request_parser.h"
#include "core/engine/remote_cursor.h"
#include "core/engine/target_request.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"

namespace vof {

// What an action holds besides a completion: the status of a block read, a network header.
inline constexpr uint32_t kInlineTailBytes = kMinInlineBytes - kHeaderBytes;

// Room that the answer to a request may need for its message in registered memory.
inline uint32_t AnswerMessageBytes(uint32_t in_bytes, const KeyedLimits& limits) {
  const bool whole = limits.inline_accepted && in_bytes <= limits.max_inline_completion_bytes;
  return whole && in_bytes > kInlineTailBytes ? kHeaderBytes + in_bytes : 0;
}

template <Codec C>
class KeyedResponse {
 public:
  bool active() const { return request_ != nullptr; }
  bool stores_done() const { return piece_ == num_pieces_; }

  // False: there is no place to store the result.
  bool Begin(TargetRequest* request, const KeyedLimits& limits, const RegionMap& regions) {
    *this = {};
    request_ = request;
    used_ = request->cause == Cause::kOk ? request->used_length() : 0;
    CollectPieces();
    const bool whole = limits.inline_accepted && used_ <= limits.max_inline_completion_bytes &&
                       (request->message_place != nullptr || used_ <= kInlineTailBytes);
    const uint32_t tail_bytes = std::min(kInlineTailBytes, limits.max_inline_completion_bytes);
    if (limits.inline_accepted) LeaveTailInline(whole ? used_ : tail_bytes, whole);
    if (used_ > inline_bytes_ && !request->keyed.has_writable_descriptors) return false;
    remote_ = RemoteCursor<C>(request->keyed.descriptors, request->keyed.writable_offset);
    FindKeys(regions);
    return true;
  }
  // False: some of the result lies in no registered memory.
  bool registered() const { return registered_; }

  // Looks for the regions of what is to be stored. Before the first PushStore.
  void FindKeys(const RegionMap& regions) {
    std::byte* copy_to = request_->result().empty() ? nullptr : request_->writable_piece.data;
    uint32_t copied = 0;
    registered_ = true;
    for (int i = 0; i < num_pieces_; ++i) {
      LocalBuffer& piece = pieces_[i];
      const Region* region = nullptr;
      if (piece.size_bytes > kMinInlineBytes) {
        region = regions.Find(piece.data, piece.size_bytes);
        if (region == nullptr && copy_to != nullptr) {
          std::memcpy(copy_to + copied, piece.data, piece.size_bytes);
          piece.data = copy_to + copied;
          region = regions.Find(piece.data, piece.size_bytes);
        }
        registered_ = registered_ && (region != nullptr || IsCovered(regions, piece));
      }
      piece.local_key = region != nullptr ? region->local_key() : nullptr;
      copied += piece.size_bytes;
    }
  }

  // Pushes one store. False: there is none left.
  bool PushStore(ActionRing& ring, const RegionMap& regions, uint64_t tag) {
    if (stores_done()) return false;
    LocalBuffer& piece = pieces_[piece_];
    LocalBuffer part = piece;
    if (part.local_key == nullptr) FindPart(regions, &part);
    MessageAction& action = ring.Push(ActionKind::kStore, tag);
    action.remote = remote_.Next(part.size_bytes);
    if (part.local_key == nullptr) {
      action.Append({part.data, action.remote.size_bytes});
    } else {
      action.local = part;
      action.local.size_bytes = action.remote.size_bytes;
    }
    piece.data += action.remote.size_bytes;
    piece.size_bytes -= action.remote.size_bytes;
    if (piece.size_bytes == 0) ++piece_;
    return true;
  }

  // The last of it; the response is inactive then.
  void PushCompletion(ActionRing& ring, Completion completion, const RegionMap& regions,
                      uint64_t tag) {
    completion.used_length = used_;
    completion.inline_length = inline_bytes_;
    completion.ndesc = request_->num_segments;
    MessageAction& action = ring.Push(ActionKind::kSend, tag);
    std::byte header[kHeaderBytes];
    C::EncodeCompletion(CommandKind::kVq, completion, HeaderOut(header, size_t{kHeaderBytes}));
    if (inline_bytes_ <= kInlineTailBytes) {
      action.Append(header);
      AppendInline([&](std::span<const std::byte> bytes) { action.Append(bytes); });
    } else {
      std::byte* place = request_->message_place;
      const Region* region = regions.Find(place, kHeaderBytes + inline_bytes_);
      std::memcpy(place, header, kHeaderBytes);
      std::byte* to = place + kHeaderBytes;
      AppendInline([&](std::span<const std::byte> bytes) {
        std::memcpy(to, bytes.data(), bytes.size());
        to += bytes.size();
      });
      action.local = {place, static_cast<uint32_t>(kHeaderBytes + inline_bytes_),
                      region->local_key()};
    }
    request_ = nullptr;
  }

 private:
  void CollectPieces() {
    if (used_ == 0) return;
    if (request_->writable_piece.size_bytes > 0 && request_->result().empty()) {
      Add({request_->writable_piece.data, used_});
      return;
    }
    for (const ConstBuffer& piece : request_->result()) Add(piece);
  }
  void Add(ConstBuffer piece) {
    // Only read from: channels take one type for both directions.
    pieces_[num_pieces_++] = {const_cast<std::byte*>(piece.data),
                              static_cast<uint32_t>(piece.size_bytes), nullptr};
  }

  // The last pieces, `most_bytes` of them, go behind the completion; the others are stored.
  void LeaveTailInline(uint32_t most_bytes, bool whole) {
    while (num_pieces_ > (whole ? 0 : 1) &&
           inline_bytes_ + pieces_[num_pieces_ - 1].size_bytes <= most_bytes) {
      --num_pieces_;
      ++num_tail_;
      inline_bytes_ += pieces_[num_pieces_].size_bytes;
    }
  }

  // By several regions, one behind the other.
  static bool IsCovered(const RegionMap& regions, LocalBuffer piece) {
    while (piece.size_bytes > 0) {
      const Region* region = regions.Find(piece.data, 1);
      if (region == nullptr) return false;
      const size_t part = std::min<size_t>(piece.size_bytes, region->BytesFrom(piece.data));
      piece.data += part;
      piece.size_bytes -= static_cast<uint32_t>(part);
    }
    return true;
  }

  // The first of what no region covers whole: up to the end of a region, or what an action holds.
  static void FindPart(const RegionMap& regions, LocalBuffer* part) {
    const Region* region = nullptr;
    if (part->size_bytes > kMinInlineBytes) region = regions.Find(part->data, 1);
    const size_t most = region != nullptr ? region->BytesFrom(part->data) : kMinInlineBytes;
    part->size_bytes = static_cast<uint32_t>(std::min<size_t>(part->size_bytes, most));
    if (region != nullptr) part->local_key = region->local_key();
  }

  template <typename Append>
  void AppendInline(Append append) {
    for (int i = num_pieces_; i < num_pieces_ + num_tail_; ++i) {
      append(std::span<const std::byte>(pieces_[i].data, pieces_[i].size_bytes));
    }
  }

  TargetRequest* request_ = nullptr;
  uint32_t used_ = 0;
  uint32_t inline_bytes_ = 0;  // the last ones of the result
  std::array<LocalBuffer, kMaxResultPieces> pieces_;
  int num_pieces_ = 0;  // to be stored; the tail lies behind them
  int num_tail_ = 0;
  int piece_ = 0;  // the next to be stored
  bool registered_ = true;
  RemoteCursor<C> remote_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_KEYED_RESPONSE_H_
