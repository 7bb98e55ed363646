// SPDX-License-Identifier: Apache-2.0
//
// Each call of the libraries fails once, at every place where it is made: listening, dialling,
// accepting, moving data, closing. Somebody is told why, nothing leaks, every post comes back.
#include <gtest/gtest.h>

#include <cerrno>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/verbs/testing/fake_verbs.h"
#include "backends/verbs/verbs_dialer.h"
#include "backends/verbs/verbs_listener.h"
#include "core/base/time.h"
#include "core/runtime/reactor.h"
#include "testing/conformance/channel_harness.h"

namespace vof {
namespace {

struct Failing {
  std::string_view name;
  bool harmless = false;  // the connection works all the same
  bool shared = false;    // made with shared receives only
};

// The calls that can fail; those that end something are not among them.
constexpr Failing kFailing[] = {
    {"CreateEventChannel"},
    {"GetEvent", true},
    {"CreateId"},
    {"MigrateId"},
    {"BindAddress"},
    {"Listen"},
    {"ResolveAddress"},
    {"AddressResolved"},
    {"ResolveRoute"},
    {"RouteResolved"},
    {"Connect"},
    {"Accept"},
    {"Disconnect", true},
    {"CreateQueuePair"},
    {"QueryDevice"},
    {"AllocateDomain"},
    {"RegisterMemory"},
    {"CreateCompletionChannel"},
    {"CreateCompletionQueue"},
    {"RequestNotification"},
    {"GetCompletionEvent", true},
    {"Poll"},
    {"ModifyQueuePair", true},
    {"PostSend"},
    {"PostReceive"},
    {"CreateSharedReceiveQueue", false, true},
    {"PostSharedReceive", false, true},
};

// One connection from its beginning to its end.
class Scenario {
 public:
  Scenario(std::shared_ptr<FakeVerbs> fake, const VerbsOptions& options)
      : fake_(std::move(fake)), setup_(std::make_shared<VerbsSetup>(fake_, options)) {
    reactor_ = *Reactor::Create({.pool_bytes = kMinPoolBytes});
  }

  // What anybody was told; empty when all went well.
  std::string Run() {
    Listen();
    if (listener_ != nullptr) Dial();
    if (client_ != nullptr && server_ != nullptr) Talk();
    client_.reset();
    server_.reset();
    listener_.reset();
    return told_;
  }

 private:
  void Tell(std::string_view what) { absl::StrAppend(&told_, std::string(what), "\n"); }

  void Listen() {
    auto listener = VerbsListener::Open(
        *ParseUri("verbs://127.0.0.1:0/"),
        {.setup = setup_,
         .resolver = SystemResolver(),
         .reactor = reactor_.get(),
         .accept = [this](std::unique_ptr<VerbsChannel> c) { server_ = std::move(c); },
         .on_trouble = [this](std::string_view line) { Tell(line); }});
    if (listener.ok()) {
      listener_ = *std::move(listener);
    } else {
      Tell(listener.status().ToString());
    }
  }

  void Dial() {
    auto dialling = std::async(std::launch::async, [this] {
      return DialVerbs(listener_->address(), setup_.get(), SystemResolver(),
                       MonotonicNow() + 10 * kNanosecondsPerSecond);
    });
    while (dialling.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      reactor_->RunOnce(Milliseconds(1));
    }
    for (int i = 0; i < 5; ++i) reactor_->RunOnce(0);
    auto dialled = dialling.get();
    if (dialled.ok()) {
      client_ = *std::move(dialled);
    } else {
      Tell(dialled.status().ToString());
    }
  }

  void Talk() {
    Bytes memory(4096, std::byte{1});
    auto region = client_->domain()->Register(MutableBuffer(memory.data(), memory.size()),
                                              Access::kRemoteReadWrite);
    if (!region.ok()) return Tell(region.status().ToString());
    for (VerbsChannel* channel : {server_.get(), client_.get()}) {
      if (absl::Status s = channel->SetReceiveDepth(8); !s.ok()) return Tell(s.ToString());
    }
    const LocalBuffer local{memory.data(), 1000, region->local_key()};
    const RemoteBuffer remote{region->RemoteAddress(memory.data() + 2048), 1000,
                              region->remote_key()};
    const std::span<const LocalBuffer> one(&local, 1);
    int owed = 0;
    int returned = 0;
    for (uint64_t round = 0; round < 3; ++round) {
      owed += client_->PostStore(one, remote, 1) == PostStatus::kOk;
      owed += client_->PostFetch(one, remote, 2) == PostStatus::kOk;
      owed += client_->PostSend(one, 3) == PostStatus::kOk;
      client_->Flush();
      for (int turn = 0; turn < 200; ++turn) {
        returned += Reap(client_.get());
        Reap(server_.get());
      }
      client_->Arm();
      server_->Arm();
    }
    client_->Close();
    for (int turn = 0; turn < 200; ++turn) {
      returned += Reap(client_.get());
      Reap(server_.get());
    }
    EXPECT_EQ(returned, owed) << "every post comes back once";
    EXPECT_TRUE(client_->drained());
    for (VerbsChannel* channel : {server_.get(), client_.get()}) {
      const std::string& error = channel->error();
      // When its end could not be told to the peer, that one learns of it from the id's.
      if (error.empty()) continue;
      if (error != "it was closed" && error != "the peer closed the connection") Tell(error);
    }
  }

  static int Reap(VerbsChannel* channel) {
    std::array<ChannelEvent, 8> events;
    int posts = 0;
    for (const ChannelEvent& event : channel->Reap(events)) {
      if (event.kind == ChannelEventKind::kReceived) {
        channel->ReturnReceive(event.tag);
      } else if (event.kind != ChannelEventKind::kDisconnected) {
        ++posts;
      }
    }
    return posts;
  }

  const std::shared_ptr<FakeVerbs> fake_;
  const std::shared_ptr<VerbsSetup> setup_;
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<VerbsListener> listener_;
  std::unique_ptr<VerbsChannel> client_;
  std::unique_ptr<VerbsChannel> server_;
  std::string told_;
};

class VerbsFailuresTest : public testing::TestWithParam<bool> {};

TEST_P(VerbsFailuresTest, EveryCallFailsAtEveryPlace) {
  VerbsOptions options;
  options.shared_receives = GetParam();
  auto clean = std::make_shared<FakeVerbs>();
  ASSERT_EQ(Scenario(clean, options).Run(), "");
  ASSERT_EQ(clean->LiveObjects(), "");
  int places = 0;
  for (const Failing& failing : kFailing) {
    const std::string name(failing.name);
    if (failing.shared && !GetParam()) continue;
    // How often an event is asked for depends on timing.
    const int calls = std::min(clean->NumCalls(name), 20);
    if (name != "PostReceive" || !GetParam()) {
      ASSERT_GT(calls, 0) << name << " is never called";
    }
    for (int nth = 0; nth < calls; ++nth) {
      SCOPED_TRACE(absl::StrCat(name, " number ", nth));
      auto fake = std::make_shared<FakeVerbs>();
      fake->FailCall(name, nth, EIO);
      const std::string told = Scenario(fake, options).Run();
      EXPECT_EQ(told.empty(), failing.harmless) << told;
      EXPECT_EQ(fake->LiveObjects(), "");
      EXPECT_EQ(fake->Misuse(), "");
      ++places;
    }
  }
  EXPECT_GT(places, 60);
}

INSTANTIATE_TEST_SUITE_P(Receives, VerbsFailuresTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "Shared" : "Own");
});

}  // namespace
}  // namespace vof
