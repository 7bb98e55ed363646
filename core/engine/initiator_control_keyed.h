// SPDX-License-Identifier: Apache-2.0
//
// The control queue of an initiator over a message channel: each command and each answer of an
// InitiatorSession is one message.
//
//   auto engine = std::make_unique<InitiatorControlKeyed<V5>>(body, session_options, keyed);
//   engine->session().ReadConfig(fields, done);
//   engine->Notify();                           // outside of a turn: somebody has to come and send
//
// See initiator_session.h for what can be done, message_engine.h for how an engine is driven.
#ifndef VOF_CORE_ENGINE_INITIATOR_CONTROL_KEYED_H_
#define VOF_CORE_ENGINE_INITIATOR_CONTROL_KEYED_H_

#include <span>
#include <string>
#include <utility>

#include "core/engine/action_ring.h"
#include "core/engine/initiator_answer.h"
#include "core/engine/initiator_control.h"
#include "core/engine/initiator_session.h"
#include "core/engine/initiator_status.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/engine/keyed_connect.h"
#include "core/engine/message_engine.h"
#include "core/wire/codec.h"

namespace vof {

template <Codec C>
class InitiatorControlKeyed final : public MessageEngine, public InitiatorControl {
 public:
  // `options.handshake` must name the codec's dialect and keyed transmission.
  InitiatorControlKeyed(ConnectBody body, InitiatorSessionOptions options,
                        const InitiatorKeyedOptions& keyed)
      : body_(std::move(body)), keyed_(keyed), session_(std::move(options)) {}

  InitiatorSession& session() override { return session_; }
  void Notify() override { Wake(); }

  // --- MessageEngine ---
  int receive_depth() const override { return kReceives; }
  void OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) override {
    if (closed_) return;
    for (const ChannelEvent& event : events) {
      if (event.kind == ChannelEventKind::kSent) --sends_;
      if (event.kind != ChannelEventKind::kReceived) continue;
      if (!session_.wants_close()) OnMessage(event, now);
      ring_.Push(ActionKind::kReturnReceive, event.tag);
    }
  }
  std::span<const MessageAction> PendingActions() override { return ring_.pending(); }
  void OnPosted(size_t count) override { ring_.Pop(count); }
  bool has_output() const override { return !ring_.empty() || sends_ > 0; }

  bool Advance(MonotonicTime now) override {
    bool moved = session_.RunCallbacks();
    Command command;
    while (!closed_ && sends_ < kControlQueueSize && session_.NextCommand(now, &command)) {
      moved = true;
      Append(command);
    }
    return moved;
  }
  bool has_pending_work() const override {
    return session_.has_callbacks() || (!closed_ && session_.has_command());
  }
  int work_fd() const override { return -1; }
  MonotonicTime NextDeadline() const override { return session_.NextDeadline(); }
  void OnTimer(MonotonicTime now) override { session_.OnTimer(now); }

  bool wants_close() const override { return session_.wants_close(); }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    if (closed_) return;
    closed_ = true;
    ring_.Clear();
    connect_memory_.Release();
    session_.OnClosed(reason, error);
  }
  bool finished() const override { return session_.finished(); }
  std::string Describe() const override {
    std::string text = C::kDialect == Dialect::kV5 ? "v5" : "ref";
    text += " keyed control queue of '" + body_.target_name + "'";
    if (!session_.status().ok()) text += ": " + std::string(session_.status().message());
    return text;
  }

 private:
  static constexpr int kReceives = kControlQueueSize + 2;

  void Append(const Command& command) {
    ++sends_;
    if (command.kind == CommandKind::kConnect) {
      const absl::Status status = PushKeyedConnect<C>(command, body_, *keyed_.regions, *keyed_.pool,
                                                      /*tag=*/0, ring_, &connect_memory_);
      if (!status.ok()) session_.Fail(status);
      return;
    }
    std::byte header[kHeaderBytes];
    C::EncodeCommand(command, HeaderOut(header, size_t{kHeaderBytes}));
    ring_.Push(ActionKind::kSend, /*tag=*/0).Append(header);
  }

  void OnMessage(const ChannelEvent& event, MonotonicTime now) {
    WireError error = WireError::kMessageLength;
    if (event.has_immediate) {
      error = WireError::kUnexpectedEvent;
    } else if (event.message.size() == kHeaderBytes) {
      connect_memory_.Release();  // the first answer is that of Connect
      error = DeliverAnswer<C>(session_, event.message.first<kHeaderBytes>(), now);
    }
    if (error != WireError::kNone) session_.Fail(ProtocolStatus(error));
  }

  const ConnectBody body_;
  const InitiatorKeyedOptions keyed_;
  InitiatorSession session_;
  ActionRing ring_{2 * kReceives + kControlQueueSize};
  PoolBuffer connect_memory_;
  uint32_t sends_ = 0;  // messages whose events are missing
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_CONTROL_KEYED_H_
