// SPDX-License-Identifier: Apache-2.0
//
// One virtqueue of an initiator over a byte stream: Connect, then requests and responses.
//
//   auto queue = std::make_shared<InitiatorQueue>(queue_options);
//   auto engine = std::make_unique<InitiatorVirtqueueStream<V5>>(options, queue);
//   reactor->Add(link->Attach(std::move(engine)));
//   queue->Submit(&request);                    // from now on, on the reactor's thread
//
// Always reads, even while its writes block. Any rule that the target breaks closes the connection;
// then every request ends once, with an error. See stream_engine.h for how an engine is driven.
#ifndef VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_STREAM_H_
#define VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/engine/initiator_output.h"
#include "core/engine/initiator_queue.h"
#include "core/engine/initiator_response_reader.h"
#include "core/engine/initiator_status.h"
#include "core/engine/initiator_virtqueue_options.h"
#include "core/engine/output_queue.h"
#include "core/engine/stream_engine.h"
#include "core/wire/codec.h"
#include "core/wire/connect_body.h"

namespace vof {

template <Codec C>
class InitiatorVirtqueueStream final : public StreamEngine {
 public:
  // `queue` belongs to this engine's thread from the first call on.
  InitiatorVirtqueueStream(InitiatorVirtqueueOptions options, std::shared_ptr<InitiatorQueue> queue)
      : options_(std::move(options)),
        queue_(std::move(queue)),
        output_(kInitiatorStagingBytes, kInitiatorPieces),
        reader_(queue_.get()) {
    queue_->set_wake([this] { Wake(); });
  }
  ~InitiatorVirtqueueStream() override {
    if (!reported_) queue_->set_wake(nullptr);
  }

  // Takes no more requests; tells on_drained when those it has are done. Wakes the connection.
  void Drain() {
    queue_->Drain();
    draining_ = true;
    Wake();
  }
  InitiatorQueue& queue() { return *queue_; }
  const absl::Status& status() const { return status_; }

  // --- StreamEngine ---
  int PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) override {
    if (!wants_read() || into.empty()) return 0;
    if (!connected_) {
      scratch_ = scratch;
      into[0] = scratch;
      return 1;
    }
    return reader_.PrepareRead(scratch, into);
  }

  void OnRead(size_t bytes, MonotonicTime) override {
    if (!wants_read()) return;
    WireError error = WireError::kNone;
    if (connected_) [[likely]] {
      error = reader_.OnRead(bytes, output_.consumed_bytes());
    } else {
      error = OnConnectBytes({scratch_.data, bytes});
    }
    if (error != WireError::kNone) Fail(RequestError::kProtocol, ProtocolStatus(error));
  }
  bool wants_read() const override { return !wants_close_ && !closed_; }

  bool Advance(MonotonicTime now) override {
    if (!started_) Start(now);
    bool moved = false;
    if (report_connected_) {
      report_connected_ = false;
      moved = true;
      if (options_.on_connected) options_.on_connected();
    }
    if (closed_) moved |= ReportEnd();
    moved |= queue_->DeliverDone() > 0;
    queue_->Admit(now);
    if (!closed_) moved |= Encode() > 0;
    if (draining_ && queue_->outstanding() == 0) {
      draining_ = false;
      moved = true;
      if (options_.on_drained) options_.on_drained();
    }
    return moved;
  }
  bool has_pending_work() const override {
    return queue_->has_work() || report_connected_ || (closed_ && !reported_);
  }
  int work_fd() const override { return -1; }

  int PrepareWrite(std::span<ConstBuffer> from) override {
    if (!wants_read()) return 0;
    Encode();
    return output_.Fill(from);
  }
  void OnWritten(size_t bytes) override {
    output_.Consume(bytes);
    queue_->OnSent(output_.consumed_bytes());
  }
  bool wants_write() const override { return wants_read() && !output_.empty(); }

  MonotonicTime NextDeadline() const override {
    if (!wants_read()) return kInfiniteFuture;
    return std::min(connect_deadline_, queue_->NextDeadline());
  }
  void OnTimer(MonotonicTime now) override {
    if (!wants_read()) return;
    if (now >= connect_deadline_) {
      Fail(RequestError::kClosed, TimedOutStatus("no answer to connect of " + Name()));
    } else if (queue_->Expire(now)) {
      Fail(RequestError::kClosed, LateRequestStatus(Name(), queue_->late_after()));
    }
  }

  bool wants_close() const override { return wants_close_; }
  bool flush_before_close() const override { return false; }
  void OnClosed(CloseReason reason, int error, MonotonicTime) override {
    if (closed_) return;
    if (!wants_close_) Fail(RequestError::kClosed, LostStatus(reason, error));
    closed_ = true;
    output_.Clear();
    queue_->End(request_error_);
  }
  bool finished() const override { return reported_ && queue_->outstanding() == 0; }
  std::string Describe() const override {
    std::string text = std::string(C::kDialect == Dialect::kV5 ? "v5 " : "ref ") + Name() +
                       " of '" + options_.body.target_name + "'";
    if (!status_.ok()) text += ": " + std::string(status_.message());
    return text;
  }

 private:
  std::string Name() const { return "virtqueue " + std::to_string(options_.queue_index); }

  void Start(MonotonicTime now) {
    started_ = true;
    connect_deadline_ = DeadlineAfter(now, options_.connect_timeout);
    Command connect;
    connect.kind = CommandKind::kConnect;
    connect.instance_id = options_.instance_id;
    connect.queue_index = options_.queue_index;
    connect.queue_size = queue_->options().queue_size;
    connect.body_length = kConnectBodyBytes;
    const WireError error = AppendConnect<C>(connect, options_.body, output_);
    if (error != WireError::kNone) Fail(RequestError::kClosed, ProtocolStatus(error));
  }

  WireError OnConnectBytes(std::span<const std::byte> bytes) {
    const std::byte* header = connect_answer_.Take(bytes);
    if (header == nullptr) return WireError::kNone;
    const Completion completion =
        C::DecodeCompletion(CommandKind::kConnect, HeaderIn(header, size_t{kHeaderBytes}));
    if (completion.command_id != 0 || !bytes.empty()) return WireError::kUnknownCommandId;
    if (!completion.ok()) {
      Fail(RequestError::kClosed, RefusedQueueStatus(C::kDialect, Name(), completion));
      return WireError::kNone;
    }
    connected_ = true;
    report_connected_ = true;
    connect_deadline_ = kInfiniteFuture;
    queue_->Open();
    return WireError::kNone;
  }

  // Lays requests out as far as window and room allow; returns how many.
  int Encode() {
    int encoded = 0;
    while (const InitiatorRequest* next = queue_->NextToSend()) {
      if (wants_close_ || !HasRoomForRequest<C>(*next, output_)) break;
      const InitiatorRequest* request = queue_->Take();
      AppendRequest<C>(*request, output_);
      queue_->SetSent(request, output_.appended_bytes());
      ++encoded;
    }
    return encoded;
  }

  // Stops I/O and asks for the close; requests end in OnClosed, when nothing touches their buffers.
  void Fail(RequestError request_error, absl::Status status) {
    if (wants_close_) return;
    wants_close_ = true;
    request_error_ = request_error;
    status_ = std::move(status);
  }
  bool ReportEnd() {
    if (reported_) return false;
    reported_ = true;
    queue_->set_wake(nullptr);
    if (options_.on_ended) options_.on_ended(status_);
    return true;
  }

  const InitiatorVirtqueueOptions options_;
  const std::shared_ptr<InitiatorQueue> queue_;
  OutputQueue output_;
  InitiatorResponseReader<C> reader_;
  FixedAssembler<kHeaderBytes> connect_answer_;
  MutableBuffer scratch_;  // of the last PrepareRead before the Connect was answered
  MonotonicTime connect_deadline_ = kInfiniteFuture;
  absl::Status status_;
  RequestError request_error_ = RequestError::kClosed;
  bool started_ = false;
  bool connected_ = false;
  bool report_connected_ = false;
  bool draining_ = false;
  bool wants_close_ = false;
  bool closed_ = false;
  bool reported_ = false;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_VIRTQUEUE_STREAM_H_
