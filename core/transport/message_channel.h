// SPDX-License-Identifier: Apache-2.0
//
// The message seam for fabrics with remote memory access: verbs, libfabric, the in-process fabric.
//
//   channel.SetReceiveDepth(queue_size + 1);
//   channel.PostFetch(local, remote, tag);      // remote read
//   channel.PostStore(local, remote, tag);      // remote write
//   channel.PostSend(message, tag);             // arrives after the stores posted before it
//   channel.Flush();                            // one doorbell for the chain
//   for (const ChannelEvent& e : channel.Reap(events)) {
//     if (e.kind == ChannelEventKind::kReceived) { Handle(e.message); channel.ReturnReceive(e.tag);
//     }
//   }
//
// Ownership: on kOk posted buffers belong to the channel until the event with the same tag returns
// them; on kAgain and kClosed they stay with the caller. Close() returns every outstanding buffer
// through Reap, then drained() is true. Messages arrive in memory of the channel (which may share
// it with others of its domain) and are the caller's from kReceived to ReturnReceive. A channel
// belongs to one thread; no call blocks.
#ifndef VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_
#define VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "core/base/buffer.h"
#include "core/transport/byte_stream.h"
#include "core/transport/domain.h"

namespace vof {

enum class PostStatus : uint8_t {
  kOk,
  kAgain,   // the send queue is full: Reap, then post again
  kClosed,  // closed, or broken: nothing more will be taken
};

// Memory of the peer, named by the key that the peer registered.
struct RemoteBuffer {
  uint64_t address = 0;
  uint32_t size_bytes = 0;
  uint32_t key = 0;
};

// Local memory with the key of the region that covers it.
struct LocalBuffer {
  std::byte* data = nullptr;
  uint32_t size_bytes = 0;
  const void* local_key = nullptr;  // Region::local_key()
};

enum class ChannelEventKind : uint8_t {
  kSent,          // the message is delivered, or will be unless the channel breaks
  kReceived,      // `message`
  kFetched,       // the bytes are here
  kStored,        // the local bytes may be reused
  kDisconnected,  // the peer is gone or the channel broke: Close() is next. Comes once
};

struct ChannelEvent {
  ChannelEventKind kind = ChannelEventKind::kDisconnected;
  bool ok = false;   // false: flushed or failed, and the channel is broken; the buffers are back
  uint64_t tag = 0;  // as posted; kReceived: for ReturnReceive
  std::span<const std::byte> message;  // kReceived
  bool has_immediate = false;          // kReceived: the peer's PostStoreWithImmediate, no message
  uint32_t immediate = 0;
};

// What a channel can take; fixed when it is made.
struct ChannelLimits {
  uint32_t max_message_bytes = 0;  // of a send, and of each receive
  // A send or store up to here needs no local keys and is copied when posted; at least 64.
  uint32_t inline_bytes = 0;
  int max_local_segments = 0;  // LocalBuffers of one post
  int send_depth = 0;          // posts outstanding
  bool has_immediate = false;
};

template <typename C>
concept MessageChannel = requires(C channel, const C const_channel,
                                  std::span<const LocalBuffer> local, const RemoteBuffer& remote,
                                  uint64_t tag, uint32_t immediate, int count,
                                  std::span<ChannelEvent> events) {
  { const_channel.limits() } -> std::same_as<const ChannelLimits&>;
  // The channel has `count` receives: posted, arrived, or in the hands of the caller. Grows only.
  { channel.SetReceiveDepth(count) } -> std::same_as<absl::Status>;
  { channel.ReturnReceive(tag) } -> std::same_as<void>;
  // A send waits at this side while the peer has no receive posted; it does not fail.
  { channel.PostSend(local, tag) } -> std::same_as<PostStatus>;
  // The sizes of `local` add up to that of `remote`.
  { channel.PostFetch(local, remote, tag) } -> std::same_as<PostStatus>;
  { channel.PostStore(local, remote, tag) } -> std::same_as<PostStatus>;
  { channel.PostStoreWithImmediate(local, remote, immediate, tag) } -> std::same_as<PostStatus>;
  { channel.Flush() } -> std::same_as<void>;
  // Whatever `events` held, those returned are set in all their members.
  { channel.Reap(events) } -> std::same_as<std::span<ChannelEvent>>;
  // Asks for wait_fd() to become readable with the next event. False: there are events now.
  { channel.Arm() } -> std::same_as<bool>;
  { const_channel.wait_fd() } -> std::same_as<int>;  // -1: must be polled
  { channel.Close() } -> std::same_as<void>;         // idempotent
  // Closed, and every posted buffer came back.
  { const_channel.drained() } -> std::same_as<bool>;
  { const_channel.peer() } -> std::same_as<const PeerIdentity&>;
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_MESSAGE_CHANNEL_H_
