// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/target.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/runtime/target_shards.h"

namespace vof {

TargetServer::TargetServer(TargetServerOptions options, BackendRegistry* registry,
                           std::unique_ptr<TargetShards> shards)
    : options_(std::move(options)),
      registry_(registry),
      shards_(std::move(shards)),
      pulse_(shards_->pulse()) {}

absl::StatusOr<std::unique_ptr<TargetServer>> TargetServer::Start(TargetServerOptions options,
                                                                  BackendRegistry* registry) {
  if (options.reactors < 1 || options.reactors > kMaxReactors) {
    return absl::InvalidArgumentError(absl::StrCat("number of reactors is ", options.reactors,
                                                   ", allowed are 1 to ", kMaxReactors));
  }
  auto shards = TargetShards::Start(options);
  if (!shards.ok()) return shards.status();
  return std::unique_ptr<TargetServer>(
      new TargetServer(std::move(options), registry, *std::move(shards)));
}

TargetServer::~TargetServer() { Stop(); }

absl::Status TargetServer::AddDevice(std::string_view name, std::shared_ptr<Device> device,
                                     DeviceOptions device_options) {
  return shards_->directory().AddDevice(name, shards_->lent().Serve(std::move(device)),
                                        std::move(device_options));
}

absl::Status TargetServer::RemoveDevice(std::string_view name) {
  return shards_->directory().RemoveDevice(name);
}

absl::StatusOr<Uri> TargetServer::Listen(std::string_view uri) {
  absl::StatusOr<Uri> parsed = ParseListenerUri(uri);
  if (!parsed.ok()) return parsed.status();
  absl::StatusOr<Backend*> backend = registry_->Find(parsed->scheme);
  if (!backend.ok()) return backend.status();
  ReactorThread* thread = shards_->listening_thread();
  absl::StatusOr<std::unique_ptr<Listener>> listener;
  thread->RunAndWait([&] {
    listener = (*backend)->Listen(
        *parsed, thread->reactor(),
        [shards = shards_.get()](std::unique_ptr<Link> link) { shards->Accept(std::move(link)); });
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
  shards_->listening_thread()->RunAndWait([&] { listener.reset(); });
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

TargetDirectory& TargetServer::directory() { return shards_->directory(); }
TargetCounters TargetServer::Counters() const {
  return shards_ == nullptr ? last_counters_ : shards_->Counters();
}
size_t TargetServer::num_connections() const {
  return shards_ == nullptr ? 0 : shards_->num_connections();
}

uint64_t TargetServer::num_ended_connections() const {
  return shards_ == nullptr ? 0 : shards_->num_ended();
}

void TargetServer::TrimPools() {
  if (shards_ != nullptr) shards_->TrimPools();
}

void TargetServer::CloseListeners() {
  std::vector<std::unique_ptr<Listener>> closing;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing.swap(listeners_);
  }
  if (closing.empty()) return;
  shards_->listening_thread()->RunAndWait([&] { closing.clear(); });
}

bool TargetServer::Drain(Nanoseconds limit) {
  if (shards_ == nullptr) return true;
  const MonotonicTime deadline = DeadlineAfter(MonotonicNow(), limit);
  CloseListeners();
  shards_->directory().BeginDrain();
  while (true) {
    shards_->DrainSome(limit / 2);
    if (shards_->num_connections() == 0) return true;
    if (MonotonicNow() >= deadline) return false;
    shards_->WaitForAnEnd();
  }
}

bool TargetServer::Stop() {
  if (shards_ == nullptr) return true;
  CloseListeners();
  const MonotonicTime deadline = DeadlineAfter(MonotonicNow(), options_.device_timeout);
  // Queues of one instance reach each other across reactors, so all of them end before any reactor
  // does.
  while (shards_->num_connections() > 0 && MonotonicNow() < deadline) {
    shards_->CloseAll();
    shards_->WaitForAnEnd();
  }
  if (shards_->num_connections() == 0) {
    last_counters_ = shards_->Counters();
    shards_->Shutdown();
    shards_.reset();
    return true;
  }
  shards_->GiveUp();
  last_counters_ = shards_->Counters();
  std::thread([shards = std::move(shards_)]() mutable {
    while (shards->num_connections() > 0) shards->WaitForAnEnd();
    shards->Shutdown();
    shards.reset();
  }).detach();
  return false;
}

}  // namespace vof
