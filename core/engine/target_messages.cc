// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_messages.h"

#include <cstring>
#include <utility>

#include "core/wire/with_codec.h"

namespace vof {

TargetMessages::TargetMessages(const EngineHost& host, const KeyedHost& keyed,
                               TargetDirectory* directory, PeerIdentity peer, MonotonicTime now)
    : keyed_(keyed),
      endpoint_(host, directory, std::move(peer), Transmission::kKeyed, now),
      now_(now) {
  endpoint_.set_hooks(
      {.wake = [this] { Wake(); },
       .start_control = [this](std::shared_ptr<ControlPlace> p) { StartControl(std::move(p)); },
       .start_queue =
           [this](QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
             StartQueue(std::move(grant), std::move(device));
           }});
}

void TargetMessages::OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnEvents(events, now);
  for (const ChannelEvent& event : events) {
    switch (event.kind) {
      case ChannelEventKind::kReceived:
        ring_.Push(ActionKind::kReturnReceive, event.tag);
        if (std::exchange(connect_seen_, true) || event.has_immediate) {
          endpoint_.CloseWithoutAnswer(
              std::string(WireErrorText(WireError::kCommandBeforeConnect)));
        } else {
          OnFirstMessage(event.message);
        }
        break;
      case ChannelEventKind::kFetched:
        if (event.ok && endpoint_.phase() == Phase::kCollecting) OnBody();
        break;
      case ChannelEventKind::kSent:
        refusal_unsent_ = false;
        break;
      case ChannelEventKind::kStored:
      case ChannelEventKind::kDisconnected:
        break;
    }
  }
}

void TargetMessages::OnFirstMessage(std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes) {
    return endpoint_.CloseWithoutAnswer(std::string(WireErrorText(WireError::kNotAConnect)));
  }
  if (!endpoint_.OnHeader(message.first<kHeaderBytes>())) return;
  const bool ref = endpoint_.dialect() == Dialect::kRef;
  const std::span<const std::byte> rest = message.subspan(kHeaderBytes);
  if (!ref && endpoint_.connect().body_length == 0 && rest.empty()) {
    return endpoint_.OnConnect(std::nullopt);
  }
  if (rest.size() != (ref ? Ref::kDescriptorBytes : V5::kDescriptorBytes)) {
    return endpoint_.CloseWithoutAnswer(std::string(WireErrorText(WireError::kMessageLength)));
  }
  const Segment segment = ref ? Ref::DecodeSegment(rest) : V5::DecodeSegment(rest);
  if (!endpoint_.CheckBodySegment(segment)) return;
  body_segment_ = segment;
  FetchBody();
}

// Waits its turn for memory, as requests do, but no longer than a handshake may take.
void TargetMessages::FetchBody() {
  body_ = endpoint_.host().pool->Allocate(kConnectBodyBytes, this);
  if (!body_) return endpoint_.host().pool->WaitFor(kConnectBodyBytes, this);
  const Segment segment = *std::exchange(body_segment_, std::nullopt);
  const Region* region = keyed_.regions->Find(body_.data(), kConnectBodyBytes);
  if (region == nullptr) {
    return endpoint_.CloseWithoutAnswer("memory for a Connect is not registered");
  }
  // Not every fabric tells when a peer answers with less than was asked for: what was there before,
  // somebody else's token perhaps, must not be taken for its own.
  std::memset(body_.data(), 0, kConnectBodyBytes);
  MessageAction& action = ring_.Push(ActionKind::kFetch, /*tag=*/0);
  action.local = {body_.data(), kConnectBodyBytes, region->local_key()};
  action.remote = {segment.address, kConnectBodyBytes, segment.key};
}

void TargetMessages::OnBody() {
  endpoint_.OnConnect(
      std::span<const std::byte, kConnectBodyBytes>(body_.data(), size_t{kConnectBodyBytes}));
  std::memset(body_.data(), 0, kConnectBodyBytes);  // a token is not left to whoever is next
  body_.Release();
}

template <typename Keyed>
std::unique_ptr<Keyed> TargetMessages::NewKeyed() {
  auto keyed = std::make_unique<Keyed>(endpoint_.host(), keyed_, endpoint_.directory(),
                                       endpoint_.link(), endpoint_.connect().command_id, now_);
  keyed->set_wake([this] { Wake(); });
  return keyed;
}

void TargetMessages::StartControl(std::shared_ptr<ControlPlace> place) {
  WithCodec(endpoint_.dialect(), [&]<Codec C>() {
    auto keyed = NewKeyed<TargetKeyed<C>>();
    keyed->StartControl(std::move(place));
    queue_ = std::move(keyed);
  });
}

void TargetMessages::StartQueue(QueueGrant grant, std::unique_ptr<DeviceQueue> device) {
  WithCodec(endpoint_.dialect(), [&]<Codec C>() {
    auto keyed = NewKeyed<TargetKeyed<C>>();
    keyed->StartQueue(std::move(grant), std::move(device));
    queue_ = std::move(keyed);
  });
}

bool TargetMessages::Advance(MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->Advance(now);
  if (body_segment_.has_value() && endpoint_.phase() == Phase::kCollecting) {
    FetchBody();
    return !body_segment_.has_value();
  }
  if (endpoint_.phase() == Phase::kRefused && !std::exchange(refusal_pushed_, true)) {
    ring_.Push(ActionKind::kSend, /*tag=*/0).Append(endpoint_.refusal());
    refusal_unsent_ = true;
    return true;
  }
  return false;
}

void TargetMessages::OnTimer(MonotonicTime now) {
  now_ = now;
  if (queue_) return queue_->OnTimer(now);
  if (now >= endpoint_.deadline()) endpoint_.OnDeadline();
}

void TargetMessages::OnClosed(CloseReason reason, int error, MonotonicTime now) {
  ring_.Clear();
  endpoint_.host().pool->Forget(this);
  body_segment_.reset();
  body_.Release();
  if (queue_) queue_->OnClosed(reason, error, now);
  endpoint_.OnClosed();
}

}  // namespace vof
