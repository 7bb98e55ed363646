// SPDX-License-Identifier: Apache-2.0
//
// Lays an initiator's request out for keyed transmission: what travels inside the message, which
// memory the target is shown, what has to go through memory of the pool because nothing registered
// covers it.
//
//   KeyedPlan plan = PlanKeyedRequest<V5>(request, limits, regions);
//   if (plan.bounce_out_bytes > 0) ... allocate, copy ...
//   EncodeKeyedRequest<V5>(request, plan, bounce, message);
//
// Pure; one thread, that of the regions. Source: docs/protocol.md, "Keyed transmission" and "Inline
// data (keyed)".
#ifndef VOF_CORE_ENGINE_KEYED_REQUEST_BUILDER_H_
#define VOF_CORE_ENGINE_KEYED_REQUEST_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/engine/initiator_request.h"
#include "core/engine/keyed_request_parser.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"
#include "core/wire/v5_inline.h"

namespace vof {

struct KeyedPlan {
  uint32_t inline_bytes = 0;      // the first of the readable part
  uint32_t bounce_out_bytes = 0;  // the readable rest goes through the pool; 0: it is registered
  uint32_t bounce_in_bytes = 0;   // the writable part does
  bool shows_writable = false;    // descriptors of the writable part are sent
  uint32_t num_descriptors = 0;   // at most: merging may save some
  uint32_t message_bytes = 0;     // at most
};

// Where pieces lie that are not registered.
struct KeyedBounce {
  const Region* region = nullptr;
  std::byte* out = nullptr;
  std::byte* in = nullptr;
};

namespace keyed_internal {

// Leading pieces up to here are worth sending inside the message although the rest is not: the
// header of a block request.
inline constexpr uint32_t kInlineHeaderBytes = 64;

template <typename Pieces>
uint32_t CountRegistered(const Pieces& pieces, uint32_t skip_bytes, const RegionMap& regions,
                         bool* all) {
  uint32_t count = 0;
  *all = true;
  for (const auto& piece : pieces) {
    const size_t skipped = std::min<size_t>(skip_bytes, piece.size_bytes);
    skip_bytes -= static_cast<uint32_t>(skipped);
    if (piece.size_bytes == skipped) continue;
    ++count;
    *all = *all && regions.Find(piece.data + skipped, piece.size_bytes - skipped) != nullptr;
  }
  return count;
}

inline uint32_t InlineBytes(const InitiatorRequest& request, const KeyedLimits& limits) {
  if (!limits.inline_accepted) return 0;
  if (request.readable_bytes <= limits.max_inline_request_bytes) return request.readable_bytes;
  uint32_t bytes = 0;
  for (const ConstBuffer& piece : request.readable) {
    if (bytes + piece.size_bytes > kInlineHeaderBytes) break;
    bytes += static_cast<uint32_t>(piece.size_bytes);
  }
  return std::min(bytes, limits.max_inline_request_bytes);
}

// Appends descriptors; adjacent ones with one key become one where the dialect allows it.
template <Codec C>
class DescriptorWriter {
 public:
  explicit DescriptorWriter(std::byte* place) : place_(place) {}

  void Add(const Region& region, const std::byte* data, uint32_t size_bytes, bool writable) {
    const uint64_t address = region.RemoteAddress(data);
    const bool adjacent = count_ > 0 && last_.key == region.remote_key() &&
                          last_.address + last_.length_bytes == address;
    if (adjacent && !C::kSegmentedStreams) {
      last_.length_bytes += size_bytes;
      --count_;
    } else {
      last_ = {.address = address,
               .length_bytes = size_bytes,
               .key = region.remote_key(),
               .id = static_cast<uint16_t>(count_),
               .writable = writable};
    }
    C::EncodeSegment(last_, {place_ + count_ * C::kDescriptorBytes, C::kDescriptorBytes});
    ++count_;
  }
  uint32_t count() const { return count_; }

 private:
  std::byte* place_;
  Segment last_;
  uint32_t count_ = 0;
};

template <Codec C, typename Pieces>
void AddPieces(const Pieces& pieces, uint32_t skip_bytes, const RegionMap& regions, bool writable,
               DescriptorWriter<C>& writer) {
  for (const auto& piece : pieces) {
    const size_t skipped = std::min<size_t>(skip_bytes, piece.size_bytes);
    skip_bytes -= static_cast<uint32_t>(skipped);
    const size_t left = piece.size_bytes - skipped;
    if (left == 0) continue;
    writer.Add(*regions.Find(piece.data + skipped, left), piece.data + skipped,
               static_cast<uint32_t>(left), writable);
  }
}

}  // namespace keyed_internal

// Copies the readable bytes from `offset_bytes` on to `to`.
inline void GatherReadable(const InitiatorRequest& request, uint32_t offset_bytes,
                           uint32_t size_bytes, std::byte* to) {
  for (const ConstBuffer& piece : request.readable) {
    const size_t skipped = std::min<size_t>(offset_bytes, piece.size_bytes);
    offset_bytes -= static_cast<uint32_t>(skipped);
    const size_t part = std::min<size_t>(size_bytes, piece.size_bytes - skipped);
    if (part == 0) continue;
    std::memcpy(to, piece.data + skipped, part);
    to += part;
    size_bytes -= static_cast<uint32_t>(part);
  }
}

// Copies `from` into the writable part, from `offset_bytes` on; it fits.
inline void ScatterWritable(const InitiatorRequest& request, uint32_t offset_bytes,
                            std::span<const std::byte> from) {
  for (const MutableBuffer& piece : request.writable) {
    const size_t skipped = std::min<size_t>(offset_bytes, piece.size_bytes);
    offset_bytes -= static_cast<uint32_t>(skipped);
    const size_t part = std::min(from.size(), piece.size_bytes - skipped);
    if (part == 0) continue;
    std::memcpy(piece.data + skipped, from.data(), part);
    from = from.subspan(part);
  }
}

// `request` was measured by its queue.
template <Codec C>
KeyedPlan PlanKeyedRequest(const InitiatorRequest& request, const KeyedLimits& limits,
                           const RegionMap& regions) {
  using keyed_internal::CountRegistered;
  KeyedPlan plan;
  plan.inline_bytes = keyed_internal::InlineBytes(request, limits);
  plan.shows_writable =
      request.writable_bytes > 0 &&
      !(limits.inline_accepted && request.writable_bytes <= limits.max_inline_completion_bytes);
  bool out_registered = true, in_registered = true;
  uint32_t out = CountRegistered(request.readable, plan.inline_bytes, regions, &out_registered);
  uint32_t in = 0;
  if (plan.shows_writable) in = CountRegistered(request.writable, 0, regions, &in_registered);
  // Too many pieces for one message: they are gathered.
  const uint32_t most = C::kSegmentedStreams ? kMaxMessageBytes / 2 / C::kDescriptorBytes
                                             : uint32_t{kMaxKeyedDescriptorsV5};
  const bool too_many = out + in > most;
  if (out > 0 && (!out_registered || too_many)) {
    plan.bounce_out_bytes = request.readable_bytes - plan.inline_bytes;
    out = 1;
  }
  if (in > 0 && (!in_registered || too_many)) {
    plan.bounce_in_bytes = request.writable_bytes;
    in = 1;
  }
  plan.num_descriptors = out + in;
  plan.message_bytes = static_cast<uint32_t>(
      kHeaderBytes + plan.num_descriptors * C::kDescriptorBytes + plan.inline_bytes);
  return plan;
}

// Writes the message to `place` (plan.message_bytes long) and returns its length. The bounce memory
// that the plan asked for is there; readable bytes are copied into it.
template <Codec C>
uint32_t EncodeKeyedRequest(const InitiatorRequest& request, const KeyedPlan& plan,
                            const RegionMap& regions, const KeyedBounce& bounce,
                            bool inline_accepted, std::byte* place) {
  keyed_internal::DescriptorWriter<C> writer(place + kHeaderBytes);
  const uint32_t rest = request.readable_bytes - plan.inline_bytes;
  if (plan.bounce_out_bytes > 0) {
    GatherReadable(request, plan.inline_bytes, rest, bounce.out);
    writer.Add(*bounce.region, bounce.out, rest, false);
  } else if (rest > 0) {
    keyed_internal::AddPieces<C>(request.readable, plan.inline_bytes, regions, false, writer);
  }
  if (plan.bounce_in_bytes > 0) {
    writer.Add(*bounce.region, bounce.in, request.writable_bytes, true);
  } else if (plan.shows_writable) {
    keyed_internal::AddPieces<C>(request.writable, 0, regions, true, writer);
  }
  Command command;
  command.kind = CommandKind::kVq;
  command.command_id = request.command_id;
  command.out_length = request.readable_bytes;
  command.in_length = request.writable_bytes;
  command.ndesc = static_cast<uint16_t>(writer.count());
  const HeaderOut header(place, size_t{kHeaderBytes});
  C::EncodeCommand(command, header);
  const size_t described = kHeaderBytes + writer.count() * C::kDescriptorBytes;
  if (inline_accepted) {
    EncodeInlineFields({.ndesc = static_cast<uint8_t>(writer.count()),
                        .inline_bytes = static_cast<uint16_t>(plan.inline_bytes)},
                       header);
    GatherReadable(request, 0, plan.inline_bytes, place + described);
  }
  return static_cast<uint32_t>(described) + plan.inline_bytes;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_KEYED_REQUEST_BUILDER_H_
