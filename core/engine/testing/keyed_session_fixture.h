// SPDX-License-Identifier: Apache-2.0
//
// For tests of both ends of keyed transmission: a session with two virtqueues, without a fabric.
//
//   class MyTest : public KeyedSessionFixture<V5> {};
//   Start({.registered = false});
//   queues_[0]->Submit(&request);
//   Settle();
//   EXPECT_EQ(lanes_[1].wire->fetches, 1);
#ifndef VOF_CORE_ENGINE_TESTING_KEYED_SESSION_FIXTURE_H_
#define VOF_CORE_ENGINE_TESTING_KEYED_SESSION_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/engine/agreed_options.h"
#include "core/engine/initiator_control_keyed.h"
#include "core/engine/initiator_virtqueue_keyed.h"
#include "core/engine/target_messages.h"
#include "core/engine/testing/message_wire.h"
#include "core/engine/testing/random_io.h"
#include "core/engine/testing/target_harness.h"
#include "gtest/gtest.h"

namespace vof {

struct KeyedSessionOptions {
  FakeDeviceOptions device;
  TargetOptions target;
  bool lends_registered = true;
  LendMemoryFunction
      lend;                // instead, for tests of just that; the target's pool alone is registered
  bool registered = true;  // the initiator's buffers; else only its pool
  Domain* domain = nullptr;  // of the initiator
  RequestRegistration registration;
  uint16_t queue_size = 16;
  uint32_t max_pieces = 4;
  size_t events_per_turn = 64;
};

template <typename C>
class KeyedSessionFixture : public testing::Test {
 protected:
  struct Lane {
    std::unique_ptr<TargetMessages> target;
    std::unique_ptr<MessageWire> wire;
  };

  void Start(const KeyedSessionOptions& pair) {
    pair_ = pair;
    target_ = std::make_unique<TargetHarness>(pair.device, pair.target);
    if (pair.lend) {
      target_memory_.Add(target_->pool.slab());
    } else {
      target_memory_.AddAll();
    }
    if (pair.registered) {
      initiator_memory_.AddAll();
    } else {
      initiator_memory_.Add(pool_.slab());
    }
    InitiatorSessionOptions options;
    options.handshake.dialect = C::kDialect;
    options.handshake.transmission = Transmission::kKeyed;
    options.handshake.queues = 2;
    options.handshake.queue_size = pair.queue_size;
    options.on_open_virtqueues = [this](const SessionInfo&) { OpenVirtqueues(); };
    options.on_ready = [this](const SessionInfo&) { ready_ = true; };
    options.on_config_changed = [this] { ++config_changed_; };
    options.on_ended = [this](const absl::Status& why) { why_ = why; };
    control_ = std::make_unique<InitiatorControlKeyed<C>>(MakeBody("host", "disk", 7), options,
                                                          Keyed(KeyedLimits()));
    lanes_.push_back(NewLane(control_.get()));
    Settle();
    ASSERT_TRUE(ready_) << why_;
  }
  void TearDown() override {
    for (Lane& lane : lanes_) lane.wire->Cut(Now());
    for (int i = 0; i < 10; ++i) Settle();
    engines_.clear();
  }

  MonotonicTime Now() const { return target_->now; }
  InitiatorKeyedOptions Keyed(const KeyedLimits& limits) {
    InitiatorKeyedOptions keyed;
    keyed.limits = limits;
    keyed.regions = &initiator_memory_.regions;
    keyed.pool = &pool_;
    keyed.domain = pair_.domain;
    keyed.registration = pair_.registration;
    return keyed;
  }
  Lane NewLane(MessageEngine* engine) {
    const EngineHost host{&target_->executor, &target_->pool};
    KeyedHost keyed{&target_memory_.regions, nullptr};
    if (pair_.lend) {
      keyed.lend = pair_.lend;
    } else if (pair_.lends_registered) {  // the region over everything covers it
      keyed.lend = [](const InstanceIdentity&) { return LentRegions{{}, true}; };
    }
    PeerIdentity peer;
    peer.address = "192.0.2.1";
    Lane lane;
    lane.target = std::make_unique<TargetMessages>(host, keyed, &target_->directory, peer, Now());
    lane.wire = std::make_unique<MessageWire>(engine, lane.target.get());
    lane.wire->events_per_turn = pair_.events_per_turn;
    return lane;
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
      engines_.push_back(std::make_unique<InitiatorVirtqueueKeyed<C>>(
          options, Keyed(AgreedKeyedLimits(info)), queues_[i]));
      lanes_.push_back(NewLane(engines_.back().get()));
    }
  }
  // From now on only the pool is registered, so requests go through it.
  void ForgetUserMemory() {
    initiator_memory_.regions = {};
    initiator_memory_.Add(pool_.slab());
  }
  // Until nobody says anything any more.
  void Settle() {
    bool moved = true;
    for (int quiet = 0; quiet < 3; quiet = moved ? 0 : quiet + 1) {
      moved = target_->executor.RunAll();
      for (size_t i = 0; i < lanes_.size(); ++i) moved |= lanes_[i].wire->Pump(Now());
    }
  }
  // Submits `count` random requests over all queues and checks every answer.
  void Work(int count, uint64_t seed, uint32_t max_bytes) {
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<RandomIo>> ios;
    for (int i = 0; i < 2; ++i) target_->device->queue(static_cast<uint16_t>(i))->record = true;
    for (int i = 0; i < count; ++i) {
      ios.push_back(std::make_unique<RandomIo>(random, max_bytes, pair_.max_pieces));
      queues_[random() % queues_.size()]->Submit(&ios.back()->request);
      if (random() % 8 == 0) Settle();
    }
    Settle();
    ASSERT_NO_FATAL_FAILURE(CheckAnswers(ios, pair_.device.max_answer_bytes));
    CheckRecorded(ios);
  }
  // Every readable byte reached the device.
  void CheckRecorded(const std::vector<std::unique_ptr<RandomIo>>& ios) {
    std::vector<std::string> sent, seen;
    for (const auto& io : ios) sent.push_back(io->out);
    for (uint16_t i = 0; i < 2; ++i) {
      FakeQueue* queue = target_->device->queue(i);
      seen.insert(seen.end(), queue->recorded.begin(), queue->recorded.end());
      queue->recorded.clear();
    }
    std::sort(sent.begin(), sent.end());
    std::sort(seen.begin(), seen.end());
    EXPECT_TRUE(sent == seen) << sent.size() << " sent, " << seen.size() << " seen";
  }

  KeyedSessionOptions pair_;
  TestMemory target_memory_, initiator_memory_;
  BufferPool pool_{kMinPoolBytes};
  std::unique_ptr<TargetHarness> target_;
  std::unique_ptr<InitiatorControlKeyed<C>> control_;
  std::vector<std::shared_ptr<InitiatorQueue>> queues_;
  std::vector<std::unique_ptr<InitiatorVirtqueueKeyed<C>>> engines_;
  std::vector<Lane> lanes_;  // the first is the control queue's
  size_t connected_ = 0;
  int config_changed_ = 0;
  bool ready_ = false;
  absl::Status why_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_KEYED_SESSION_FIXTURE_H_
