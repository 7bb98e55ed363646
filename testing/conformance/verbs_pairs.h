// SPDX-License-Identifier: Apache-2.0
//
// Makers of pairs of verbs channels: each is dialled by one thread and accepted by a listener, as
// in production.
//
//   VerbsPairSource source(RealVerbsCalls(), "10.77.0.1", options);
//   absl::StatusOr<ChannelPair<VerbsChannel>> pair = source.Make();
#ifndef VOF_TESTING_CONFORMANCE_VERBS_PAIRS_H_
#define VOF_TESTING_CONFORMANCE_VERBS_PAIRS_H_

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/verbs/verbs_calls.h"
#include "backends/verbs/verbs_channel.h"
#include "backends/verbs/verbs_dialer.h"
#include "backends/verbs/verbs_listener.h"
#include "backends/verbs/verbs_options.h"
#include "backends/verbs/verbs_setup.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"
#include "core/runtime/uri.h"
#include "testing/conformance/channel_pair.h"

namespace vof {

// The suites decide when the first receive is posted, and need no large queues.
inline VerbsOptions SuiteOptions() {
  VerbsOptions options;
  options.initial_receives = 0;
  options.max_receives = 128;
  options.send_depth = 128;
  return options;
}

class VerbsPairSource {
 public:
  VerbsPairSource(std::shared_ptr<VerbsCalls> calls, const std::string& host,
                  const VerbsOptions& options)
      : setup_(std::make_shared<VerbsSetup>(std::move(calls), options)) {
    uri_.scheme = "verbs";
    uri_.host = host;
    uri_.port = 0;
  }
  ~VerbsPairSource() { listener_.reset(); }

  absl::StatusOr<ChannelPair<VerbsChannel>> Make() {
    if (absl::Status s = Listen(); !s.ok()) return s;
    const MonotonicTime deadline = MonotonicNow() + 20 * kNanosecondsPerSecond;
    std::future<Dialled> dialling = std::async(std::launch::async, [this, deadline] {
      return DialVerbs(listener_->address(), setup_.get(), SystemResolver(), deadline);
    });
    ChannelPair<VerbsChannel> pair;
    while (dialling.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      reactor_->RunOnce(Milliseconds(1));
    }
    Dialled dialled = dialling.get();
    if (!dialled.ok()) return dialled.status();
    pair.a = *std::move(dialled);
    while (accepted_ == nullptr && MonotonicNow() < deadline) reactor_->RunOnce(Milliseconds(1));
    if (accepted_ == nullptr) return absl::DeadlineExceededError("nothing was accepted");
    pair.b = std::move(accepted_);
    pair.domain_a = pair.a->domain();
    pair.domain_b = pair.b->domain();
    return pair;
  }

 private:
  using Dialled = absl::StatusOr<std::unique_ptr<VerbsChannel>>;

  absl::Status Listen() {
    if (listener_ != nullptr) return absl::OkStatus();
    auto reactor = Reactor::Create({.name = "pairs", .pool_bytes = kMinPoolBytes});
    if (!reactor.ok()) return reactor.status();
    reactor_ = *std::move(reactor);
    auto listener = VerbsListener::Open(
        uri_, {.setup = setup_,
               .resolver = SystemResolver(),
               .reactor = reactor_.get(),
               .accept = [this](std::unique_ptr<VerbsChannel> c) { accepted_ = std::move(c); },
               .on_trouble = nullptr});
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    return absl::OkStatus();
  }

  const std::shared_ptr<VerbsSetup> setup_;
  Uri uri_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<VerbsListener> listener_;
  std::unique_ptr<VerbsChannel> accepted_;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_VERBS_PAIRS_H_
