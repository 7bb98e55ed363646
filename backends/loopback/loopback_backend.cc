// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_backend.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/runtime/message_link.h"
#include "core/runtime/reactor.h"
#include "core/runtime/stream_link.h"

namespace vof {
namespace {

// What an accept that is under way finds when its listener is gone; also while the handler runs,
// which may destroy the listener.
struct Acceptor {
  AcceptHandler accept;
  bool is_open = true;  // only touched on the listener's reactor
};

std::string KeyOf(const Uri& uri) {
  return uri.has_port ? absl::StrCat(uri.host, ":", uri.port) : uri.host;
}

}  // namespace

// Listeners by host and port; under `mutex`.
class LoopbackUniverse {
 public:
  struct Place {
    Reactor* reactor;
    std::shared_ptr<Acceptor> acceptor;
  };

  std::mutex mutex;
  std::map<std::string, Place> places;
  uint64_t num_dialled = 0;
  // The one adapter of this fabric. Not under the mutex.
  std::shared_ptr<FabricDomain> domain;
};

namespace {

class LoopbackListener final : public Listener {
 public:
  LoopbackListener(std::shared_ptr<LoopbackUniverse> universe, std::string key, Uri address,
                   std::shared_ptr<Acceptor> acceptor)
      : universe_(std::move(universe)),
        key_(std::move(key)),
        address_(std::move(address)),
        acceptor_(std::move(acceptor)) {}
  ~LoopbackListener() override {
    {
      std::lock_guard<std::mutex> lock(universe_->mutex);
      universe_->places.erase(key_);
    }
    acceptor_->is_open = false;
  }

  const Uri& address() const override { return address_; }

 private:
  const std::shared_ptr<LoopbackUniverse> universe_;
  const std::string key_;
  const Uri address_;
  const std::shared_ptr<Acceptor> acceptor_;
};

std::unique_ptr<Link> MakeLink(LoopbackStream stream) {
  return std::make_unique<StreamLink<LoopbackStream>>(std::move(stream));
}

std::unique_ptr<Link> MakeLink(FabricChannel channel, std::shared_ptr<FabricDomain> domain) {
  return std::make_unique<MessageLink<FabricChannel>>(
      std::make_unique<FabricChannel>(std::move(channel)), std::move(domain));
}

void PostAccept(const LoopbackUniverse::Place& place, std::unique_ptr<Link> server) {
  // std::function wants to copy what it holds; a link cannot be.
  auto link = std::make_shared<std::unique_ptr<Link>>(std::move(server));
  place.reactor->Post([acceptor = place.acceptor, link] {
    if (acceptor->is_open) acceptor->accept(std::move(*link));
  });
}

}  // namespace

LoopbackBackend::LoopbackBackend(const LoopbackOptions& options, Faults faults,
                                 const FabricOptions& fabric, const FabricDomainOptions& domain)
    : options_(options),
      faults_(std::move(faults)),
      fabric_(fabric),
      universe_(std::make_shared<LoopbackUniverse>()) {
  universe_->domain = std::make_shared<FabricDomain>(domain);
}

absl::StatusOr<std::unique_ptr<Listener>> LoopbackBackend::Listen(const Uri& uri, Reactor* reactor,
                                                                  AcceptHandler accept) {
  auto acceptor = std::make_shared<Acceptor>(Acceptor{std::move(accept), true});
  const std::string key = KeyOf(uri);
  {
    std::lock_guard<std::mutex> lock(universe_->mutex);
    if (!universe_->places.emplace(key, LoopbackUniverse::Place{reactor, acceptor}).second) {
      return absl::AlreadyExistsError(
          absl::StrCat("cannot listen on loop://", key, "/: this process listens there already"));
    }
  }
  Uri address;
  address.scheme = "loop";
  address.host = uri.host;
  address.port = uri.port;
  address.has_port = uri.has_port;
  return std::make_unique<LoopbackListener>(universe_, key, std::move(address),
                                            std::move(acceptor));
}

absl::StatusOr<uint64_t> LoopbackBackend::Meet(const Uri& uri, std::unique_ptr<Link> server) {
  const std::string key = KeyOf(uri);
  // Held while posting: a listener, and so its reactor, does not go away meanwhile.
  const std::lock_guard<std::mutex> lock(universe_->mutex);
  const auto it = universe_->places.find(key);
  if (it == universe_->places.end()) {
    std::string known;
    for (const auto& place : universe_->places) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", "loop://", place.first, "/");
    }
    return absl::UnavailableError(
        absl::StrCat("cannot connect: nothing in this process listens on loop://", key,
                     "/ (listening: ", known.empty() ? "none" : known, ")"));
  }
  PostAccept(it->second, std::move(server));
  return universe_->num_dialled++;
}

absl::StatusOr<std::unique_ptr<Link>> LoopbackBackend::Dial(const Uri& uri, MonotonicTime) {
  if (uri.options.transmission == Transmission::kKeyed) {
    FabricDomain* domain = universe_->domain.get();
    auto [client, server] = MakeFabricPair(domain, domain, fabric_);
    const absl::StatusOr<uint64_t> nth = Meet(uri, MakeLink(std::move(server), universe_->domain));
    if (!nth.ok()) return nth.status();
    return MakeLink(std::move(client), universe_->domain);
  }
  auto [client, server] = MakeLoopbackPair(options_);
  const absl::StatusOr<uint64_t> nth = Meet(uri, MakeLink(std::move(server)));
  if (!nth.ok()) return nth.status();
  if (!faults_) return MakeLink(std::move(client));
  using Faulty = FaultyStream<LoopbackStream>;
  return std::make_unique<StreamLink<Faulty>>(Faulty(std::move(client), faults_(*nth)));
}

void RegisterLoopback(BackendRegistry& registry, const LoopbackOptions& options) {
  registry.Add(std::make_unique<LoopbackBackend>(options));
}

}  // namespace vof
