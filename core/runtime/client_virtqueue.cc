// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/client_virtqueue.h"

#include <utility>

#include "core/base/check.h"
#include "core/engine/initiator_status.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/runtime/client_keyed.h"
#include "core/wire/with_codec.h"

namespace vof {

ClientVirtqueue::ClientVirtqueue(uint16_t index, Reactor* reactor,
                                 const InitiatorQueueOptions& options,
                                 std::shared_ptr<ClientSignal> signal)
    : index_(index),
      reactor_(reactor),
      queue_(std::make_shared<InitiatorQueue>(options)),
      signal_(std::move(signal)) {}

absl::StatusOr<std::unique_ptr<Connection>> ClientVirtqueue::AttachEngine(
    Link* link, const SessionInfo& info, InitiatorVirtqueueOptions options,
    const RequestRegistration& registration) {
  using Result = absl::StatusOr<std::unique_ptr<Connection>>;
  return WithCodec(info.dialect, [&]<Codec C>() -> Result {
    if (link->transmission() == Transmission::kStream) {
      auto engine = std::make_unique<InitiatorVirtqueueStream<C>>(std::move(options), queue_);
      drain_ = [raw = engine.get()] { raw->Drain(); };
      return link->Attach(std::move(engine));
    }
    auto keyed = ClientKeyedOptions(reactor_, *link, info);
    if (!keyed.ok()) return keyed.status();
    regions_.emplace(keyed->regions);
    keyed->regions = &*regions_;
    keyed->domain = domain_.get();
    keyed->registration = registration;
    auto engine = std::make_unique<InitiatorVirtqueueKeyed<C>>(std::move(options), *keyed, queue_);
    drain_ = [raw = engine.get()] { raw->Drain(); };
    end_region_ = [raw = engine.get()](Region region) { raw->EndRegion(std::move(region)); };
    return link->AttachMessages(std::move(engine));
  });
}

void ClientVirtqueue::Attach(std::unique_ptr<Link> link, const SessionInfo& info,
                             InitiatorVirtqueueOptions options,
                             const RequestRegistration& registration) {
  const std::shared_ptr<ClientVirtqueue> self = shared_from_this();
  domain_ = link->domain();
  options.on_connected = [self] { self->signal_->Change([&] { self->connected_ = true; }); };
  options.on_drained = [self] { self->signal_->Change([&] { self->drained_ = true; }); };
  options.on_ended = [self](const absl::Status& why) { self->OnEnded(why); };
  signal_->Change([&] { attached_ = true; });
  // std::function wants something that can be copied.
  auto shared = std::make_shared<std::unique_ptr<Link>>(std::move(link));
  reactor_->Post([self, shared, info, options = std::move(options), registration] {
    absl::StatusOr<std::unique_ptr<Connection>> connection =
        self->AttachEngine(shared->get(), info, options, registration);
    if (!connection.ok()) {
      self->OnEnded(connection.status());
      self->signal_->Change([&] { self->finished_ = true; });
      return;
    }
    self->connection_ = connection->get();
    self->reactor_->Add(*std::move(connection), [self](Connection*) { self->OnFinished(); });
  });
}

// The channel has given everything back: nobody reaches registered memory any more.
void ClientVirtqueue::OnFinished() {
  connection_ = nullptr;
  drain_ = nullptr;
  end_region_ = nullptr;
  if (regions_) regions_->Clear();
  signal_->Change([&] { finished_ = true; });
}

void ClientVirtqueue::AddRegion(Region region) {
  // std::function wants something that can be copied.
  auto shared = std::make_shared<Region>(std::move(region));
  reactor_->Post([self = shared_from_this(), shared] {
    if (self->connection_ == nullptr) return;
    Check(self->regions_->Add(std::move(*shared)), "registered ranges do not overlap");
  });
}

void ClientVirtqueue::EndRegion(const std::byte* begin) {
  reactor_->Post([self = shared_from_this(), begin] {
    if (!self->regions_ || !self->end_region_) return;
    self->end_region_(self->regions_->Take(begin));
  });
}

void ClientVirtqueue::Drain() {
  reactor_->Post([self = shared_from_this()] {
    if (self->drain_) {
      self->drain_();
    } else {
      self->queue_->Drain();
      self->signal_->Change([&] { self->drained_ = true; });
    }
  });
}

void ClientVirtqueue::Close(const absl::Status& why) {
  signal_->Change([&] {
    if (close_reason_.ok()) close_reason_ = Detached(why);
  });
  reactor_->Post([self = shared_from_this()] {
    if (self->connection_ != nullptr) {
      self->connection_->Close(CloseReason::kLocal, MonotonicNow());
    }
  });
}

void ClientVirtqueue::OnEnded(const absl::Status& why) {
  // From here on nobody drives the queue; what is still submitted is told so in a turn of its own.
  queue_->set_wake(
      [this] { reactor_->Post([self = shared_from_this()] { self->DeliverAfterTheEnd(); }); });
  signal_->Change([&] {
    const bool ours = FailureKindOf(why) == FailureKind::kClosed && !close_reason_.ok();
    status_ = Detached(ours ? close_reason_ : why);
    drained_ = true;
  });
}

void ClientVirtqueue::DeliverAfterTheEnd() {
  queue_->Admit(reactor_->now());
  queue_->DeliverDone();
}

bool ClientVirtqueue::connected() const {
  return signal_->Read([&] { return connected_; });
}
bool ClientVirtqueue::drained() const {
  return signal_->Read([&] { return drained_ || !attached_; });
}
bool ClientVirtqueue::finished() const {
  return signal_->Read([&] { return finished_ || !attached_; });
}
absl::Status ClientVirtqueue::status() const {
  return signal_->Read([&] { return Detached(status_); });
}

}  // namespace vof
