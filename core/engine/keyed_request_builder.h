// SPDX-License-Identifier: Apache-2.0
//
// Lays an initiator's request out for keyed transmission: what travels inside the message, which
// memory the target is shown, which pieces have to go through memory of the pool because nothing
// registered covers them.
//
//   KeyedPlan plan = PlanKeyedRequest<V5>(request, limits, {&out_regions, &in_regions});
//   if (plan.out.bounce_bytes > 0) ... allocate ...
//   EncodeKeyedRequest<V5>(request, plan, maps, bounce, inline_accepted, message);
//   ... the answer is here ...
//   ScatterBounced(request, plan.in.bounced, bounce.in, stored_bytes);
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

// Which pieces of one direction go through the pool. Of a request in flight this has to be known
// until its answer comes: regions come and go meanwhile.
class BouncedPieces {
 public:
  // Pieces that it can tell from each other. Where there are more, all of them go.
  static constexpr size_t kPieces = 64;

  void Add(size_t index) { pieces_ |= uint64_t{1} << index; }
  void AddAll() { all_ = true; }
  bool Has(size_t index) const { return all_ || (index < kPieces && (pieces_ >> index & 1) != 0); }

 private:
  uint64_t pieces_ = 0;
  bool all_ = false;
};

// One direction of a request.
struct KeyedSide {
  BouncedPieces bounced;
  uint32_t bounce_bytes = 0;  // that they have together; 0: everything is registered
  // Neighbours that go through the pool have one. `v5`: at most, merging may save some.
  uint32_t num_descriptors = 0;
};

struct KeyedPlan {
  uint32_t inline_bytes = 0;    // the first of the readable part
  KeyedSide out, in;            // the readable rest; the writable part
  bool shows_writable = false;  // descriptors of the writable part are sent
  uint32_t message_bytes = 0;   // at most
};

// Where pieces lie that are not registered.
struct KeyedBounce {
  const Region* out_region = nullptr;
  const Region* in_region = nullptr;
  std::byte* out = nullptr;
  std::byte* in = nullptr;
};

// What covers readable and writable pieces: keys of the two may allow different things.
struct KeyedMaps {
  const RegionMap* out = nullptr;
  const RegionMap* in = nullptr;
};

namespace keyed_internal {

// Leading pieces up to here are worth sending inside the message although the rest is not: the
// header of a block request.
inline constexpr uint32_t kInlineHeaderBytes = 64;

// Calls `visit(index, data, size)` for what is left of each piece.
template <typename Pieces, typename Visit>
void ForEachPiece(const Pieces& pieces, uint32_t skip_bytes, Visit visit) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t skipped = std::min<size_t>(skip_bytes, pieces[i].size_bytes);
    skip_bytes -= static_cast<uint32_t>(skipped);
    const size_t left = pieces[i].size_bytes - skipped;
    if (left > 0) visit(i, pieces[i].data + skipped, static_cast<uint32_t>(left));
  }
}

inline void BounceAll(uint32_t size_bytes, KeyedSide* side) {
  side->bounced.AddAll();
  side->bounce_bytes = size_bytes;
  side->num_descriptors = size_bytes > 0 ? 1 : 0;
}

template <typename Pieces>
KeyedSide PlanSide(const Pieces& pieces, uint32_t skip_bytes, uint32_t size_bytes,
                   const RegionMap& regions) {
  KeyedSide side;
  bool tells_them_apart = true, in_run = false;
  ForEachPiece(pieces, skip_bytes, [&](size_t i, const std::byte* data, uint32_t left) {
    const bool covered = regions.Find(data, left) != nullptr;
    if (!covered) {
      side.bounce_bytes += left;
      if (i < BouncedPieces::kPieces) {
        side.bounced.Add(i);
      } else {
        tells_them_apart = false;
      }
    }
    side.num_descriptors += covered || !in_run;
    in_run = !covered;
  });
  if (!tells_them_apart) BounceAll(size_bytes, &side);
  return side;
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

// Describes one direction; readable bytes that go through the pool are copied there.
template <Codec C, typename Pieces>
void AddPieces(const Pieces& pieces, uint32_t skip_bytes, const KeyedSide& side,
               const RegionMap& regions, const Region* bounce_region, std::byte* bounce,
               bool writable, DescriptorWriter<C>& writer) {
  std::byte* run = bounce;  // what is copied and not described yet begins here
  const auto end_run = [&] {
    if (bounce == run) return;
    writer.Add(*bounce_region, run, static_cast<uint32_t>(bounce - run), writable);
    run = bounce;
  };
  ForEachPiece(pieces, skip_bytes, [&](size_t i, const std::byte* data, uint32_t left) {
    if (side.bounced.Has(i)) {
      if (!writable) std::memcpy(bounce, data, left);
      bounce += left;
      return;
    }
    end_run();
    writer.Add(*regions.Find(data, left), data, left, writable);
  });
  end_run();
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

// Copies what was stored in the pool to the pieces that `bounced` names: of the first
// `stored_bytes` of the writable part, what belongs to them.
inline void ScatterBounced(const InitiatorRequest& request, const BouncedPieces& bounced,
                           const std::byte* from, uint32_t stored_bytes) {
  for (size_t i = 0; i < request.writable.size() && stored_bytes > 0; ++i) {
    const MutableBuffer& piece = request.writable[i];
    const size_t part = std::min<size_t>(stored_bytes, piece.size_bytes);
    stored_bytes -= static_cast<uint32_t>(part);
    if (part == 0 || !bounced.Has(i)) continue;
    std::memcpy(piece.data, from, part);
    from += piece.size_bytes;
  }
}

// `request` was measured by its queue.
template <Codec C>
KeyedPlan PlanKeyedRequest(const InitiatorRequest& request, const KeyedLimits& limits,
                           const KeyedMaps& maps) {
  KeyedPlan plan;
  plan.inline_bytes = keyed_internal::InlineBytes(request, limits);
  plan.shows_writable =
      request.writable_bytes > 0 &&
      !(limits.inline_accepted && request.writable_bytes <= limits.max_inline_completion_bytes);
  const uint32_t out_bytes = request.readable_bytes - plan.inline_bytes;
  const uint32_t in_bytes = plan.shows_writable ? request.writable_bytes : 0;
  plan.out = keyed_internal::PlanSide(request.readable, plan.inline_bytes, out_bytes, *maps.out);
  if (plan.shows_writable) {
    plan.in = keyed_internal::PlanSide(request.writable, 0, in_bytes, *maps.in);
  }
  // Too many pieces for one message: they are gathered.
  const uint32_t most = C::kSegmentedStreams ? kMaxMessageBytes / 2 / C::kDescriptorBytes
                                             : uint32_t{kMaxKeyedDescriptorsV5};
  if (plan.out.num_descriptors + plan.in.num_descriptors > most) {
    keyed_internal::BounceAll(out_bytes, &plan.out);
    keyed_internal::BounceAll(in_bytes, &plan.in);
  }
  plan.message_bytes = static_cast<uint32_t>(
      kHeaderBytes + (plan.out.num_descriptors + plan.in.num_descriptors) * C::kDescriptorBytes +
      plan.inline_bytes);
  return plan;
}

// Writes the message to `place` (plan.message_bytes long) and returns its length. The bounce memory
// that the plan asked for is there; readable bytes are copied into it. The maps are as they were.
template <Codec C>
uint32_t EncodeKeyedRequest(const InitiatorRequest& request, const KeyedPlan& plan,
                            const KeyedMaps& maps, const KeyedBounce& bounce, bool inline_accepted,
                            std::byte* place) {
  keyed_internal::DescriptorWriter<C> writer(place + kHeaderBytes);
  keyed_internal::AddPieces<C>(request.readable, plan.inline_bytes, plan.out, *maps.out,
                               bounce.out_region, bounce.out, false, writer);
  if (plan.shows_writable) {
    keyed_internal::AddPieces<C>(request.writable, 0, plan.in, *maps.in, bounce.in_region,
                                 bounce.in, true, writer);
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
