// SPDX-License-Identifier: Apache-2.0
//
// The Connect of an initiator over a message channel: a command with one descriptor, whose 1024
// bytes the target fetches.
//
//   absl::Status status = PushKeyedConnect<V5>(connect, body, regions, pool, tag, ring, &memory);
//   // `memory` stays until the answer is here
//
// One thread. Source: docs/protocol.md, both dialects.
#ifndef VOF_CORE_ENGINE_KEYED_CONNECT_H_
#define VOF_CORE_ENGINE_KEYED_CONNECT_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "core/engine/action_ring.h"
#include "core/engine/initiator_status.h"
#include "core/memory/buffer_pool.h"
#include "core/transport/region_map.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"

namespace vof {

// kResourceExhausted when the pool is empty; an error of the name otherwise. `connect` gets its
// transmission and body length here.
template <Codec C>
absl::Status PushKeyedConnect(Command connect, const ConnectBody& body, const RegionMap& regions,
                              BufferPool& pool, uint64_t tag, ActionRing& ring,
                              PoolBuffer* memory) {
  PoolBuffer buffer = pool.Allocate(kConnectBodyBytes);
  const Region* region = buffer ? regions.Find(buffer.data(), kConnectBodyBytes) : nullptr;
  if (region == nullptr) {
    return absl::ResourceExhaustedError("no registered memory for the 1024 bytes of Connect");
  }
  const std::span<std::byte, kConnectBodyBytes> place(buffer.data(), kConnectBodyBytes);
  const WireError error = EncodeConnectBody(C::kDialect, body, ConnectBodyOut(place));
  if (error != WireError::kNone) return ProtocolStatus(error);
  connect.transmission = Transmission::kKeyed;
  connect.body_length = kConnectBodyBytes;
  std::byte message[kHeaderBytes + C::kDescriptorBytes];
  C::EncodeCommand(connect, HeaderOut(message, size_t{kHeaderBytes}));
  C::EncodeSegment(Segment{.address = region->RemoteAddress(buffer.data()),
                           .length_bytes = kConnectBodyBytes,
                           .key = region->remote_key()},
                   {message + kHeaderBytes, C::kDescriptorBytes});
  ring.Push(ActionKind::kSend, tag).Append(message);
  *memory = std::move(buffer);
  return absl::OkStatus();
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_KEYED_CONNECT_H_
