// SPDX-License-Identifier: Apache-2.0
//
// What is the in-process fabric's own: limits and keys of its domain, sharing of receives, its
// fault plan, its counters. What it shares with other fabrics is in testing/conformance.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backends/loopback/fabric_channel.h"
#include "backends/loopback/fabric_domain.h"
#include "core/base/buffer.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"

namespace vof {
namespace {

using Bytes = std::vector<std::byte>;

MutableBuffer AsBuffer(Bytes& bytes) { return {bytes.data(), bytes.size()}; }

// One post that succeeds at once, of a message without bytes.
PostStatus SendNothing(FabricChannel& channel, uint64_t tag) {
  const PostStatus status = channel.PostSend({}, tag);
  channel.Flush();
  return status;
}

std::vector<ChannelEvent> ReapAll(FabricChannel& channel) {
  std::array<ChannelEvent, 64> events;
  const std::span<ChannelEvent> got = channel.Reap(events);
  return {got.begin(), got.end()};
}

TEST(FabricDomainTest, RefusesEmptyRanges) {
  FabricDomain domain;
  EXPECT_EQ(domain.Register({}, Access::kLocal).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FabricDomainTest, NamesTheLimitOfPinnedBytes) {
  FabricDomain domain({.max_pinned_bytes = 10'000});
  Bytes memory(8'000);
  absl::StatusOr<Region> first = domain.Register(AsBuffer(memory), Access::kLocal);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(domain.pinned_bytes(), 8'000u);
  const absl::Status status = domain.Register({memory.data(), 2'001}, Access::kLocal).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  for (const char* part : {"max_pinned_bytes", "10000", "2001", "8000"}) {
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos) << status;
  }
  EXPECT_TRUE(domain.Register({memory.data(), 2'000}, Access::kLocal).ok());
  *first = Region();
  EXPECT_EQ(domain.pinned_bytes(), 0u);
  EXPECT_EQ(domain.regions(), 0u);
}

TEST(FabricDomainTest, NamesTheLimitOfRegions) {
  FabricDomain domain({.max_regions = 1});
  Bytes memory(100);
  absl::StatusOr<Region> first = domain.Register(AsBuffer(memory), Access::kLocal);
  ASSERT_TRUE(first.ok());
  const absl::Status status = domain.Register(AsBuffer(memory), Access::kLocal).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(status.message()).find("max_regions is 1"), std::string::npos) << status;
}

TEST(FabricDomainTest, FailsRegistrationsOnDemand) {
  FabricDomain domain;
  Bytes memory(100);
  domain.FailNextRegistrations(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(domain.Register(AsBuffer(memory), Access::kLocal).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(domain.Register(AsBuffer(memory), Access::kLocal).ok());
}

TEST(FabricDomainTest, KeysAreNeitherReusedNorNeighbours) {
  FabricDomain domain;
  Bytes memory(100);
  std::set<uint32_t> keys;
  for (int i = 0; i < 20'000; ++i) {
    absl::StatusOr<Region> region = domain.Register(AsBuffer(memory), Access::kLocal);
    ASSERT_TRUE(region.ok());
    EXPECT_NE(region->remote_key(), 0u);
    EXPECT_TRUE(keys.insert(region->remote_key()).second) << "key used again, number " << i;
  }
  int neighbours = 0;
  for (const uint32_t key : keys) neighbours += keys.contains(key + 1) ? 1 : 0;
  EXPECT_LT(neighbours, 20) << "20000 keys of 2^32 have 0.1 neighbours";
}

TEST(FabricDomainTest, SeedDecidesTheKeys) {
  Bytes memory(100);
  const auto first_key = [&](uint64_t seed) {
    FabricDomain domain({.key_seed = seed});
    return domain.Register(AsBuffer(memory), Access::kLocal)->remote_key();
  };
  EXPECT_EQ(first_key(5), first_key(5));
  EXPECT_NE(first_key(5), first_key(6));
}

TEST(FabricDomainTest, RegionMayOutliveItsDomain) {
  Bytes memory(100);
  auto domain = std::make_unique<FabricDomain>();
  absl::StatusOr<Region> region = domain->Register(AsBuffer(memory), Access::kLocal);
  ASSERT_TRUE(region.ok());
  domain.reset();
}

// Regions come and go at one thread while another one uses them: never a byte after the end.
TEST(FabricDomainTest, EndOfARegionWaitsForBytesThatMove) {
  FabricDomain domain;
  auto [client, server] = MakeFabricPair(&domain, &domain);
  Bytes local(64 << 10, std::byte{1});
  absl::StatusOr<Region> mine = domain.Register(AsBuffer(local), Access::kLocal);
  ASSERT_TRUE(mine.ok());
  auto target = std::make_unique<Bytes>(local.size());
  absl::StatusOr<Region> open = domain.Register(AsBuffer(*target), Access::kRemoteWrite);
  ASSERT_TRUE(open.ok());
  const RemoteBuffer remote{open->RemoteAddress(target->data()),
                            static_cast<uint32_t>(target->size()), open->remote_key()};
  std::thread owner([&] {
    *open = Region();
    target.reset();
  });
  const LocalBuffer from{local.data(), static_cast<uint32_t>(local.size()), mine->local_key()};
  bool broken = false;
  while (!broken) {
    client.PostStore(std::span<const LocalBuffer>(&from, 1), remote, 1);
    client.Flush();
    for (const ChannelEvent& event : ReapAll(client)) broken |= !event.ok;
  }
  owner.join();
  EXPECT_EQ(client.error(), FabricError::kRemoteKey);
}

TEST(FabricChannelTest, SaysWhyItBroke) {
  FabricDomain domain({.addressing = FabricAddressing::kZeroBased});
  Bytes memory(100);
  absl::StatusOr<Region> region = domain.Register(AsBuffer(memory), Access::kRemoteRead);
  ASSERT_TRUE(region.ok());
  EXPECT_EQ(region->RemoteAddress(memory.data()), 0u);
  const LocalBuffer local{memory.data(), 50, region->local_key()};
  const auto error_of = [&](const RemoteBuffer& remote, bool fetches) {
    auto [client, server] = MakeFabricPair(&domain, &domain);
    const std::span<const LocalBuffer> one(&local, 1);
    fetches ? client.PostFetch(one, remote, 1) : client.PostStore(one, remote, 1);
    client.Flush();
    return server.error();
  };
  const uint32_t key = region->remote_key();
  EXPECT_EQ(error_of({50, 50, key}, true), FabricError::kNone);
  EXPECT_EQ(error_of({51, 50, key}, true), FabricError::kRemoteRange);
  EXPECT_EQ(error_of({0, 50, key}, false), FabricError::kRemoteAccess);
  EXPECT_EQ(error_of({0, 50, key ^ 1}, true), FabricError::kRemoteKey);
  EXPECT_EQ(error_of({0, 49, key}, true), FabricError::kInvalidPost);
  EXPECT_EQ(FabricErrorText(FabricError::kRemoteRange), "the remote range lies outside its region");
}

TEST(FabricChannelTest, PostBeyondTheSegmentsOfAPostFails) {
  FabricDomain domain;
  FabricOptions options;
  options.a.limits.max_local_segments = 2;
  auto [client, server] = MakeFabricPair(&domain, &domain, options);
  ASSERT_TRUE(server.SetReceiveDepth(1).ok());
  Bytes memory(3);
  const std::vector<LocalBuffer> three(3, {memory.data(), 1, nullptr});
  EXPECT_EQ(client.PostSend(three, 1), PostStatus::kOk);
  client.Flush();
  EXPECT_EQ(client.error(), FabricError::kInvalidPost);
  EXPECT_FALSE(ReapAll(client).front().ok);
}

TEST(FabricChannelTest, SendQueueHoldsExactlyItsDepth) {
  FabricDomain domain;
  FabricOptions options;
  options.a.limits.send_depth = 5;
  auto [client, server] = MakeFabricPair(&domain, &domain, options);
  ASSERT_TRUE(server.SetReceiveDepth(10).ok());
  for (uint64_t tag = 0; tag < 5; ++tag) EXPECT_EQ(SendNothing(client, tag), PostStatus::kOk);
  EXPECT_EQ(SendNothing(client, 5), PostStatus::kAgain) << "done, but not reaped";
  EXPECT_EQ(ReapAll(client).size(), 5u);
  EXPECT_EQ(SendNothing(client, 5), PostStatus::kOk);
}

TEST(FabricChannelTest, NothingMovesBeforeFlush) {
  FabricDomain domain;
  auto [client, server] = MakeFabricPair(&domain, &domain);
  ASSERT_TRUE(server.SetReceiveDepth(1).ok());
  ASSERT_EQ(client.PostSend({}, 1), PostStatus::kOk);
  EXPECT_TRUE(ReapAll(client).empty());
  EXPECT_TRUE(ReapAll(server).empty());
  client.Flush();
  EXPECT_EQ(ReapAll(server).size(), 1u);
}

TEST(FabricChannelTest, CountsOperations) {
  FabricDomain domain;
  auto [client, server] = MakeFabricPair(&domain, &domain);
  ASSERT_TRUE(server.SetReceiveDepth(1).ok());
  EXPECT_EQ(client.PostFetch({}, {}, 1), PostStatus::kOk);
  EXPECT_EQ(client.PostStore({}, {}, 2), PostStatus::kOk);
  EXPECT_EQ(client.PostSend({}, 3), PostStatus::kOk);
  EXPECT_EQ(client.PostStoreWithImmediate({}, {}, 7, 4), PostStatus::kOk);
  client.Flush();
  client.Flush();
  EXPECT_EQ(client.stats().fetches, 1u);
  EXPECT_EQ(client.stats().stores, 1u);
  EXPECT_EQ(client.stats().sends, 1u);
  EXPECT_EQ(client.stats().doorbells, 1u);
  EXPECT_EQ(client.stats().receiver_not_ready, 1u) << "the immediate";
  server.ReturnReceive(ReapAll(server).front().tag);
  EXPECT_EQ(client.stats().immediates, 1u);
  EXPECT_EQ(server.stats().sends, 0u);
}

TEST(FabricChannelTest, ReceivesAreRegisteredAndNeedRoom) {
  FabricDomain domain({.max_pinned_bytes = 4 * (16u << 10)});
  auto [client, server] = MakeFabricPair(&domain, &domain);
  EXPECT_TRUE(server.SetReceiveDepth(3).ok());
  EXPECT_EQ(server.SetReceiveDepth(5).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(server.SetReceiveDepth(4).ok()) << "what failed took nothing";
  EXPECT_EQ(domain.pinned_bytes(), 4 * (16u << 10));
}

TEST(FabricChannelTest, EventsComeInOrderOfCompletion) {
  FabricDomain domain;
  auto [client, server] = MakeFabricPair(&domain, &domain);
  ASSERT_TRUE(client.SetReceiveDepth(4).ok());
  ASSERT_TRUE(server.SetReceiveDepth(4).ok());
  SendNothing(client, 1);
  SendNothing(server, 9);
  SendNothing(client, 2);
  const std::vector<ChannelEvent> events = ReapAll(client);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].tag, 1u);
  EXPECT_EQ(events[1].kind, ChannelEventKind::kReceived);
  EXPECT_EQ(events[2].tag, 2u);
}

// --- Shared receives ---

struct SharedFixture {
  SharedFixture(int depth_each, uint32_t receive_bytes)
      : receives(std::make_shared<SharedReceiveQueue>(
            &domain, ReceiveQueueOptions{.receive_bytes = receive_bytes, .max_receives = 6})) {
    FabricOptions options;
    options.b.receives = receives;
    for (int i = 0; i < 2; ++i) {
      auto [client, server] = MakeFabricPair(&domain, &domain, options);
      EXPECT_TRUE(server.SetReceiveDepth(depth_each).ok());
      clients.push_back(std::move(client));
      servers.push_back(std::move(server));
    }
  }

  FabricDomain domain;
  std::shared_ptr<SharedReceiveQueue> receives;
  std::vector<FabricChannel> clients;
  std::vector<FabricChannel> servers;
};

TEST(SharedReceivesTest, OneChannelMayUseAllOfThem) {
  SharedFixture f(2, 100);
  for (uint64_t tag = 0; tag < 5; ++tag) SendNothing(f.clients[0], tag);
  EXPECT_EQ(f.clients[0].stats().receiver_not_ready, 1u);
  SendNothing(f.clients[1], 0);
  const std::vector<ChannelEvent> events = ReapAll(f.servers[0]);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(ReapAll(f.servers[1]).empty());
  // Who waited first is served first, also when another channel posts.
  f.servers[0].ReturnReceive(events[0].tag);
  EXPECT_EQ(ReapAll(f.servers[0]).size(), 1u);
  f.servers[0].ReturnReceive(events[1].tag);
  EXPECT_EQ(ReapAll(f.servers[1]).size(), 1u);
}

TEST(SharedReceivesTest, ChannelThatEndsGivesItsReceivesBack) {
  SharedFixture f(2, 100);
  for (uint64_t tag = 0; tag < 4; ++tag) SendNothing(f.clients[0], tag);
  std::array<ChannelEvent, 2> two;
  ASSERT_EQ(f.servers[0].Reap(two).size(), 2u);  // two held, two arrived
  SendNothing(f.clients[1], 7);
  EXPECT_EQ(f.receives->posted(), 0);
  f.servers[0].Close();
  EXPECT_EQ(ReapAll(f.servers[1]).size(), 1u) << "it waited for the receives of the other";
  EXPECT_EQ(f.receives->posted(), 1);
  f.servers.erase(f.servers.begin());
  EXPECT_EQ(f.receives->posted(), 3);
  EXPECT_EQ(f.receives->receives(), 4);
  auto [client, server] = MakeFabricPair(&f.domain, &f.domain, {.b = {.receives = f.receives}});
  EXPECT_TRUE(server.SetReceiveDepth(2).ok());
  EXPECT_EQ(f.receives->receives(), 4) << "its part is that of the one that ended";
}

TEST(SharedReceivesTest, LimitIsNamed) {
  SharedFixture f(3, 100);
  const absl::Status status = f.servers[0].SetReceiveDepth(4);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(status.message()).find("max_receives is 6"), std::string::npos) << status;
}

TEST(SharedReceivesTest, MessageLongerThanTheSharedReceiveBreaksOneChannel) {
  SharedFixture f(1, 100);
  Bytes memory(101);
  const LocalBuffer local{memory.data(), 101, nullptr};
  EXPECT_EQ(f.clients[0].PostSend(std::span<const LocalBuffer>(&local, 1), 1), PostStatus::kOk);
  f.clients[0].Flush();
  EXPECT_EQ(f.servers[0].error(), FabricError::kMessageTooLong);
  EXPECT_EQ(f.servers[1].error(), FabricError::kNone);
  EXPECT_EQ(f.receives->posted(), 2);
}

// --- Faults ---

TEST(FabricFaultsTest, BreaksAfterSoManyPosts) {
  FabricDomain domain;
  FabricOptions options;
  options.a.faults.break_after_posts = 3;
  auto [client, server] = MakeFabricPair(&domain, &domain, options);
  ASSERT_TRUE(server.SetReceiveDepth(8).ok());
  for (uint64_t tag = 0; tag < 4; ++tag) EXPECT_EQ(SendNothing(client, tag), PostStatus::kOk);
  EXPECT_EQ(SendNothing(client, 4), PostStatus::kClosed);
  EXPECT_EQ(client.error(), FabricError::kInjected);
  const std::vector<ChannelEvent> events = ReapAll(client);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(events[2].ok);
  EXPECT_FALSE(events[3].ok);
  EXPECT_EQ(events[4].kind, ChannelEventKind::kDisconnected);
  EXPECT_EQ(ReapAll(server).size(), 4u) << "three messages and the end";
}

TEST(FabricFaultsTest, EveryThirdPostIsRefused) {
  FabricDomain domain;
  FabricOptions options;
  options.a.faults.again_every_posts = 3;
  auto [client, server] = MakeFabricPair(&domain, &domain, options);
  ASSERT_TRUE(server.SetReceiveDepth(8).ok());
  for (int i = 1; i <= 9; ++i) {
    EXPECT_EQ(SendNothing(client, 1), i % 3 == 0 ? PostStatus::kAgain : PostStatus::kOk);
  }
}

// Turns in which the events of ten messages came, at both ends.
std::vector<int> TurnsOf(const FabricFaults& faults) {
  FabricDomain domain;
  FabricOptions options;
  options.a.faults = faults;
  auto [client, server] = MakeFabricPair(&domain, &domain, options);
  EXPECT_TRUE(server.SetReceiveDepth(16).ok());
  for (uint64_t tag = 0; tag < 10; ++tag) EXPECT_EQ(SendNothing(client, tag), PostStatus::kOk);
  std::vector<int> turns;
  for (int turn = 0; turn < 200 && turns.size() < 20; ++turn) {
    EXPECT_FALSE(client.Arm()) << "it waits for a turn";
    for (size_t i = ReapAll(client).size(); i > 0; --i) turns.push_back(turn);
    for (size_t i = ReapAll(server).size(); i > 0; --i) turns.push_back(-turn);
  }
  EXPECT_EQ(turns.size(), 20u);
  EXPECT_TRUE(client.Arm());
  return turns;
}

TEST(FabricFaultsTest, DelaysAreThoseOfTheSeed) {
  const FabricFaults effects{.seed = 1, .longest_effect_delay_turns = 9};
  FabricFaults completions{.seed = 1, .longest_completion_delay_turns = 9};
  const std::vector<int> late = TurnsOf(completions);
  EXPECT_EQ(TurnsOf(effects), TurnsOf(effects));
  EXPECT_EQ(TurnsOf(completions), late);
  EXPECT_GT(late.back(), 1) << "nothing was late";
  completions.seed = 2;
  EXPECT_NE(TurnsOf(completions), late);
}

}  // namespace
}  // namespace vof
