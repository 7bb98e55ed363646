// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/target.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/target_connection.h"

namespace vof {
namespace {

// A virtqueue weighs more than a connection that may become one, or a control queue.
constexpr int kVirtqueueWeight = 16;
// How often a drain looks again, should it miss the end of a connection.
constexpr auto kDrainCheckInterval = std::chrono::milliseconds(20);

}  // namespace

// One reactor and what it serves. `connections` belongs to the reactor's thread.
struct TargetServer::Shard {
  std::unique_ptr<ReactorThread> thread;
  std::atomic<int> load{0};
  std::atomic<size_t> num_connections{0};
  std::unordered_map<Connection*, TargetConnection*> connections;
};

TargetServer::TargetServer(TargetServerOptions options, BackendRegistry* registry)
    : options_(std::move(options)),
      registry_(registry),
      directory_(std::make_unique<TargetDirectory>(options_.limits)) {}

absl::StatusOr<std::unique_ptr<TargetServer>> TargetServer::Start(TargetServerOptions options,
                                                                  BackendRegistry* registry) {
  if (options.reactors < 1 || options.reactors > kMaxReactors) {
    return absl::InvalidArgumentError(absl::StrCat("number of reactors is ", options.reactors,
                                                   ", allowed are 1 to ", kMaxReactors));
  }
  std::unique_ptr<TargetServer> server(new TargetServer(std::move(options), registry));
  const TargetServerOptions& o = server->options_;
  for (int i = 0; i < o.reactors; ++i) {
    ReactorOptions reactor;
    reactor.name = absl::StrCat("target-", i);
    reactor.busy_poll = o.busy_poll;
    reactor.spin = o.spin;
    if (!o.cpus.empty()) reactor.cpu = o.cpus[static_cast<size_t>(i) % o.cpus.size()];
    reactor.pool_bytes = o.pool_bytes;
    absl::StatusOr<std::unique_ptr<ReactorThread>> thread = ReactorThread::Start(reactor);
    if (!thread.ok()) return thread.status();
    server->shards_.push_back(std::make_unique<Shard>());
    server->shards_.back()->thread = *std::move(thread);
  }
  return server;
}

TargetServer::~TargetServer() { Stop(); }

absl::Status TargetServer::AddDevice(std::string_view name, std::shared_ptr<Device> device,
                                     DeviceOptions device_options) {
  return directory_->AddDevice(name, std::move(device), std::move(device_options));
}

absl::Status TargetServer::RemoveDevice(std::string_view name) {
  return directory_->RemoveDevice(name);
}

absl::StatusOr<Uri> TargetServer::Listen(std::string_view uri) {
  absl::StatusOr<Uri> parsed = ParseUri(uri);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<Backend*> backend = registry_->Find(parsed->scheme);
  if (!backend.ok()) return backend.status();
  ReactorThread* thread = shards_[0]->thread.get();
  absl::StatusOr<std::unique_ptr<Listener>> listener;
  thread->RunAndWait([&] {
    listener = (*backend)->Listen(*parsed, thread->reactor(),
                                  [this](std::unique_ptr<Link> link) { Accept(std::move(link)); });
  });
  if (!listener.ok()) return listener.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  listeners_.push_back(*std::move(listener));
  return listeners_.back()->address();
}

absl::Status TargetServer::StopListening(const Uri& address) {
  std::unique_ptr<Listener> listener;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string text = FormatUri(address);
    const auto it = std::find_if(listeners_.begin(), listeners_.end(),
                                 [&](const auto& l) { return FormatUri(l->address()) == text; });
    if (it == listeners_.end()) {
      return absl::NotFoundError(absl::StrCat("nothing listens at ", text));
    }
    listener = std::move(*it);
    listeners_.erase(it);
  }
  shards_[0]->thread->RunAndWait([&] { listener.reset(); });
  return absl::OkStatus();
}

std::vector<Uri> TargetServer::Addresses() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Uri> addresses;
  addresses.reserve(listeners_.size());
  for (const auto& listener : listeners_) addresses.push_back(listener->address());
  return addresses;
}

std::vector<std::string> TargetServer::DeviceUris(std::string_view name) const {
  std::vector<std::string> uris;
  for (Uri& address : Addresses()) {
    address.name = std::string(name);
    uris.push_back(FormatUri(address));
  }
  return uris;
}

// On the listener's reactor.
void TargetServer::Accept(std::unique_ptr<Link> link) {
  Shard* shard = LeastLoaded();
  ++shard->load;
  ++shard->num_connections;
  // std::function wants copyable work.
  auto shared = std::make_shared<std::unique_ptr<Link>>(std::move(link));
  shard->thread->reactor()->Post([this, shard, shared] {
    Reactor* reactor = shard->thread->reactor();
    EngineHost host;
    host.executor = reactor;
    host.pool = &reactor->pool();
    std::unique_ptr<Link> taken = std::move(*shared);
    auto engine =
        std::make_unique<TargetConnection>(host, directory_.get(), taken->peer(), reactor->now());
    TargetConnection* raw = engine.get();
    auto weight = std::make_shared<int>(1);
    raw->set_on_virtqueue([shard, weight] {
      *weight = kVirtqueueWeight;
      shard->load += kVirtqueueWeight - 1;
    });
    std::unique_ptr<Connection> connection = taken->Attach(std::move(engine));
    shard->connections[connection.get()] = raw;
    reactor->Add(std::move(connection), [this, shard, weight](Connection* ended) {
      shard->connections.erase(ended);
      shard->load -= *weight;
      --shard->num_connections;
      connection_ended_.notify_all();
      if (options_.on_connection_end) options_.on_connection_end(ended->Describe());
    });
  });
}

TargetServer::Shard* TargetServer::LeastLoaded() {
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

size_t TargetServer::num_connections() const {
  size_t total = 0;
  for (const auto& shard : shards_) total += shard->num_connections.load();
  return total;
}

void TargetServer::CloseListeners() {
  std::vector<std::unique_ptr<Listener>> closing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing.swap(listeners_);
  }
  if (closing.empty()) return;
  shards_[0]->thread->RunAndWait([&] { closing.clear(); });
}

bool TargetServer::Drain(Nanoseconds limit) {
  if (stopped_) return true;
  const MonotonicTime deadline = DeadlineAfter(MonotonicNow(), limit);
  CloseListeners();
  // A control queue takes its instance with it, so the virtqueues answer first.
  for (const bool only_virtqueues : {true, false}) {
    if (!WaitUntilGone(only_virtqueues, deadline)) return false;
  }
  return true;
}

bool TargetServer::WaitUntilGone(bool only_virtqueues, MonotonicTime deadline) {
  while (true) {
    size_t left = 0;
    for (const auto& shard : shards_) {
      shard->thread->RunAndWait([&] {
        for (const auto& [connection, engine] : shard->connections) {
          if (only_virtqueues && !engine->is_virtqueue()) continue;
          engine->BeginDrain();
          ++left;
        }
      });
    }
    // Links on their way to a reactor are counted too, and found there in the next round.
    if (!only_virtqueues) left = std::max(left, num_connections());
    if (left == 0) return true;
    if (MonotonicNow() >= deadline) return false;
    WaitForAnEnd();
  }
}

void TargetServer::WaitForAnEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  connection_ended_.wait_for(lock, kDrainCheckInterval);
}

void TargetServer::Stop() {
  if (stopped_) return;
  stopped_ = true;
  if (shards_.empty()) return;
  CloseListeners();
  // Queues of one instance reach each other across reactors, so all of them end before any reactor
  // does.
  while (num_connections() > 0) {
    for (const auto& shard : shards_) {
      Reactor* reactor = shard->thread->reactor();
      shard->thread->RunAndWait([&] {
        reactor->ForEachConnection(
            [&](Connection* c) { c->Close(CloseReason::kLocal, reactor->now()); });
      });
    }
    WaitForAnEnd();
  }
  // Work posted by the last of them may hold places of the directory: it runs before that goes.
  for (int round = 0; round < 2; ++round) {
    for (const auto& shard : shards_) shard->thread->RunAndWait([] {});
  }
  for (const auto& shard : shards_) shard->thread->Stop();
  directory_.reset();
  shards_.clear();
}

}  // namespace vof
