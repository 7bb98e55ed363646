// SPDX-License-Identifier: Apache-2.0
//
// What a connection over a message channel drives: one queue's protocol with data by remote memory
// access, without I/O, clock or thread.
//
//   engine.OnEvents(channel.Reap(events), now);
//   engine.Advance(now);                              // act: device batches, completions, answers
//   for (const MessageAction& action : engine.PendingActions()) { ... post it ... ++posted; }
//   engine.OnPosted(posted);                          // the others are offered again
//   channel.Flush();
//
// Actions are to be posted in their order. The buffers of an action that was posted stay in use
// until the event with its tag. After OnClosed, which comes when the channel has given everything
// back, no event follows. One virtual call per batch, never per request.
#ifndef VOF_CORE_ENGINE_MESSAGE_ENGINE_H_
#define VOF_CORE_ENGINE_MESSAGE_ENGINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/engine/queue_engine.h"
#include "core/transport/message_channel.h"

namespace vof {

enum class ActionKind : uint8_t {
  kSend,
  kFetch,
  kStore,
  kReturnReceive,  // `tag` of the receive; no event answers it
};

// What every channel copies when it is posted, sent or stored, so that it needs no registered
// memory (ChannelLimits::inline_bytes).
inline constexpr size_t kMinInlineBytes = 64;

// One thing to post. Local memory comes with its key, or it is the action's own `bytes`.
struct MessageAction {
  ActionKind kind = ActionKind::kSend;
  uint64_t tag = 0;
  LocalBuffer local;
  RemoteBuffer remote;  // fetch and store
  std::array<std::byte, kMinInlineBytes> bytes;

  // Copies into `bytes`, behind what is there.
  void Append(std::span<const std::byte> more) {
    local.data = bytes.data();
    std::memcpy(bytes.data() + local.size_bytes, more.data(), more.size());
    local.size_bytes += static_cast<uint32_t>(more.size());
  }
};

class MessageEngine : public QueueEngine {
 public:
  // Receives that the channel has to keep posted; asked once before the first event.
  virtual int receive_depth() const = 0;
  virtual void OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) = 0;
  // What to post now, in order; valid until OnPosted. Empty: nothing.
  virtual std::span<const MessageAction> PendingActions() = 0;
  // The first `count` of them were taken by the channel.
  virtual void OnPosted(size_t count) = 0;
  // Actions not posted yet, or posted ones whose events are missing.
  virtual bool has_output() const = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_MESSAGE_ENGINE_H_
