// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_connection.h"

#include <optional>
#include <utility>

#include "core/engine/target_stream.h"
#include "core/wire/with_codec.h"

namespace vof {

TargetConnection::TargetConnection(const EngineHost& host, TargetDirectory* directory,
                                   PeerIdentity peer, MonotonicTime now)
    : endpoint_(host, directory, std::move(peer), Transmission::kStream, now), now_(now) {
  static_assert(kLongestConnect == kHeaderBytes + Ref::kDescriptorBytes + kConnectBodyBytes);
  endpoint_.set_hooks(
      {.wake = [this] { Wake(); },
       .start_control = [this](std::shared_ptr<ControlPlace> p) { StartControl(std::move(p)); },
       .start_queue =
           [this](QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
             StartQueue(std::move(grant), std::move(device));
           }});
}

int TargetConnection::PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) {
  if (queue_) return queue_->PrepareRead(scratch, into);
  if (endpoint_.phase() != Phase::kCollecting) return 0;
  into[0] = MutableBuffer(received_.data() + received_bytes_, wanted_bytes_ - received_bytes_);
  return 1;
}

void TargetConnection::OnRead(size_t bytes, MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnRead(bytes, now);
  received_bytes_ += bytes;
  if (received_bytes_ < wanted_bytes_) return;
  if (wanted_bytes_ == kHeaderBytes) {
    if (!endpoint_.OnHeader(HeaderIn(received_.data(), kHeaderBytes))) return;
    wanted_bytes_ = endpoint_.dialect() == Dialect::kRef
                        ? kLongestConnect
                        : kHeaderBytes + endpoint_.connect().body_length;
  }
  if (received_bytes_ == wanted_bytes_) OnConnect();
}

void TargetConnection::OnConnect() {
  const std::span<const std::byte> received(received_.data(), wanted_bytes_);
  if (endpoint_.dialect() == Dialect::kRef) {
    const auto descriptor = received.subspan(kHeaderBytes, Ref::kDescriptorBytes);
    if (!endpoint_.CheckBodySegment(Ref::DecodeSegment(descriptor))) return;
  }
  if (received.size() > kHeaderBytes) {
    endpoint_.OnConnect(received.last<kConnectBodyBytes>());
  } else {
    endpoint_.OnConnect(std::nullopt);
  }
}

template <typename Stream>
std::unique_ptr<Stream> TargetConnection::NewStream() {
  auto stream = std::make_unique<Stream>(endpoint_.host(), endpoint_.directory(), endpoint_.link(),
                                         endpoint_.connect().command_id, now_);
  stream->set_wake([this] { Wake(); });
  return stream;
}

void TargetConnection::StartControl(std::shared_ptr<ControlPlace> place) {
  WithCodec(endpoint_.dialect(), [&]<Codec C>() {
    auto stream = NewStream<TargetStream<C>>();
    stream->StartControl(std::move(place));
    queue_ = std::move(stream);
  });
}

void TargetConnection::StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
  WithCodec(endpoint_.dialect(), [&]<Codec C>() {
    auto stream = NewStream<TargetStream<C>>();
    stream->StartQueue(std::move(grant), std::move(device));
    queue_ = std::move(stream);
  });
}

bool TargetConnection::Advance(MonotonicTime now) {
  now_ = now;
  return queue_ && queue_->Advance(now);
}

int TargetConnection::PrepareWrite(std::span<ConstBuffer> from) {
  if (queue_) return queue_->PrepareWrite(from);
  if (!wants_write()) return 0;
  const std::span<const std::byte> refusal = endpoint_.refusal();
  from[0] = ConstBuffer(refusal.data() + refusal_sent_bytes_, refusal.size() - refusal_sent_bytes_);
  return 1;
}

void TargetConnection::OnWritten(size_t bytes) {
  if (queue_) return queue_->OnWritten(bytes);
  refusal_sent_bytes_ += bytes;
}

void TargetConnection::OnTimer(MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnTimer(now);
  if (now >= endpoint_.deadline()) endpoint_.OnDeadline();
}

void TargetConnection::OnClosed(CloseReason reason, int error, MonotonicTime now) {
  if (queue_) queue_->OnClosed(reason, error, now);
  endpoint_.OnClosed();
}

}  // namespace vof
