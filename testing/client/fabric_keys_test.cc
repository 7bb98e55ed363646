// SPDX-License-Identifier: Apache-2.0
//
// What a target can reach with the keys that it was shown, and when: a peer that goes on to use
// them after the answer, over a fabric that checks keys as an adapter does.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/loopback/fabric_channel.h"
#include "backends/loopback/fabric_domain.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/runtime/message_connection.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

constexpr size_t kDataBytes = 32'000;

template <typename C>
class FabricKeysTest : public testing::Test {
 protected:
  void Start(const RequestRegistration& registration) {
    auto [ours, theirs] = MakeFabricPair(&domain_, &domain_);
    peer_ = std::make_unique<FabricChannel>(std::move(theirs));
    ASSERT_TRUE(peer_->SetReceiveDepth(16).ok());
    auto pool = domain_.Register(pool_.slab(), Access::kRemoteReadWrite);
    ASSERT_TRUE(pool.ok()) << pool.status();
    ASSERT_TRUE(pool_regions_.Add(*std::move(pool)));
    InitiatorKeyedOptions keyed;
    keyed.regions = &regions_;
    keyed.pool = &pool_;
    keyed.domain = &domain_;
    keyed.registration = registration;
    auto engine =
        std::make_unique<InitiatorVirtqueueKeyed<C>>(InitiatorVirtqueueOptions{}, keyed, queue_);
    engine_ = engine.get();
    connection_ = std::make_unique<MessageConnection<FabricChannel>>(
        std::make_unique<FabricChannel>(std::move(ours)), std::move(engine));
    connection_->SetWake([] {});
    Turn();
    ASSERT_FALSE(messages_.empty());
    messages_.clear();
    Complete(CommandKind::kConnect, {});
    Turn();
    request_.context = this;
    request_.writable = {&writable_, 1};
    request_.done = [](InitiatorRequest* r) { ++static_cast<FabricKeysTest*>(r->context)->done_; };
  }
  void TearDown() override {
    if (connection_ == nullptr) return;
    connection_->Close(CloseReason::kLocal, 1);
    for (int i = 0; i < 100 && !connection_->finished(); ++i) Turn();
    EXPECT_TRUE(connection_->finished());
  }

  void Turn() {
    for (int i = 0; i < 4; ++i) {
      connection_->Poll(1, {});
      peer_->Flush();
      std::array<ChannelEvent, 16> events;
      for (const ChannelEvent& event : peer_->Reap(events)) {
        if (event.kind == ChannelEventKind::kReceived) {
          messages_.emplace_back(event.message.begin(), event.message.end());
          peer_->ReturnReceive(event.tag);
        } else if (event.kind == ChannelEventKind::kStored) {
          stored_ok_ = event.ok;
        }
      }
    }
  }
  void Complete(CommandKind kind, const Completion& completion) {
    std::byte header[kHeaderBytes];
    C::EncodeCompletion(kind, completion, HeaderOut(header, size_t{kHeaderBytes}));
    const LocalBuffer local = {header, kHeaderBytes, nullptr};
    ASSERT_EQ(peer_->PostSend({&local, 1}, 1), PostStatus::kOk);
  }
  // Sends the request, and learns what it shows.
  void SubmitAndSee() {
    queue_->Submit(&request_);
    Turn();
    ASSERT_EQ(messages_.size(), 1u);
    const std::span<const std::byte> message(messages_[0]);
    ASSERT_EQ(message.size(), kHeaderBytes + C::kDescriptorBytes);
    WireError error = C::DecodeCommand(message.template first<kHeaderBytes>(), command_);
    ASSERT_EQ(error, WireError::kNone);
    shown_ = C::DecodeSegment(message.subspan(kHeaderBytes));
    ASSERT_EQ(shown_.length_bytes, kDataBytes);
  }
  bool PeerStores(char what) {
    std::array<std::byte, 64> bytes;
    bytes.fill(static_cast<std::byte>(what));
    const LocalBuffer local = {bytes.data(), 64, nullptr};
    stored_ok_ = false;
    if (peer_->PostStore({&local, 1}, {shown_.address, 64, shown_.key}, 2) != PostStatus::kOk) {
      return false;
    }
    Turn();
    return stored_ok_;
  }
  void Answer() {
    Completion completion;
    completion.command_id = command_.command_id;
    completion.used_length = 64;
    completion.ndesc = 1;
    Complete(CommandKind::kVq, completion);
    Turn();
    ASSERT_EQ(done_, 1);
    ASSERT_EQ(request_.error, RequestError::kNone);
  }
  char First() const { return static_cast<char>(data_[1]); }

  FabricDomain domain_;
  BufferPool pool_{kMinPoolBytes};
  RegionMap pool_regions_;
  RegionMap regions_{&pool_regions_};
  std::vector<std::byte> data_ = std::vector<std::byte>(kDataBytes + 2);
  MutableBuffer writable_{data_.data() + 1, kDataBytes};
  InitiatorRequest request_;
  std::shared_ptr<InitiatorQueue> queue_ =
      std::make_shared<InitiatorQueue>(InitiatorQueueOptions{.queue_size = 4});
  InitiatorVirtqueueKeyed<C>* engine_ = nullptr;
  std::unique_ptr<FabricChannel> peer_;
  std::unique_ptr<MessageConnection<FabricChannel>> connection_;
  std::vector<std::vector<std::byte>> messages_;
  Command command_;
  Segment shown_;
  bool stored_ok_ = false;
  int done_ = 0;
};

using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(FabricKeysTest, Codecs);

TYPED_TEST(FabricKeysTest, AKeyOfOneRequestIsRefusedAfterItsAnswer) {
  ASSERT_NO_FATAL_FAILURE(this->Start({.from_bytes = 16'000}));
  ASSERT_NO_FATAL_FAILURE(this->SubmitAndSee());
  EXPECT_TRUE(this->PeerStores('a'));
  EXPECT_EQ(this->First(), 'a') << "straight into the caller's memory";
  ASSERT_NO_FATAL_FAILURE(this->Answer());
  EXPECT_FALSE(this->PeerStores('b'));
  EXPECT_EQ(this->peer_->error(), FabricError::kRemoteKey);
  EXPECT_EQ(this->First(), 'a');
}

TYPED_TEST(FabricKeysTest, AKeyOfTheSessionLastsUntilTheRegistrationEnds) {
  ASSERT_NO_FATAL_FAILURE(this->Start({}));
  auto region = this->domain_.Register(this->writable_, Access::kRemoteReadWrite);
  ASSERT_TRUE(region.ok());
  ASSERT_TRUE(this->regions_.Add(*std::move(region)));
  ASSERT_NO_FATAL_FAILURE(this->SubmitAndSee());
  ASSERT_NO_FATAL_FAILURE(this->Answer());
  EXPECT_TRUE(this->PeerStores('a')) << "its owner has said so";
  EXPECT_EQ(this->First(), 'a');
  this->engine_->EndRegion(this->regions_.Take(this->writable_.data));
  EXPECT_FALSE(this->PeerStores('b'));
  EXPECT_EQ(this->peer_->error(), FabricError::kRemoteKey);
  EXPECT_EQ(this->First(), 'a');
}

TYPED_TEST(FabricKeysTest, ARegistrationThatEndsLeavesRequestsInFlightTheirKey) {
  ASSERT_NO_FATAL_FAILURE(this->Start({}));
  auto region = this->domain_.Register(this->writable_, Access::kRemoteReadWrite);
  ASSERT_TRUE(region.ok());
  ASSERT_TRUE(this->regions_.Add(*std::move(region)));
  ASSERT_NO_FATAL_FAILURE(this->SubmitAndSee());
  this->engine_->EndRegion(this->regions_.Take(this->writable_.data));
  EXPECT_TRUE(this->PeerStores('a'));
  ASSERT_NO_FATAL_FAILURE(this->Answer());
  EXPECT_EQ(this->First(), 'a');
  EXPECT_FALSE(this->PeerStores('b'));
  EXPECT_EQ(this->peer_->error(), FabricError::kRemoteKey);
  EXPECT_EQ(this->First(), 'a');
}

TYPED_TEST(FabricKeysTest, WhatIsCopiedIsNeverReachedItself) {
  ASSERT_NO_FATAL_FAILURE(this->Start({}));
  ASSERT_NO_FATAL_FAILURE(this->SubmitAndSee());
  EXPECT_TRUE(this->PeerStores('a'));
  EXPECT_NE(this->First(), 'a') << "that was the pool";
  ASSERT_NO_FATAL_FAILURE(this->Answer());
  EXPECT_EQ(this->First(), 'a');
  const PoolBuffer next = this->pool_.Allocate(kDataBytes);
  EXPECT_TRUE(this->PeerStores('b')) << "the pool is registered for the session";
  EXPECT_EQ(this->First(), 'a');
  EXPECT_EQ(next.data()[0], std::byte{'b'}) << "whoever uses that part of the pool next";
}

}  // namespace
}  // namespace vof
