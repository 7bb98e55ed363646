// SPDX-License-Identifier: Apache-2.0
//
// The simulated fabric by itself: what it promises to engines, what it refuses, what it notices.
#include "testing/sim/sim_fabric.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "testing/sim/sim_memory.h"

namespace vof {
namespace {

SimPlan SlowPlan(uint64_t seed) {
  SimPlan plan;
  plan.seed = seed;
  plan.fabric.longest_effect_delay = 50'000;
  plan.fabric.longest_event_delay = 50'000;
  plan.fabric.longest_return_delay = 50'000;
  plan.fabric.early_per_mille = 500;
  return plan;
}

// The target's side of a connection, an initiator's memory, and time.
class World {
 public:
  explicit World(const SimPlan& plan, bool hostile = false)
      : context(plan, false), fabric(&context) {
    pair = fabric.Connect(nullptr, "192.0.2.1", hostile);
    local = Register(fabric.target_domain(), here, Access::kLocal);
  }
  ~World() {
    pair.initiator.reset();
    pair.target.reset();
  }

  static Region Register(SimDomain& domain, std::vector<std::byte>& bytes, Access access) {
    auto region = domain.Register({bytes.data(), bytes.size()}, access);
    EXPECT_TRUE(region.ok()) << region.status();
    return region.ok() ? *std::move(region) : Region();
  }
  LocalBuffer Here(uint32_t offset, uint32_t size) {
    return {here.data() + offset, size, local.local_key()};
  }
  RemoteBuffer There(const Region& region, uint32_t offset, uint32_t size) {
    return {region.RemoteAddress(there.data() + offset), size, region.remote_key()};
  }
  void Pass(Nanoseconds time) {
    context.now += time;
    fabric.Run();
  }
  // What an end has to say within a while.
  std::vector<ChannelEvent> Events(SimChannel& channel) {
    std::vector<ChannelEvent> all;
    std::array<ChannelEvent, 8> events;
    for (int i = 0; i < 400; ++i) {
      for (const ChannelEvent& event : channel.Reap(events)) all.push_back(event);
      Pass(1000);
    }
    return all;
  }
  // Posts by the target, and whether the event said that it was done.
  bool Store(const RemoteBuffer& remote) { return Do(remote, true); }
  bool Fetch(const RemoteBuffer& remote) { return Do(remote, false); }

  SimContext context;
  SimFabric fabric;
  SimFabric::Pair pair;
  std::vector<std::byte> here = std::vector<std::byte>(4096, std::byte{1});
  std::vector<std::byte> there = std::vector<std::byte>(4096, std::byte{2});
  Region local;

 private:
  bool Do(const RemoteBuffer& remote, bool stores) {
    const LocalBuffer buffer = Here(0, remote.size_bytes);
    EXPECT_EQ(stores ? pair.target->PostStore({&buffer, 1}, remote, 7)
                     : pair.target->PostFetch({&buffer, 1}, remote, 7),
              PostStatus::kOk);
    pair.target->Flush();
    for (const ChannelEvent& event : Events(*pair.target)) {
      if (event.tag == 7) return event.ok;
    }
    ADD_FAILURE() << "no event";
    return false;
  }
};

TEST(SimFabricTest, StoresAreThereWhenALaterMessageArrives) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    World world(SlowPlan(seed));
    const Region shown =
        World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteWrite);
    ASSERT_TRUE(world.pair.initiator->SetReceiveDepth(2).ok());
    for (uint32_t i = 0; i < 4; ++i) {
      const LocalBuffer local = world.Here(i * 512, 512);
      ASSERT_EQ(world.pair.target->PostStore({&local, 1}, world.There(shown, i * 1024, 512), i),
                PostStatus::kOk);
    }
    LocalBuffer message = world.Here(0, 16);
    message.local_key = nullptr;  // copied when posted
    ASSERT_EQ(world.pair.target->PostSend({&message, 1}, 4), PostStatus::kOk);
    world.pair.target->Flush();
    bool arrived = false;
    std::array<ChannelEvent, 8> events;
    for (int i = 0; i < 400 && !arrived; ++i) {
      arrived = !world.pair.initiator->Reap(events).empty();
      if (!arrived) world.Pass(1000);
    }
    ASSERT_TRUE(arrived);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(world.there[i * 1024 + 511], std::byte{1});
    uint64_t next = 0;
    for (const ChannelEvent& event : world.Events(*world.pair.target)) {
      EXPECT_TRUE(event.ok);
      EXPECT_EQ(event.tag, next++) << "in the order of posting";
    }
    EXPECT_EQ(next, 5u);
    EXPECT_EQ(world.context.failure, "");
  }
}

// It was due at the very moment when its sender left, and nobody had let it happen yet.
TEST(SimFabricTest, WhatWasReportedEarlyArrivesAlthoughItsSenderLeft) {
  int early = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    World world(SlowPlan(seed));
    ASSERT_TRUE(world.pair.target->SetReceiveDepth(2).ok());
    world.context.now += 100'000;  // the adapter knows of them
    LocalBuffer message = world.Here(0, 16);
    message.local_key = nullptr;
    ASSERT_EQ(world.pair.initiator->PostSend({&message, 1}, 4), PostStatus::kOk);
    world.pair.initiator->Flush();
    world.context.now += 100'000;
    std::array<ChannelEvent, 8> events;
    early += !world.pair.initiator->Reap(events).empty();
    world.pair.initiator.reset();
    const std::vector<ChannelEvent> heard = world.Events(*world.pair.target);
    ASSERT_FALSE(heard.empty());
    EXPECT_EQ(heard.back().kind, ChannelEventKind::kDisconnected);
    EXPECT_EQ(world.context.failure, "");
  }
  EXPECT_GT(early, 5);
}

TEST(SimFabricTest, FetchedBytesAreThereWithTheEventAndGarbageBefore) {
  World world(SlowPlan(1));
  const Region shown =
      World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteRead);
  const LocalBuffer local = world.Here(0, 512);
  ASSERT_EQ(world.pair.target->PostFetch({&local, 1}, world.There(shown, 0, 512), 1),
            PostStatus::kOk);
  EXPECT_NE(world.here[0], std::byte{1});
  EXPECT_NE(world.here[0], std::byte{2});
  world.pair.target->Flush();
  ASSERT_EQ(world.Events(*world.pair.target).size(), 1u);
  EXPECT_EQ(world.here[511], std::byte{2});
  EXPECT_EQ(world.here[512], std::byte{1});
}

TEST(SimFabricTest, KeysAllowWhatTheyWereMadeFor) {
  const auto outcome = [](Access access, bool stores, uint32_t offset, uint32_t size,
                          uint32_t other_key) {
    World world({}, /*hostile=*/true);
    const Region shown = World::Register(world.fabric.initiator_domain(), world.there, access);
    RemoteBuffer remote = world.There(shown, offset, size);
    remote.key ^= other_key;
    const bool done = stores ? world.Store(remote) : world.Fetch(remote);
    EXPECT_EQ(world.context.failure, "") << "a hostile peer's fault is no failure";
    if (!done) {
      const auto events = world.Events(*world.pair.initiator);
      EXPECT_EQ(events.size(), 1u);
      for (const ChannelEvent& event : events) {
        EXPECT_EQ(event.kind, ChannelEventKind::kDisconnected);
      }
    }
    return done;
  };
  EXPECT_TRUE(outcome(Access::kRemoteWrite, true, 0, 4096, 0));
  EXPECT_TRUE(outcome(Access::kRemoteRead, false, 4095, 1, 0));
  EXPECT_TRUE(outcome(Access::kRemoteReadWrite, true, 1, 2, 0));
  EXPECT_FALSE(outcome(Access::kRemoteRead, true, 0, 16, 0));
  EXPECT_FALSE(outcome(Access::kRemoteWrite, false, 0, 16, 0));
  EXPECT_FALSE(outcome(Access::kLocal, false, 0, 16, 0));
  EXPECT_FALSE(outcome(Access::kRemoteWrite, true, 4090, 7, 0));
  EXPECT_FALSE(outcome(Access::kRemoteWrite, true, 0, 16, 1));
}

TEST(SimFabricTest, AKeyEndsWithItsRegion) {
  World world({});
  Region shown =
      World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteWrite);
  const RemoteBuffer remote = world.There(shown, 0, 16);
  EXPECT_TRUE(world.Store(remote));
  shown = Region();
  world.there.assign(world.there.size(), std::byte{3});
  EXPECT_FALSE(world.Store(remote));
  EXPECT_EQ(world.there[0], std::byte{3});
  EXPECT_EQ(world.context.failure, "the target used a key whose region has ended");
}

TEST(SimFabricTest, LocalMemoryHasToBeRegistered) {
  World world({});
  const Region shown =
      World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteWrite);
  LocalBuffer local = world.Here(4000, 128);  // over the end
  EXPECT_EQ(world.pair.target->PostStore({&local, 1}, world.There(shown, 0, 128), 1),
            PostStatus::kClosed);
  EXPECT_NE(world.context.failure, "");
}

TEST(SimFabricTest, AMessageWaitsForAReceive) {
  World world(SlowPlan(2));
  ASSERT_TRUE(world.pair.initiator->SetReceiveDepth(1).ok());
  LocalBuffer message = world.Here(0, 16);
  for (uint64_t tag = 0; tag < 2; ++tag) {
    ASSERT_EQ(world.pair.target->PostSend({&message, 1}, tag), PostStatus::kOk);
  }
  world.pair.target->Flush();
  const auto first = world.Events(*world.pair.initiator);
  ASSERT_EQ(first.size(), 1u);
  world.pair.initiator->ReturnReceive(first[0].tag);
  const auto second = world.Events(*world.pair.initiator);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(second[0].ok);
  EXPECT_EQ(second[0].message.size(), 16u);
}

TEST(SimFabricTest, ABufferThatIsChangedTooEarlyIsNoticed) {
  for (const bool before_it_lands : {true, false}) {
    World world({});
    const Region shown =
        World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteWrite);
    const LocalBuffer local = world.Here(0, 512);
    ASSERT_EQ(world.pair.target->PostStore({&local, 1}, world.There(shown, 0, 512), 1),
              PostStatus::kOk);
    if (before_it_lands) world.here[5] ^= std::byte{1};
    world.pair.target->Flush();
    world.Pass(1000);
    if (!before_it_lands) world.here[5] ^= std::byte{1};
    world.Events(*world.pair.target);
    EXPECT_EQ(world.context.failure, "the target changed a buffer that is posted");
  }
}

TEST(SimFabricTest, ABreakGivesEveryPostBackOnce) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    World world(SlowPlan(seed));
    const Region shown =
        World::Register(world.fabric.initiator_domain(), world.there, Access::kRemoteReadWrite);
    ASSERT_TRUE(world.pair.initiator->SetReceiveDepth(1).ok());
    std::vector<int> back(9);
    for (uint64_t tag = 0; tag < back.size(); ++tag) {
      const LocalBuffer local = world.Here(static_cast<uint32_t>(tag) * 256, 256);
      const RemoteBuffer remote = world.There(shown, static_cast<uint32_t>(tag) * 256, 256);
      const PostStatus status = tag % 3 == 0 ? world.pair.target->PostSend({&local, 1}, tag)
                                : tag % 3 == 1
                                    ? world.pair.target->PostFetch({&local, 1}, remote, tag)
                                    : world.pair.target->PostStore({&local, 1}, remote, tag);
      ASSERT_EQ(status, PostStatus::kOk);
      if (tag == 6) world.pair.target->Flush();
    }
    world.Pass(static_cast<Nanoseconds>(seed) * 2000);
    world.pair.link->Break();
    bool ok = true, told = false;
    for (const ChannelEvent& event : world.Events(*world.pair.target)) {
      if (event.kind == ChannelEventKind::kDisconnected) {
        EXPECT_FALSE(std::exchange(told, true));
        continue;
      }
      ++back[event.tag];
      EXPECT_TRUE(ok || !event.ok) << "behind one that failed";
      ok = event.ok;
    }
    EXPECT_TRUE(told);
    EXPECT_EQ(back, std::vector<int>(9, 1));
    world.pair.target->Close();
    EXPECT_TRUE(world.pair.target->drained());
  }
}

TEST(SimFabricTest, WhatWasSentBeforeTheEndArrivesBeforeTheEnd) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    World world(SlowPlan(seed));
    ASSERT_TRUE(world.pair.initiator->SetReceiveDepth(1).ok());
    LocalBuffer message = world.Here(0, 16);
    ASSERT_EQ(world.pair.target->PostSend({&message, 1}, 1), PostStatus::kOk);
    world.pair.target->Flush();
    std::array<ChannelEvent, 8> events;
    while (world.pair.target->Reap(events).empty()) world.Pass(1000);
    world.pair.target->Close();  // it was said to be sent
    const auto arrived = world.Events(*world.pair.initiator);
    ASSERT_EQ(arrived.size(), 2u);
    EXPECT_EQ(arrived[0].kind, ChannelEventKind::kReceived);
    EXPECT_EQ(arrived[1].kind, ChannelEventKind::kDisconnected);
  }
}

TEST(SimFabricTest, ARefusedPostWakesItsEnd) {
  SimPlan plan;
  plan.fabric.again_per_mille = 1000;
  World world(plan);
  LocalBuffer message = world.Here(0, 16);
  EXPECT_EQ(world.pair.target->PostSend({&message, 1}, 1), PostStatus::kAgain);
  world.Pass(kNanosecondsPerMillisecond);
  EXPECT_TRUE(world.pair.link->CanRead(SimWire::kTarget));
  std::array<ChannelEvent, 8> events;
  EXPECT_TRUE(world.pair.target->Reap(events).empty());
  EXPECT_FALSE(world.pair.link->CanRead(SimWire::kTarget));
}

TEST(SimFabricTest, RegistrationsFailUntilTheCalm) {
  SimPlan plan;
  plan.fabric.refusals_per_mille = 1000;
  SimContext context(plan, false);
  SimDomain domain(&context, "initiator");
  std::vector<std::byte> bytes(16);
  const auto refused = domain.Register({bytes.data(), bytes.size()}, Access::kLocal);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  context.calm = true;
  EXPECT_TRUE(domain.Register({bytes.data(), bytes.size()}, Access::kLocal).ok());
  EXPECT_EQ(domain.num_regions(), 0u) << "they end with their regions";
}

}  // namespace
}  // namespace vof
