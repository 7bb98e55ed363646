// SPDX-License-Identifier: Apache-2.0
//
// Makers of connected pairs over providers of libfabric, by way of the backend: a listener, a dial,
// and what each gave.
//
//   absl::StatusOr<ChannelPair<OfiChannel>> pair = OfiTcpPairMaker::Make();
#ifndef VOF_TESTING_CONFORMANCE_OFI_PAIRS_H_
#define VOF_TESTING_CONFORMANCE_OFI_PAIRS_H_

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/ofi/ofi_backend.h"
#include "backends/ofi/ofi_channel.h"
#include "core/base/time.h"
#include "core/runtime/message_link.h"
#include "core/runtime/reactor.h"
#include "testing/conformance/channel_pair.h"

namespace vof {

// A listener on this machine, and pairs that come from it. One thread.
class OfiPairFactory {
 public:
  explicit OfiPairFactory(const OfiOptions& options)
      : backend_(SystemResolver(), nullptr, options) {}
  static absl::StatusOr<std::unique_ptr<OfiPairFactory>> Create(const std::string& provider,
                                                                const OfiOptions& options) {
    auto factory = std::make_unique<OfiPairFactory>(options);
    absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create({.name = "listener"});
    if (!reactor.ok()) return reactor.status();
    factory->reactor_ = *std::move(reactor);
    Uri uri;
    uri.scheme = "ofi";
    uri.host = "127.0.0.1";
    uri.port = 0;
    uri.options.provider = provider;
    absl::StatusOr<std::unique_ptr<Listener>> listener = factory->backend_.Listen(
        uri, factory->reactor_.get(), [factory = factory.get()](std::unique_ptr<Link> link) {
          factory->accepted_ = std::move(link);
        });
    if (!listener.ok()) return listener.status();
    factory->listener_ = *std::move(listener);
    return factory;
  }

  absl::StatusOr<ChannelPair<OfiChannel>> MakePair() {
    accepted_.reset();
    std::future<absl::StatusOr<std::unique_ptr<Link>>> dialed = std::async([this] {
      return backend_.Dial(listener_->address(), DeadlineAfter(MonotonicNow(), kPatience));
    });
    const MonotonicTime give_up = DeadlineAfter(MonotonicNow(), kPatience);
    const auto is_dialed = [&] {
      return dialed.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    while ((accepted_ == nullptr || !is_dialed()) && MonotonicNow() < give_up) {
      reactor_->RunOnce(Milliseconds(1));
    }
    absl::StatusOr<std::unique_ptr<Link>> link = dialed.get();
    if (!link.ok()) return link.status();
    if (accepted_ == nullptr) return absl::DeadlineExceededError("the listener accepted nothing");
    return ChannelPair<OfiChannel>{(*link)->domain(), accepted_->domain(), Channel(**link),
                                   Channel(*accepted_)};
  }

  Reactor& reactor() { return *reactor_; }
  const Uri& address() const { return listener_->address(); }

 private:
  static constexpr Nanoseconds kPatience = 10 * kNanosecondsPerSecond;
  static std::unique_ptr<OfiChannel> Channel(Link& link) {
    return dynamic_cast<MessageLink<OfiChannel>&>(link).TakeChannel();
  }

  OfiBackend backend_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Link> accepted_;
};

template <typename Provider>
struct OfiPairMaker : ChannelPromises {
  using Channel = OfiChannel;
  static absl::StatusOr<ChannelPair<OfiChannel>> Make() {
    // One for the whole test program.
    static OfiPairFactory* const factory = [] {
      absl::StatusOr<std::unique_ptr<OfiPairFactory>> created =
          OfiPairFactory::Create(Provider::kName, Provider::kOptions);
      EXPECT_TRUE(created.ok()) << created.status();
      return created.ok() ? created->release() : nullptr;
    }();
    if (factory == nullptr) return absl::UnavailableError("no listener");
    return factory->MakePair();
  }
};

struct DefaultOptions {
  static constexpr OfiOptions kOptions = {};
};
struct TcpProvider : DefaultOptions {
  static constexpr const char* kName = "tcp";
};
// Both ends take their receives from one context.
struct SharedTcpProvider {
  static constexpr const char* kName = "tcp";
  static constexpr OfiOptions kOptions = {.shared_receives = true, .max_shared_receives = 1024};
};
struct NetProvider : DefaultOptions {
  static constexpr const char* kName = "net";
};
struct SocketsProvider : DefaultOptions {
  static constexpr const char* kName = "sockets";
};
struct ShmProvider : DefaultOptions {
  static constexpr const char* kName = "shm";
};

// Over sockets of the kernel: what is written is reported, what is refused ends the connection; an
// immediate is an event without a receive; and a message that waits keeps what is behind it, the
// end included, from being read.
template <typename Provider>
struct OfiKernelPairMaker : OfiPairMaker<Provider> {
  static constexpr bool kConfirmsPosts = false;
  static constexpr bool kImmediateTakesReceive = false;
  static constexpr bool kNoticesEndBehindMessages = false;
};
using OfiTcpPairMaker = OfiKernelPairMaker<TcpProvider>;
using OfiSharedTcpPairMaker = OfiKernelPairMaker<SharedTcpProvider>;
using OfiNetPairMaker = OfiKernelPairMaker<NetProvider>;
// Its thread takes messages off the connections, whatever they wait for.
struct OfiSocketsPairMaker : OfiPairMaker<SocketsProvider> {
  static constexpr int kSpareDescriptors = 8;
  static constexpr bool kConfirmsPosts = false;
  static constexpr bool kMessagesHoldBack = false;
  static constexpr bool kImmediateTakesReceive = false;
};
// Queues in memory: messages wait in the provider, stores pass them, and an access that is refused
// is dropped in silence.
struct OfiShmPairMaker : OfiPairMaker<ShmProvider> {
  static constexpr bool kConfirmsPosts = false;
  static constexpr bool kMessagesHoldBack = false;
  static constexpr bool kImmediateTakesReceive = false;
  static constexpr bool kRefusalsBreak = false;
  // Each maps megabytes, and lingers: more of them at a time are refused on a busy machine.
  static constexpr int kManyPairs = 30;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_OFI_PAIRS_H_
