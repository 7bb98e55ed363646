// SPDX-License-Identifier: Apache-2.0
//
// The parameter of the keyed conformance suites: a maker of connected pairs of message channels.
//
//   struct FabricPairMaker : ChannelPromises {
//     using Channel = FabricChannel;
//     static absl::StatusOr<ChannelPair<FabricChannel>> Make();
//   };
//
// A backend with remote memory access writes a test with its makers and passes the suites. A maker
// whose fabric cannot keep a promise says so by redefining its constant, with the reason.
#ifndef VOF_TESTING_CONFORMANCE_CHANNEL_PAIR_H_
#define VOF_TESTING_CONFORMANCE_CHANNEL_PAIR_H_

#include <memory>

#include "core/transport/domain.h"
#include "core/transport/message_channel.h"

namespace vof {

template <MessageChannel C>
struct ChannelPair {
  std::shared_ptr<Domain> domain_a;  // may be that of b
  std::shared_ptr<Domain> domain_b;
  std::unique_ptr<C> a;
  std::unique_ptr<C> b;
};

// What a reliable connected queue pair of an adapter keeps, but not every fabric.
struct ChannelPromises {
  // A wrong local key is found out.
  static constexpr bool kChecksLocalKeys = true;
  // A message or a store is reported when the peer has taken it. Otherwise it may be reported once
  // it is under way, and the peer refuses it by breaking the channel.
  static constexpr bool kConfirmsPosts = true;
  // What is posted behind a message waits until that one found a receive.
  static constexpr bool kMessagesHoldBack = true;
  // An immediate takes a receive of the peer, and waits for one.
  static constexpr bool kImmediateTakesReceive = true;
  // Pairs that the search for leaks makes: fewer where one takes long.
  static constexpr int kManyPairs = 1000;
  // Descriptors of a second domain, where domains wear out and are replaced.
  static constexpr int kSpareDescriptors = 0;
  // An access that the keys do not allow breaks the channel. Otherwise it touches nothing, but
  // nobody is told: a fetch comes back with Close().
  static constexpr bool kRefusalsBreak = true;
  // The end of a peer is noticed although a message of it still waits for a receive.
  static constexpr bool kNoticesEndBehindMessages = true;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_CHANNEL_PAIR_H_
