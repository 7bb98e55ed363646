// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/target_shards.h"

#include <chrono>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/headroom.h"
#include "core/engine/target_connection.h"
#include "core/engine/target_events.h"
#include "core/engine/target_messages.h"

namespace vof {
namespace {

// A virtqueue weighs more than a connection that may become one, or a control queue.
constexpr int kVirtqueueWeight = 16;
// How often a drain looks again: a session takes three looks to end in order.
constexpr auto kCheckInterval = std::chrono::milliseconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<TargetShards>> TargetShards::Start(
    const TargetServerOptions& options) {
  std::unique_ptr<TargetShards> shards(new TargetShards(options));
  for (int i = 0; i < options.reactors; ++i) {
    ReactorOptions reactor;
    reactor.name = absl::StrCat("target-", i);
    reactor.busy_poll = options.busy_poll;
    reactor.spin = options.spin;
    if (!options.cpus.empty()) {
      reactor.cpu = options.cpus[static_cast<size_t>(i) % options.cpus.size()];
    }
    reactor.pool_bytes = options.pool_bytes;
    absl::StatusOr<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(reactor);
    if (!thread.ok()) return thread.status();
    shards->shards_.push_back(std::make_unique<Shard>());
    shards->shards_.back()->thread = *std::move(thread);
    shards->shards_.back()->observer = options.observer;
    shards->pulse_->Add(shards->shards_.back()->thread->reactor());
  }
  return shards;
}

// A start that failed comes here without Shutdown.
TargetShards::~TargetShards() { pulse_->Close(); }

void TargetShards::Accept(std::unique_ptr<Link> link) {
  Shard* shard = LeastLoaded();
  ++shard->load;
  ++shard->num_connections;
  // std::function wants copyable work.
  auto shared = std::make_shared<std::unique_ptr<Link>>(std::move(link));
  shard->thread->reactor()->Post([this, shard, shared] { Attach(shard, std::move(*shared)); });
}

absl::StatusOr<TargetShards::Served> TargetShards::MakeEngine(Shard* shard, Link* link) {
  Reactor* reactor = shard->thread->reactor();
  const EngineHost host{.executor = reactor, .pool = &reactor->pool()};
  Served served;
  const auto hand_over = [&](auto engine, auto attach) {
    served.engine = engine.get();
    served.endpoint = &engine->endpoint();
    served.connection = attach(std::move(engine));
  };
  if (link->transmission() == Transmission::kStream) {
    hand_over(
        std::make_unique<TargetConnection>(host, &directory_, link->peer(), reactor->now()),
        [&](std::unique_ptr<StreamEngine> engine) { return link->Attach(std::move(engine)); });
    return served;
  }
  const absl::StatusOr<const RegionMap*> regions =
      reactor->registrations().For(link->domain(), Access::kLocal);
  if (!regions.ok()) return regions.status();
  const KeyedHost keyed{.regions = *regions, .lend = LendTo(shard, link->domain())};
  hand_over(
      std::make_unique<TargetMessages>(host, keyed, &directory_, link->peer(), reactor->now()),
      [&](std::unique_ptr<MessageEngine> engine) {
        return link->AttachMessages(std::move(engine));
      });
  return served;
}

void TargetShards::Report(Shard* shard, const TargetEvent& event) {
  shard->counters.Count(event);
  if (shard->observer) shard->observer(event);
}

LendMemoryFunction TargetShards::LendTo(Shard* shard, std::shared_ptr<Domain> domain) {
  return [this, shard, domain = std::move(domain)](const InstanceIdentity& identity) {
    const ReactorPulse::Excuse excuse(*pulse_, shard->thread->reactor());
    LentRegistrations::Outcome outcome = lent_.For(domain, identity.device);
    if (!outcome.failure.ok()) {
      TargetEvent event;
      event.kind = TargetEventKind::kResultsCopied;
      event.target_name = identity.body.target_name;
      event.why = std::string(outcome.failure.message());
      Report(shard, event);
    }
    return std::move(outcome.regions);
  };
}

absl::StatusOr<TargetShards::Served> TargetShards::TryMakeEngine(Shard* shard, Link* link) {
  try {
    const Headroom headroom;
    return MakeEngine(shard, link);
  } catch (const std::bad_alloc&) {  // those that there are go on
    return absl::ResourceExhaustedError("there is no memory for it");
  }
}

void TargetShards::Attach(Shard* shard, std::unique_ptr<Link> link) {
  const TargetObserver report = [shard](const TargetEvent& event) { Report(shard, event); };
  absl::StatusOr<Served> served = TryMakeEngine(shard, link.get());
  if (!served.ok()) {
    TargetEvent event;
    if (absl::IsResourceExhausted(served.status())) event.cause = Cause::kLimit;
    event.kind = TargetEventKind::kConnectionUnused;
    event.peer = link->peer().Text();
    event.why = std::string(served.status().message());
    report(event);
    return OnEnded(shard, /*weight=*/1);
  }
  served->endpoint->set_observer(report);
  auto weight = std::make_shared<int>(1);
  served->endpoint->set_on_virtqueue([shard, weight] {
    *weight = kVirtqueueWeight;
    shard->load += kVirtqueueWeight - 1;
  });
  std::unique_ptr<Connection> connection = std::move(served->connection);
  TargetEndpoint* endpoint = served->endpoint;
  shard->connections[connection.get()] = *std::move(served);
  shard->thread->reactor()->Add(std::move(connection),
                                [this, shard, weight, endpoint](Connection* ended) {
                                  shard->counters.io += endpoint->counters();
                                  shard->connections.erase(ended);
                                  OnEnded(shard, *weight);
                                });
}

void TargetShards::OnEnded(Shard* shard, int weight) {
  shard->load -= weight;
  // Under the lock to the end: who sees the last one go may destroy all this.
  const std::lock_guard<std::mutex> lock(mutex_);
  ++num_ended_;
  --shard->num_connections;
  connection_ended_.notify_all();
}

TargetShards::Shard* TargetShards::LeastLoaded() {
  const size_t first = next_shard_.fetch_add(1, std::memory_order_relaxed);
  Shard* best = shards_[first % shards_.size()].get();
  for (size_t i = 1; i < shards_.size(); ++i) {
    Shard* other = shards_[(first + i) % shards_.size()].get();
    if (other->load.load(std::memory_order_relaxed) < best->load.load(std::memory_order_relaxed)) {
      best = other;
    }
  }
  return best;
}

size_t TargetShards::num_connections() const {
  size_t total = 0;
  for (const auto& shard : shards_) total += shard->num_connections.load();
  return total;
}

void TargetShards::OnEach(const std::function<void(Shard*)>& work) {
  for (const auto& shard : shards_) shard->thread->RunAndWait([&] { work(shard.get()); });
}

TargetCounters TargetShards::Counters() {
  TargetCounters total;
  OnEach([&](Shard* shard) {
    total += shard->counters;
    for (const auto& [connection, served] : shard->connections)
      total.io += served.endpoint->counters();
  });
  return total;
}

void TargetShards::TrimPools() {
  for (const auto& shard : shards_) {
    Reactor* const reactor = shard->thread->reactor();
    reactor->Post([reactor] { reactor->pool().Trim(); });
  }
}

void TargetShards::DrainSome(Nanoseconds stall_timeout) {
  OnEach([&](Shard* shard) {
    const MonotonicTime now = shard->thread->reactor()->now();
    for (const auto& [connection, served] : shard->connections) {
      if (!served.endpoint->has_virtqueues()) served.endpoint->BeginDrain(stall_timeout);
      if (served.drained_idle()) connection->Close(CloseReason::kLocal, now);
    }
  });
}

void TargetShards::CloseAll() {
  OnEach([](Shard* shard) {
    const MonotonicTime now = shard->thread->reactor()->now();
    for (const auto& [connection, served] : shard->connections) {
      connection->Close(CloseReason::kLocal, now);
    }
  });
}

void TargetShards::WaitForAnEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  connection_ended_.wait_for(lock, kCheckInterval);
}

void TargetShards::GiveUp() {
  OnEach([](Shard* shard) {
    for (const auto& [connection, served] : shard->connections) served.endpoint->ReportHeld();
    shard->observer = nullptr;
  });
}

void TargetShards::Shutdown() {
  // Work posted by the last connections may hold places of the directory: it runs before that goes.
  for (int round = 0; round < 2; ++round) {
    OnEach([](Shard*) {});
  }
  pulse_->Close();
  for (const auto& shard : shards_) shard->thread->Stop();
}

}  // namespace vof
