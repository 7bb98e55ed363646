// SPDX-License-Identifier: Apache-2.0
//
// Both ends of the stack against each other, without I/O: whole sessions over connections that are
// cut anywhere, in both dialects, for devices of every kind.
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/engine/agreed_options.h"
#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_test_peer.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/engine/testing/random_io.h"
#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

// One connection: an initiator's engine and the target's end of it.
struct Wire {
  Wire(StreamEngine* engine, std::unique_ptr<RawPeer> peer)
      : driver(engine), target(std::move(peer)) {}
  // A turn of each; true when bytes moved.
  bool Pump(size_t step, MonotonicTime now) {
    driver.now = now;
    const std::string sent = driver.Turn();
    target->Send(std::as_bytes(std::span(sent)));
    const std::vector<std::byte> answer = target->TakeReceived();
    driver.Feed({reinterpret_cast<const char*>(answer.data()), answer.size()}, step);
    return !sent.empty() || !answer.empty();
  }
  EngineDriver driver;
  std::unique_ptr<RawPeer> target;
};

struct PairOptions {
  FakeDeviceOptions device;
  size_t step = ~size_t{0};  // largest read, both ends
  uint16_t queue_size = 16;
  uint32_t max_pieces = 4;
};

template <typename C>
class EnginePairTest : public testing::Test {
 protected:
  void Start(const PairOptions& pair) {
    pair_ = pair;
    target_ = std::make_unique<TargetHarness>(pair.device);
    InitiatorSessionOptions options;
    options.handshake.dialect = C::kDialect;
    options.handshake.queues = 2;
    options.handshake.queue_size = pair.queue_size;
    options.on_open_virtqueues = [this](const SessionInfo&) { OpenVirtqueues(); };
    options.on_ready = [this](const SessionInfo&) { ready_ = true; };
    options.on_config_changed = [this] { ++config_changed_; };
    options.on_ended = [this](const absl::Status& why) { why_ = why; };
    control_ = std::make_unique<InitiatorControlStream<C>>(MakeBody("host", "disk", 7), options);
    control_wire_ = std::make_unique<Wire>(control_.get(), NewPeer());
    Settle();
    ASSERT_TRUE(ready_) << why_;
  }
  void TearDown() override {
    for (auto& wire : wires_) wire->target->Close();
    for (auto& wire : wires_) wire->driver.PeerCloses();
    if (control_wire_) control_wire_->target->Close();
    if (control_wire_) control_wire_->driver.PeerCloses();
  }
  std::unique_ptr<RawPeer> NewPeer() {
    auto peer = target_->NewPeer();
    peer->chunk_bytes = pair_.step == ~size_t{0} ? 0 : pair_.step;
    return peer;
  }
  void OpenVirtqueues() {
    const SessionInfo& info = control_->session().info();
    for (uint16_t i = 0; i < info.queue_sizes.size(); ++i) {
      queues_.push_back(std::make_shared<InitiatorQueue>(AgreedQueueOptions(info, i)));
      InitiatorVirtqueueOptions options;
      options.instance_id = info.instance_id;
      options.queue_index = i;
      options.body = MakeBody("host", "disk", 7);
      options.on_connected = [this] {
        if (++connected_ == queues_.size()) control_->session().VirtqueuesOpened();
      };
      engines_.push_back(std::make_unique<InitiatorVirtqueueStream<C>>(options, queues_[i]));
      wires_.push_back(std::make_unique<Wire>(engines_[i].get(), NewPeer()));
    }
  }
  // Until nobody says anything any more.
  void Settle() {
    bool moved = true;
    for (int quiet = 0; quiet < 3; quiet = moved ? 0 : quiet + 1) {
      moved = control_wire_->Pump(pair_.step, target_->now);
      for (size_t i = 0; i < wires_.size(); ++i) moved |= wires_[i]->Pump(pair_.step, target_->now);
    }
  }
  // Submits `count` random requests over all queues and checks every answer.
  void Work(int count, uint64_t seed, uint32_t max_bytes) {
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<RandomIo>> ios;
    for (int i = 0; i < count; ++i) {
      ios.push_back(std::make_unique<RandomIo>(random, max_bytes, pair_.max_pieces));
      queues_[random() % queues_.size()]->Submit(&ios.back()->request);
      if (random() % 8 == 0) Settle();
    }
    Settle();
    CheckAnswers(ios, pair_.device.max_answer_bytes);
  }

  PairOptions pair_;
  std::unique_ptr<TargetHarness> target_;
  std::unique_ptr<InitiatorControlStream<C>> control_;
  std::unique_ptr<Wire> control_wire_;
  std::vector<std::shared_ptr<InitiatorQueue>> queues_;
  std::vector<std::unique_ptr<InitiatorVirtqueueStream<C>>> engines_;
  std::vector<std::unique_ptr<Wire>> wires_;
  size_t connected_ = 0;
  int config_changed_ = 0;
  bool ready_ = false;
  absl::Status why_;
};

using Codecs = testing::Types<V5, Ref>;
TYPED_TEST_SUITE(EnginePairTest, Codecs);

TYPED_TEST(EnginePairTest, RequestsOfAnyShapeToADeviceThatFillsBuffers) {
  this->Start({});
  this->Work(300, 1, 60'000);
}

TYPED_TEST(EnginePairTest, RequestsOfAnyShapeToADeviceThatLends) {
  PairOptions pair;
  pair.device.lends_results = true;
  this->Start(pair);
  this->Work(300, 2, 60'000);
}

TYPED_TEST(EnginePairTest, RequestsOfAnyShapeToADeviceThatTakesItsTime) {
  PairOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->Work(300, 3, 60'000);
}

TYPED_TEST(EnginePairTest, ConnectionsMayBeCutAnywhere) {
  for (const size_t step : {1u, 2u, 7u, 15u, 16u, 17u, 100u}) {
    SCOPED_TRACE(step);
    this->TearDown();
    this->wires_.clear();
    this->control_wire_.reset();  // before the target that it is connected to
    this->engines_.clear();
    this->queues_.clear();
    this->connected_ = 0;
    this->ready_ = false;
    PairOptions pair;
    pair.step = step;
    pair.device.lends_results = step % 2 == 0;
    this->Start(pair);
    this->Work(40, step, 3000);
  }
}

TYPED_TEST(EnginePairTest, AQueueOfOne) {
  PairOptions pair;
  pair.queue_size = 1;
  this->Start(pair);
  this->Work(100, 4, 2000);
}

TYPED_TEST(EnginePairTest, ManySegments) {
  PairOptions pair;
  pair.max_pieces = 500;
  this->Start(pair);
  this->Work(40, 5, 60'000);
}

TYPED_TEST(EnginePairTest, CompletionsInAnyOrder) {
  PairOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  for (int i = 0; i < 2; ++i) this->target_->device->queue(static_cast<uint16_t>(i))->hold = true;
  std::mt19937_64 random(6);
  std::vector<std::unique_ptr<RandomIo>> ios;
  for (int i = 0; i < 60; ++i) {
    ios.push_back(std::make_unique<RandomIo>(random, 2000, 4));
    this->queues_[0]->Submit(&ios.back()->request);
  }
  this->Settle();
  FakeQueue* queue = this->target_->device->queue(0);
  EXPECT_EQ(queue->held(), 16u);
  while (queue->held() > 0) {
    if (random() % 2 == 0) {
      queue->CompleteNext();
    } else {
      queue->CompleteLast();
    }
    this->Settle();
  }
  for (const auto& io : ios) {
    ASSERT_EQ(io->done, 1);
    ASSERT_EQ(io->in, FakeAnswer(static_cast<uint8_t>(io->out[0]), io->in.size()));
  }
}

TYPED_TEST(EnginePairTest, AResetInTheMiddleOfWork) {
  PairOptions pair;
  pair.device.completes_inline = false;
  this->Start(pair);
  this->target_->device->queue(0)->hold = true;
  std::mt19937_64 random(7);
  RandomIo io(random, 100, 2);
  this->queues_[0]->Submit(&io.request);
  this->Settle();
  absl::Status reset = absl::UnknownError("not called");
  this->control_->session().Reset([&](const absl::Status& status) { reset = status; });
  this->Settle();
  EXPECT_TRUE(reset.ok()) << reset;
  EXPECT_EQ(io.done, 1) << "requests end before the reset is answered";
  this->target_->device->queue(0)->hold = false;
  this->Work(20, 8, 1000);
}

TYPED_TEST(EnginePairTest, DisconnectEndsTheInstance) {
  this->Start({});
  this->control_->session().Disconnect();
  this->Settle();
  EXPECT_TRUE(this->control_->finished());
  EXPECT_EQ(FailureKindOf(this->why_), FailureKind::kClosed) << this->why_;
  this->control_wire_->target->Close();
  for (int i = 0; i < 10; ++i) this->Settle();
  EXPECT_TRUE(this->target_->directory.Sessions().empty());
}

TYPED_TEST(EnginePairTest, ConfigurationChangesReachTheInitiator) {
  this->Start({});
  this->target_->device->ChangeConfig(0, 42);
  this->Settle();
  EXPECT_EQ(this->config_changed_, TypeParam::kDialect == Dialect::kV5 ? 1 : 0);
  uint64_t value = 0;
  this->control_->session().ReadConfig({{0, 1}}, [&](absl::StatusOr<ConfigSnapshot> snapshot) {
    value = snapshot.ok() ? snapshot->values[0] : 0;
  });
  this->Settle();
  EXPECT_EQ(value, 42u);
}

}  // namespace
}  // namespace vof
