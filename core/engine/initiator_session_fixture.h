// SPDX-License-Identifier: Apache-2.0
//
// For tests of the control queue at the initiator: a target of a few registers that answers
// commands, and a fixture that lets an engine talk to it in cuts of any size.
//
//   target_.answers[CommandKind::kConnect] = {.cause = Cause::kAccess};   // instead of what it
//   would say Converse(/*step=*/1);                                                 // until nobody
//   has more to say
#ifndef VOF_CORE_ENGINE_INITIATOR_SESSION_FIXTURE_H_
#define VOF_CORE_ENGINE_INITIATOR_SESSION_FIXTURE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_test_peer.h"
#include "core/wire/codec.h"
#include "gtest/gtest.h"

namespace vof {

template <typename C>
struct FakeControlTarget {
  uint64_t features = kFeatureVersion1 | 0x6;
  uint64_t transport =
      transport_feature::kCredit | transport_feature::kNumQueues | transport_feature::kDigest;
  uint64_t accepted = 0;
  uint64_t status = 0;
  uint64_t vendor = kOurVendorId;
  uint16_t num_queues = 4;
  uint16_t queue_size = 1024;
  uint32_t generation = 5;
  int changes_left = 0;  // the configuration changes after each of so many get_config
  std::map<CommandKind, Completion> answers;
  std::vector<Command> seen;

  Completion Execute(const Command& command) {
    seen.push_back(command);
    const auto it = answers.find(command.kind);
    if (it != answers.end()) return it->second;
    Completion out;
    switch (command.kind) {
      case CommandKind::kConnect:
        out.instance_id = 9;
        out.epoch = 77;
        break;
      case CommandKind::kGetFeature:
        out.value = command.select == kFeaturePageRequestSizes ? (uint64_t{8192} << 32) | 4096
                    : C::kDialect == Dialect::kV5              ? transport
                                                               : 130;
        break;
      case CommandKind::kGetNumQueues:
        out.value = num_queues;
        break;
      case CommandKind::kGetVendorId:
        out.value = vendor;
        break;
      case CommandKind::kGetDeviceId:
        out.value = 2;
        break;
      case CommandKind::kGetDeviceFeature:
        out.value = features;
        break;
      case CommandKind::kSetDriverFeature:
        accepted = command.value;
        break;
      case CommandKind::kGetStatus:
        out.value = status;
        break;
      case CommandKind::kSetStatus:
        status = command.value;
        break;
      case CommandKind::kResetDevice:
        status = 0;
        break;
      case CommandKind::kGetVqSize:
        out.value = queue_size - command.queue_index;
        break;
      case CommandKind::kGetGeneration:
        out.value = generation;
        break;
      case CommandKind::kGetConfig:
        out.generation = generation;
        out.value = 0x1122334455667788;
        if (changes_left > 0) --changes_left, ++generation;
        break;
      default:
        break;
    }
    return out;
  }
};

template <typename C>
class SessionFixture : public testing::Test {
 protected:
  void Make() {
    options_.handshake.dialect = C::kDialect;
    options_.on_open_virtqueues = [this](const SessionInfo& info) {
      opened_ = info.queue_sizes;
      if (answer_open_) engine_->session().VirtqueuesOpened();
    };
    options_.on_ready = [this](const SessionInfo&) { ++ready_; };
    options_.on_config_changed = [this] { ++config_changed_; };
    options_.on_ended = [this](const absl::Status& why) { ++ended_, why_ = why; };
    const ConnectBody body = {.initiator_name = "vqn.me", .target_name = "disk"};
    engine_ = std::make_unique<InitiatorControlStream<C>>(body, options_);
    driver_ = std::make_unique<EngineDriver>(engine_.get());
  }
  // Lets both talk until there is silence; answers arrive in reads of at most `step` bytes.
  void Converse(size_t step = ~size_t{0}) {
    for (std::string sent = driver_->Turn(); !sent.empty(); sent = driver_->Turn()) {
      driver_->Feed(AnswerAll(sent), step);
    }
  }
  std::string AnswerAll(const std::string& sent) {
    std::string answers;
    for (size_t offset = 0; offset < sent.size(); offset += kHeaderBytes) {
      const Command command = DecodeCommandAt<C>(sent, offset);
      if (command.kind == CommandKind::kConnect) {
        offset += kConnectBodyBytes + (C::kSegmentedStreams ? C::kDescriptorBytes : 0);
      }
      Completion completion = target_.Execute(command);
      completion.command_id = command.command_id;
      // In `ref` a reset is a set_status.
      answers += CompletionBytes<C>(command.kind, completion);
    }
    return answers;
  }
  void BringUp() {
    Make();
    Converse();
    ASSERT_EQ(ready_, 1) << why_;
    target_.seen.clear();
  }
  std::vector<CommandKind> SeenKinds() const {
    std::vector<CommandKind> kinds;
    for (const Command& command : target_.seen) kinds.push_back(command.kind);
    return kinds;
  }
  InitiatorSession& session() { return engine_->session(); }

  FakeControlTarget<C> target_;
  InitiatorSessionOptions options_;
  std::unique_ptr<InitiatorControlStream<C>> engine_;
  std::unique_ptr<EngineDriver> driver_;
  std::vector<uint16_t> opened_;
  bool answer_open_ = true;
  int ready_ = 0, config_changed_ = 0, ended_ = 0;
  absl::Status why_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_SESSION_FIXTURE_H_
