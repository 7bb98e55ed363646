// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/client_virtqueue.h"

#include <utility>

#include "core/engine/initiator_status.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {

ClientVirtqueue::ClientVirtqueue(uint16_t index, Reactor* reactor,
                                 const InitiatorQueueOptions& options,
                                 std::shared_ptr<ClientSignal> signal)
    : index_(index),
      reactor_(reactor),
      queue_(std::make_shared<InitiatorQueue>(options)),
      signal_(std::move(signal)) {}

template <typename C>
std::unique_ptr<StreamEngine> ClientVirtqueue::MakeEngine(InitiatorVirtqueueOptions options) {
  auto engine = std::make_unique<InitiatorVirtqueueStream<C>>(std::move(options), queue_);
  drain_ = [raw = engine.get()] { raw->Drain(); };
  return engine;
}

void ClientVirtqueue::Attach(std::unique_ptr<Link> link, Dialect dialect,
                             InitiatorVirtqueueOptions options) {
  const std::shared_ptr<ClientVirtqueue> self = shared_from_this();
  options.on_connected = [self] { self->signal_->Change([&] { self->connected_ = true; }); };
  options.on_drained = [self] { self->signal_->Change([&] { self->drained_ = true; }); };
  options.on_ended = [self](const absl::Status& why) { self->OnEnded(why); };
  std::unique_ptr<StreamEngine> engine = dialect == Dialect::kV5
                                             ? MakeEngine<V5>(std::move(options))
                                             : MakeEngine<Ref>(std::move(options));
  signal_->Change([&] { attached_ = true; });
  // std::function wants something that can be copied.
  auto connection = std::make_shared<std::unique_ptr<Connection>>(link->Attach(std::move(engine)));
  reactor_->Post([self, connection] {
    self->connection_ = connection->get();
    self->reactor_->Add(std::move(*connection), [self](Connection*) {
      self->connection_ = nullptr;
      self->drain_ = nullptr;
      self->signal_->Change([&] { self->finished_ = true; });
    });
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
