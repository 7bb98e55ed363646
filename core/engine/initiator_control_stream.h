// SPDX-License-Identifier: Apache-2.0
//
// The control queue of an initiator over a byte stream: puts an InitiatorSession's commands into
// bytes and takes the answers apart.
//
//   auto engine = std::make_unique<InitiatorControlStream<V5>>(body, session_options);
//   engine->session().ReadConfig(fields, done);
//   engine->Notify();                             // outside of a turn: somebody has to come and
//   send
//
// See initiator_session.h for what can be done, stream_engine.h for how an engine is driven.
#ifndef VOF_CORE_ENGINE_INITIATOR_CONTROL_STREAM_H_
#define VOF_CORE_ENGINE_INITIATOR_CONTROL_STREAM_H_

#include <span>
#include <string>
#include <utility>

#include "core/engine/fixed_assembler.h"
#include "core/engine/initiator_answer.h"
#include "core/engine/initiator_control.h"
#include "core/engine/initiator_output.h"
#include "core/engine/initiator_session.h"
#include "core/engine/initiator_status.h"
#include "core/engine/output_queue.h"
#include "core/engine/stream_engine.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"

namespace vof {

template <Codec C>
class InitiatorControlStream final : public StreamEngine, public InitiatorControl {
 public:
  // `options.handshake.dialect` must be the codec's.
  InitiatorControlStream(ConnectBody body, InitiatorSessionOptions options)
      : body_(std::move(body)), session_(std::move(options)) {}

  InitiatorSession& session() override { return session_; }
  void Notify() override { Wake(); }

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    if (!wants_read() || into.empty()) return 0;
    into[0] = scratch_ = scratch;
    return 1;
  }
  void OnRead(size_t bytes, MonotonicTime now) override {
    std::span<const std::byte> left(scratch_.data, bytes);
    while (wants_read()) {
      const std::byte* header = header_.Take(left);
      if (header == nullptr) return;
      const WireError error =
          DeliverAnswer<C>(session_, HeaderIn(header, size_t{kHeaderBytes}), now);
      if (error != WireError::kNone) session_.Fail(ProtocolStatus(error));
    }
  }
  bool wants_read() const override { return !session_.wants_close() && !closed_; }

  bool Advance(MonotonicTime now) override {
    bool moved = session_.RunCallbacks();
    Command command;
    while (!closed_ && output_.HasRoom(kLargestCommandBytes, 0) &&
           session_.NextCommand(now, &command)) {
      moved = true;
      Append(command);
    }
    return moved;
  }
  bool has_pending_work() const override {
    return session_.has_callbacks() || (!closed_ && session_.has_command());
  }
  int work_fd() const override { return -1; }

  int PrepareWrite(std::span<ConstBuffer> from) override {
    return wants_read() ? output_.Fill(from) : 0;
  }
  void OnWritten(size_t bytes) override { output_.Consume(bytes); }
  bool wants_write() const override { return wants_read() && !output_.empty(); }

  MonotonicTime NextDeadline() const override { return session_.NextDeadline(); }
  void OnTimer(MonotonicTime now) override { session_.OnTimer(now); }

  bool wants_close() const override { return session_.wants_close(); }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    closed_ = true;
    output_.Clear();
    session_.OnClosed(reason, error);
  }
  bool finished() const override { return session_.finished(); }
  std::string Describe() const override {
    std::string text = C::kDialect == Dialect::kV5 ? "v5" : "ref";
    text += " control queue of '" + body_.target_name + "'";
    if (!session_.status().ok()) text += ": " + std::string(session_.status().message());
    return text;
  }

 private:
  static constexpr size_t kLargestCommandBytes =
      kHeaderBytes + C::kDescriptorBytes + kConnectBodyBytes;

  void Append(const Command& command) {
    if (command.kind != CommandKind::kConnect) {
      C::EncodeCommand(command, HeaderAt(output_.Copy(kHeaderBytes)));
      return;
    }
    const WireError error = AppendConnect<C>(command, body_, output_);
    if (error != WireError::kNone) {
      session_.Fail(
          UnsupportedStatus("a name cannot be sent: " + std::string(WireErrorText(error))));
    }
  }

  const ConnectBody body_;
  InitiatorSession session_;
  OutputQueue output_{4 * kLargestCommandBytes, 16};
  FixedAssembler<kHeaderBytes> header_;
  MutableBuffer scratch_;  // of the last PrepareRead
  bool closed_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_CONTROL_STREAM_H_
