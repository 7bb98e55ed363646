// SPDX-License-Identifier: Apache-2.0
//
// How a life of a session (sim_attempt.h) comes to its connections, over pipes or the fabric.
#include <utility>

#include "core/engine/agreed_options.h"
#include "core/engine/initiator_control_keyed.h"
#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "core/wire/with_codec.h"
#include "devices/blk/blk_wire.h"
#include "testing/sim/keyed_checker.h"
#include "testing/sim/sim_attempt.h"
#include "testing/sim/sim_network.h"
#include "testing/sim/wire_checker.h"

namespace vof {
namespace {

constexpr ConfigField kNumQueuesField{.offset = offsetof(BlkConfigSpace, num_queues), .bytes = 2};

}  // namespace

void SimAttempt::Start() {
  Note("connects");
  slept_at_start_ = parts_.context->slept;
  if (is_keyed() && !parts_.memory->RegisterPool()) {
    Note("has no registered memory");
    ending_ = expected_end_ = true;
    return;
  }
  WithCodec(plan_.dialect, [this]<Codec C>() { StartControl<C>(); });
}

template <Codec C>
void SimAttempt::StartControl() {
  auto on_finished = [this] {
    control_ = nullptr;
    control_connection_ = nullptr;
  };
  if (is_keyed()) {
    auto engine = std::make_unique<InitiatorControlKeyed<C>>(body_, SessionOptions(),
                                                             KeyedOptions(KeyedLimits()));
    control_ = engine.get();
    control_connection_ = AddMessages(std::move(engine), std::move(on_finished));
  } else {
    auto engine = std::make_unique<InitiatorControlStream<C>>(body_, SessionOptions());
    control_ = engine.get();
    control_connection_ = AddStream(std::move(engine), std::move(on_finished));
  }
}

InitiatorKeyedOptions SimAttempt::KeyedOptions(const KeyedLimits& limits) const {
  InitiatorKeyedOptions keyed;
  keyed.limits = limits;
  keyed.regions = &parts_.memory->regions();
  keyed.pool = &parts_.reactor->pool();
  return keyed;
}

InitiatorSessionOptions SimAttempt::SessionOptions() {
  InitiatorSessionOptions options;
  options.handshake.dialect = plan_.dialect;
  options.handshake.transmission = plan_.transmission;
  options.handshake.queues = plan_.queues;
  options.handshake.queue_size = plan_.queue_size;
  options.handshake.num_queues_field = kNumQueuesField;
  options.handshake.num_queues_feature = kBlkFeatureMultiQueue;
  options.connect_timeout = 5 * kNanosecondsPerSecond;
  options.command_timeout = 4 * kNanosecondsPerSecond;
  options.keepalive = plan_.keepalive;
  options.on_open_virtqueues = [this](const SessionInfo& info) {
    info_ = info;
    hooks_.on_connected();
    OpenVirtqueues();
  };
  options.on_ready = [this](const SessionInfo& info) {
    if (ready_) return;  // again, after a reset
    info_ = info;
    ready_ = true;
    CheckSlept("connecting", slept_at_start_);
    Note("is ready as instance " + std::to_string(info.instance_id));
    ReadCapacity();
    hooks_.on_ready();
  };
  options.on_config_changed = [this] { ReadCapacity(); };
  options.on_ended = [this](const absl::Status& why) { OnEnded(why); };
  return options;
}

QueueRules::Fail SimAttempt::OnBrokenRule() {
  SimContext* context = parts_.context;
  const std::string who = body_.initiator_name + " life " + std::to_string(number_) + ": ";
  return [context, who](const std::string& what) { context->Fail(who + what); };
}

Connection* SimAttempt::AddStream(std::unique_ptr<StreamEngine> engine,
                                  std::function<void()> on_finished) {
  auto checker = std::make_shared<WireChecker>(wire_, OnBrokenRule());
  SimLink link = MakeSimLink(parts_.context, std::move(checker), body_.initiator_name);
  auto connection = std::make_unique<SimConnection>(std::move(link.initiator), std::move(engine));
  Connection* added = Add(std::move(connection), link.pipe, std::move(on_finished));
  parts_.target->Accept(&link, body_.initiator_name, PeerKind());
  return added;
}

Connection* SimAttempt::AddMessages(std::unique_ptr<MessageEngine> engine,
                                    std::function<void()> on_finished) {
  auto checker = std::make_shared<KeyedChecker>(wire_, OnBrokenRule());
  SimFabric::Pair pair = parts_.fabric->Connect(checker, body_.initiator_name, /*hostile=*/false);
  checker->Watch(pair.link.get());
  auto connection =
      std::make_unique<SimMessageConnection>(std::move(pair.initiator), std::move(engine));
  Connection* added = Add(std::move(connection), pair.link, std::move(on_finished));
  parts_.target->Accept(&pair, body_.initiator_name, PeerKind());
  return added;
}

Connection* SimAttempt::Add(std::unique_ptr<Connection> connection, std::shared_ptr<SimWire> wire,
                            std::function<void()> on_finished) {
  Connection* added = connection.get();
  ++num_connections_;
  wires_.push_back(wire);
  parts_.reactor->Add(std::move(connection), std::move(wire), SimWire::kInitiator,
                      [this, on_finished = std::move(on_finished)](Connection*) {
                        --num_connections_;
                        on_finished();
                      });
  return added;
}

void SimAttempt::OpenVirtqueues() {
  for (size_t i = 0; i < info_.queue_sizes.size(); ++i) OpenVirtqueue(static_cast<uint16_t>(i));
}

void SimAttempt::OpenVirtqueue(uint16_t index) {
  queues_.push_back(std::make_unique<Queue>());
  Queue* queue = queues_.back().get();
  queue->queue = std::make_shared<InitiatorQueue>(AgreedQueueOptions(info_, index));
  InitiatorVirtqueueOptions options;
  options.instance_id = info_.instance_id;
  options.queue_index = index;
  options.body = body_;
  options.connect_timeout = 3 * kNanosecondsPerSecond;
  options.on_connected = [this, queue] {
    queue->connected = true;
    OnQueueConnected();
  };
  options.on_drained = [this, queue] {
    queue->drained = true;
    OnQueueDrained();
  };
  options.on_ended = [this, queue](const absl::Status& why) { OnQueueEnded(queue, why); };
  WithCodec(plan_.dialect,
            [&]<Codec C>() { queue->connection = AddQueueEngine<C>(std::move(options), queue); });
}

template <Codec C>
Connection* SimAttempt::AddQueueEngine(InitiatorVirtqueueOptions options, Queue* queue) {
  auto on_finished = [queue] { queue->connection = nullptr; };
  if (is_keyed()) {
    auto engine = std::make_unique<InitiatorVirtqueueKeyed<C>>(
        std::move(options), KeyedOptions(AgreedKeyedLimits(info_)), queue->queue);
    queue->drain = [e = engine.get()] { e->Drain(); };
    return AddMessages(std::move(engine), std::move(on_finished));
  }
  auto engine = std::make_unique<InitiatorVirtqueueStream<C>>(std::move(options), queue->queue);
  queue->drain = [e = engine.get()] { e->Drain(); };
  return AddStream(std::move(engine), std::move(on_finished));
}

}  // namespace vof
