// SPDX-License-Identifier: Apache-2.0
//
// What the keyed suites stand on: a connected pair and a side for each end; and what the tests of
// message_channel_suite.h share besides.
#ifndef VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_FIXTURE_H_
#define VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/transport/message_channel.h"
#include "testing/conformance/channel_harness.h"
#include "testing/conformance/channel_pair.h"

namespace vof {

template <typename Maker>
class ChannelPairTest : public testing::Test {
 protected:
  using Channel = typename Maker::Channel;
  using Side = ChannelSide<Channel>;

  void SetUp() override {
    Make();
    if (HasFatalFailure()) return;
    a_.emplace(pair_.a.get(), pair_.domain_a.get());
    b_.emplace(pair_.b.get(), pair_.domain_b.get());
    a().partner = &b();
    b().partner = &a();
  }
  // Another pair in place of the one before, without sides.
  void Make() {
    auto made = Maker::Make();
    ASSERT_TRUE(made.ok()) << made.status();
    pair_ = *std::move(made);
  }
  Side& a() { return *a_; }
  Side& b() { return *b_; }
  const ChannelLimits& limits() { return pair_.a->limits(); }

  ChannelPair<Channel> pair_;
  std::optional<Side> a_;
  std::optional<Side> b_;
};

template <typename Maker>
class MessageChannelTest : public ChannelPairTest<Maker> {
 protected:
  using typename ChannelPairTest<Maker>::Side;
  using ChannelPairTest<Maker>::limits;

  // Of a message that every channel takes.
  size_t message_bytes() { return std::min<size_t>(limits().max_message_bytes, 700); }
  size_t segments() { return static_cast<size_t>(limits().max_local_segments); }
  // Local memory of `total_bytes` in as many pieces as a post takes, with holes between them, none
  // of them as long as another.
  static std::vector<LocalBuffer> Pieces(Side& side, size_t pieces, size_t total_bytes) {
    std::vector<LocalBuffer> local;
    size_t at = 0;
    size_t left = total_bytes;
    for (size_t i = 0; i + 1 < pieces && left > i + 1; ++i) {
      local.push_back(side.Local(at, i + 1));
      at += i + 1 + 17;
      left -= i + 1;
    }
    local.push_back(side.Local(at, left));
    return local;
  }
  static Bytes ReadPieces(const std::vector<LocalBuffer>& local) {
    Bytes bytes;
    for (const LocalBuffer& l : local) bytes.insert(bytes.end(), l.data, l.data + l.size_bytes);
    return bytes;
  }
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_MESSAGE_CHANNEL_FIXTURE_H_
