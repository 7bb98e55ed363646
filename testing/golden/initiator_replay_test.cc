// SPDX-License-Identifier: Apache-2.0
//
// Our initiator against another target, played back: it sends what that target understands, in the
// order that its own initiators keep, and gets through bring-up, reads and writes on its answers.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_test_peer.h"
#include "core/engine/initiator_virtqueue_stream.h"
#include "core/wire/ref.h"
#include "devices/blk/blk_wire.h"
#include "gtest/gtest.h"
#include "testing/golden/expectations.h"
#include "testing/golden/recording.h"

namespace vof {
namespace {

constexpr char kLinuxName[] = "vqn.uuid:42761df9-4c3f-4b27-843d-c88d1dcdce32";
constexpr char kDisk[] = "virtio-target/block/block0.service";

ConnectBody Body() { return {.initiator_name = kLinuxName, .target_name = kDisk, .token = {}}; }

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Command CommandOf(const RecordedPdu& pdu) {
  Command command;
  EXPECT_EQ(Ref::DecodeCommand(HeaderOfPdu(pdu), command), WireError::kNone);
  return command;
}

// The recorded target: for each command the answer to the next one like it. Commands that only read
// the configuration may be left out; all others must come in the recorded order.
class RecordedControl {
 public:
  RecordedControl() {
    absl::StatusOr<Recording> recording = LoadRecording("ref_linux_tcp_control.txt");
    EXPECT_TRUE(recording.ok()) << recording.status();
    if (recording.ok()) pdus_ = recording->pdus;
  }
  // The answer to the bytes of one command; empty when it is not in the recording.
  std::string Answer(const std::string& sent) {
    for (size_t i = next_; i + 1 < pdus_.size(); i += 2) {
      if (Text(pdus_[i].bytes) == sent) {
        next_ = i + 2;
        return Text(pdus_[i + 1].bytes);
      }
      const CommandKind skipped = CommandOf(pdus_[i]).kind;
      if (skipped != CommandKind::kGetConfig && skipped != CommandKind::kGetGeneration) break;
    }
    const Command command = DecodeCommandAt<Ref>(sent, 0);
    ADD_FAILURE() << CommandKindName(command.kind) << " is not what comes after PDU " << next_
                  << " of the recording";
    return "";
  }

 private:
  std::vector<RecordedPdu> pdus_;
  size_t next_ = 0;
};

// Lets the engine talk until it says no more. It sends one command at a time.
void Converse(EngineDriver& driver, RecordedControl& target, size_t step) {
  for (std::string sent = driver.Turn(); !sent.empty(); sent = driver.Turn()) {
    const std::string answer = target.Answer(sent);
    if (answer.empty()) return;
    driver.Feed(answer, step);
  }
}

class ControlReplay : public testing::TestWithParam<size_t> {};

TEST_P(ControlReplay, ComesUpAndLeavesOnRecordedAnswers) {
  RecordedControl target;
  InitiatorControlStream<Ref>* engine = nullptr;
  SessionInfo ready;
  absl::Status why;
  int num_ready = 0, num_ended = 0;
  InitiatorSessionOptions options;
  options.handshake.dialect = Dialect::kRef;
  options.on_open_virtqueues = [&](const SessionInfo&) { engine->session().VirtqueuesOpened(); };
  options.on_ready = [&](const SessionInfo& info) { ready = info, ++num_ready; };
  options.on_ended = [&](const absl::Status& status) { why = status, ++num_ended; };
  InitiatorControlStream<Ref> control(Body(), options);
  engine = &control;
  EngineDriver driver(&control);
  Converse(driver, target, GetParam());

  ASSERT_EQ(num_ready, 1) << why;
  EXPECT_EQ(ready.device_type, kBlkDeviceType);
  EXPECT_EQ(ready.features, kBlkFeatureSizeMax | kBlkFeatureSegMax | kBlkFeatureMultiQueue);
  EXPECT_EQ(ready.queue_sizes, std::vector<uint16_t>{1024});
  EXPECT_FALSE(ready.target_is_ours());
  EXPECT_EQ(ready.max_segments, kMaxSegments);

  control.session().Disconnect();  // in `ref` a reset, as Linux does it
  Converse(driver, target, GetParam());
  EXPECT_EQ(num_ended, 1);
  EXPECT_EQ(why.code(), absl::StatusCode::kCancelled) << why;
}

INSTANTIATE_TEST_SUITE_P(Steps, ControlReplay, testing::Values(1, 5, 16, 4096));

TEST(ControlReplay, ReadsTheCapacityAsLinuxDoes) {
  absl::StatusOr<Recording> recording = LoadRecording("ref_linux_tcp_control.txt");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const auto& pdus = recording->pdus;
  ConfigReadScript script(Dialect::kRef, {{.offset = 0, .bytes = 8}},
                          [](const absl::StatusOr<ConfigSnapshot>& snapshot) {
                            ASSERT_TRUE(snapshot.ok()) << snapshot.status();
                            EXPECT_EQ(snapshot->values, std::vector<uint64_t>{32768});
                            EXPECT_EQ(snapshot->generation, 2u);
                          });
  size_t at = 0;
  while (at < pdus.size() && (pdus[at].direction != Direction::kToTarget ||
                              CommandOf(pdus[at]).kind != CommandKind::kGetGeneration)) {
    ++at;
  }
  for (Command command; script.Next(&command); at += 2) {
    ASSERT_LT(at + 1, pdus.size());
    std::string encoded(kHeaderBytes, '\0');
    Ref::EncodeCommand(
        command, HeaderOut(reinterpret_cast<std::byte*>(encoded.data()), size_t{kHeaderBytes}));
    EXPECT_EQ(encoded, Text(pdus[at].bytes)) << "PDU " << at;
    const HeaderIn answer = HeaderOfPdu(pdus[at + 1]);
    ASSERT_TRUE(script.OnAnswer(command, Ref::DecodeCompletion(command.kind, answer)).ok());
  }
  ASSERT_TRUE(script.done());
  script.Finish(absl::OkStatus());
}

// A recorded request, made again from its descriptors and its readable bytes.
struct Replayed {
  explicit Replayed(const RecordedPdu& pdu) {
    const Command command = CommandOf(pdu);
    size_t at = kHeaderBytes + command.ndesc * Ref::kDescriptorBytes;
    size_t in_bytes = 0;
    for (size_t i = 0; i < command.ndesc; ++i) {
      const Segment segment = SegmentAt(pdu, i);
      if (segment.writable) {
        in_bytes += segment.length_bytes;
        continue;
      }
      readable.emplace_back(pdu.bytes.data() + at, segment.length_bytes);
      at += segment.length_bytes;
    }
    EXPECT_EQ(at, pdu.bytes.size());
    in.resize(in_bytes, '?');
    size_t in_at = 0;
    for (size_t i = 0; i < command.ndesc; ++i) {
      const Segment segment = SegmentAt(pdu, i);
      if (!segment.writable) continue;
      writable.emplace_back(in.data() + in_at, segment.length_bytes);
      in_at += segment.length_bytes;
    }
    request.readable = readable;
    request.writable = writable;
    request.context = this;
    request.done = [](InitiatorRequest* r) { ++static_cast<Replayed*>(r->context)->done; };
  }
  static Segment SegmentAt(const RecordedPdu& pdu, size_t index) {
    return Ref::DecodeSegment(std::span(pdu.bytes).subspan(
        kHeaderBytes + index * Ref::kDescriptorBytes, Ref::kDescriptorBytes));
  }
  std::vector<ConstBuffer> readable;
  std::vector<MutableBuffer> writable;
  std::string in;
  InitiatorRequest request;
  int done = 0;
};

// The command as Linux sent it, but for what known peers disagree on: `length`, the NEXT flags.
void ExpectSameRequest(const std::string& sent, const RecordedPdu& pdu) {
  ASSERT_EQ(sent.size(), pdu.bytes.size());
  const Command ours = DecodeCommandAt<Ref>(sent, 0), recorded = CommandOf(pdu);
  EXPECT_EQ(ours.kind, CommandKind::kVq);
  EXPECT_EQ(ours.ndesc, recorded.ndesc);
  EXPECT_EQ(ours.command_id, recorded.command_id);
  const auto bytes = std::as_bytes(std::span(sent));
  for (size_t i = 0; i < ours.ndesc; ++i) {
    const Segment segment = Ref::DecodeSegment(
        bytes.subspan(kHeaderBytes + i * Ref::kDescriptorBytes, Ref::kDescriptorBytes));
    EXPECT_EQ(segment, Replayed::SegmentAt(pdu, i)) << "descriptor " << i;
  }
  const size_t payload = kHeaderBytes + ours.ndesc * Ref::kDescriptorBytes;
  EXPECT_EQ(sent.substr(payload), Text(std::span(pdu.bytes).subspan(payload)));
}

class VirtqueueReplay : public testing::TestWithParam<size_t> {};

TEST_P(VirtqueueReplay, EveryRecordedRequestIsSentAgainAndAnswered) {
  absl::StatusOr<Recording> recording = LoadRecording("ref_linux_tcp_virtqueue.txt");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const auto& pdus = recording->pdus;
  auto queue = std::make_shared<InitiatorQueue>(InitiatorQueueOptions{.queue_size = 1024});
  InitiatorVirtqueueOptions options;
  options.body = Body();
  InitiatorVirtqueueStream<Ref> engine(options, queue);
  EngineDriver driver(&engine);
  EXPECT_EQ(driver.Turn(), Text(pdus[0].bytes));
  driver.Feed(Text(pdus[1].bytes), GetParam());
  int reads = 0, writes = 0;
  for (size_t i = 2; i + 1 < pdus.size(); i += 2) {
    SCOPED_TRACE("PDU " + std::to_string(i));
    Replayed replayed(pdus[i]);
    queue->Submit(&replayed.request);
    ExpectSameRequest(driver.Turn(), pdus[i]);
    driver.Feed(Text(pdus[i + 1].bytes), GetParam());
    driver.Turn();
    ASSERT_EQ(replayed.done, 1);
    EXPECT_EQ(replayed.request.error, RequestError::kNone);
    EXPECT_EQ(replayed.request.used_length, replayed.in.size());
    const std::string answer = Text(pdus[i + 1].bytes);
    EXPECT_EQ(replayed.in, answer.substr(answer.size() - replayed.in.size()));
    EXPECT_EQ(replayed.in.back(), '\0');
    const auto header = ReadStruct<BlkRequestHeader>(replayed.readable[0].span());
    reads += header.type == kBlkTypeIn;
    writes += header.type == kBlkTypeOut;
  }
  EXPECT_GE(reads, 5);
  EXPECT_GE(writes, 2);
  driver.PeerCloses();
}

INSTANTIATE_TEST_SUITE_P(Steps, VirtqueueReplay, testing::Values(1, 17, 1000, 1 << 20));

}  // namespace
}  // namespace vof
