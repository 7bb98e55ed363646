// SPDX-License-Identifier: Apache-2.0
//
// The message seam for fabrics with remote memory access: verbs, libfabric, the in-process fabric.
//
//   channel.PostReceive(buffer, tag);
//   channel.PostFetch(local, remote, tag);      // remote read
//   channel.PostStore(local, remote, tag);      // remote write
//   channel.PostSend(message, tag);             // arrives after the stores posted before it
//   channel.Flush();                            // one doorbell for the chain
//   for (const ChannelEvent& e : channel.Reap(events)) ...
//
// Ownership: on kOk the buffers belong to the channel until the event with the same tag returns
// them; on kAgain and kClosed they stay with the caller. Close() returns every outstanding buffer
// through Reap. A channel belongs to one thread; no call blocks. No backend implements this yet;
// the seam is fixed so that the engines above it are written against what keyed fabrics can do.
#ifndef VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_
#define VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/buffer.h"
#include "core/transport/byte_stream.h"
#include "core/transport/domain.h"

namespace vof {

enum class PostStatus : uint8_t { kOk, kAgain, kClosed };

// Memory of the peer, named by the key that the peer registered.
struct RemoteBuffer {
  uint64_t address = 0;
  uint32_t size_bytes = 0;
  uint32_t key = 0;
};

// Local memory with the region that covers it.
struct LocalBuffer {
  MutableBuffer buffer;
  const void* local_key = nullptr;  // Region::local_key()
};

enum class ChannelEventKind : uint8_t { kSent, kReceived, kFetched, kStored, kImmediate, kClosed };

struct ChannelEvent {
  ChannelEventKind kind = ChannelEventKind::kClosed;
  bool ok = false;         // false: flushed or failed; the buffers are back either way
  uint64_t tag = 0;        // as posted
  uint32_t bytes = 0;      // received
  uint32_t immediate = 0;  // kImmediate
};

template <typename C>
concept MessageChannel = requires(C channel, const C const_channel,
                                  std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                  uint64_t tag, uint32_t immediate,
                                  std::span<ChannelEvent> events) {
  { C::kMaxSegmentsPerPost } -> std::convertible_to<int>;
  { C::kInlineBytes } -> std::convertible_to<size_t>;
  { C::kHasImmediate } -> std::convertible_to<bool>;
  { channel.PostSend(local, tag) } -> std::same_as<PostStatus>;
  { channel.PostReceive(local, tag) } -> std::same_as<PostStatus>;
  { channel.PostFetch(local, remote, tag) } -> std::same_as<PostStatus>;
  { channel.PostStore(local, remote, tag) } -> std::same_as<PostStatus>;
  { channel.PostStoreWithImmediate(local, remote, immediate, tag) } -> std::same_as<PostStatus>;
  { channel.Flush() } -> std::same_as<void>;
  { channel.Reap(events) } -> std::same_as<std::span<ChannelEvent>>;
  { channel.Arm() } -> std::same_as<bool>;
  { const_channel.wait_fd() } -> std::same_as<int>;
  { channel.Close() } -> std::same_as<void>;
  { const_channel.peer() } -> std::same_as<const PeerIdentity&>;
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_
