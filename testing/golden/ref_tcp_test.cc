// SPDX-License-Identifier: Apache-2.0
//
// The reference codec against streams recorded over TCP.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/connect_body.h"
#include "core/wire/detect.h"
#include "core/wire/ref.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"
#include "testing/golden/expectations.h"
#include "testing/golden/recording.h"

namespace vof {
namespace {

constexpr std::string_view kTargetName = "virtio-target/block/block0.service";
constexpr std::string_view kLinuxName = "vqn.uuid:42761df9-4c3f-4b27-843d-c88d1dcdce32";

struct Stream {
  const char* file;
  std::string_view initiator_name;
  bool clean_peer;  // initialises its reserved bytes
  bool control_queue;
};

class RefTcp : public testing::TestWithParam<Stream> {
 protected:
  void SetUp() override {
    absl::StatusOr<Recording> recording = LoadRecording(GetParam().file);
    ASSERT_TRUE(recording.ok()) << recording.status();
    pdus_ = recording->pdus;
    ASSERT_GE(pdus_.size(), 2u);
  }

  std::vector<RecordedPdu> pdus_;
};

uint64_t TotalBytes(const std::vector<Segment>& segments, bool writable) {
  uint64_t total = 0;
  for (const Segment& s : segments) total += s.writable == writable ? s.length_bytes : 0;
  return total;
}

TEST_P(RefTcp, ConnectIsDetectedAndItsBodyRead) {
  const RecordedPdu& pdu = pdus_[0];
  EXPECT_EQ(DetectDialect(HeaderOfPdu(pdu)), DialectGuess::kRef);
  const Command command = ExpectCommand(pdu, GetParam().clean_peer);
  EXPECT_EQ(command.kind, CommandKind::kConnect);
  EXPECT_EQ(command.instance_id == kControlInstanceId, GetParam().control_queue);
  const std::vector<Segment> segments = ExpectSegments(pdu, kHeaderBytes, 1);
  EXPECT_EQ(TotalBytes(segments, false), kConnectBodyBytes);

  constexpr size_t kBodyOffset = kHeaderBytes + Ref::kDescriptorBytes;
  ASSERT_EQ(pdu.bytes.size(), kBodyOffset + kConnectBodyBytes);
  const auto wire = std::span<const std::byte>(pdu.bytes).subspan<kBodyOffset, kConnectBodyBytes>();
  ConnectBody body;
  ASSERT_EQ(DecodeConnectBody(Dialect::kRef, wire, body), WireError::kNone);
  EXPECT_EQ(body.initiator_name, GetParam().initiator_name);
  EXPECT_EQ(body.target_name, kTargetName);
  EXPECT_FALSE(body.has_token());

  std::array<std::byte, kConnectBodyBytes> encoded;
  ASSERT_EQ(EncodeConnectBody(Dialect::kRef, body, encoded), WireError::kNone);
  const size_t compared_bytes = GetParam().clean_peer ? kConnectBodyBytes : 2 * kVqnFieldBytes;
  EXPECT_TRUE(std::equal(wire.begin(), wire.begin() + compared_bytes, encoded.begin()));
}

// What the target answers to a vring command: the writable descriptors in the order of the request.
void ExpectVringAnswer(const RecordedPdu& answer, const Completion& completion,
                       std::vector<Segment> requested) {
  std::erase_if(requested, [](const Segment& s) { return !s.writable; });
  ASSERT_EQ(completion.ndesc, requested.size());
  const std::vector<Segment> returned = ExpectSegments(answer, kHeaderBytes, completion.ndesc);
  ASSERT_EQ(returned.size(), requested.size());
  for (size_t i = 0; i < returned.size(); ++i) {
    EXPECT_EQ(returned[i].id, requested[i].id);
    EXPECT_GE(returned[i].length_bytes, 1u);
    EXPECT_LE(returned[i].length_bytes, requested[i].length_bytes);
    EXPECT_TRUE(returned[i].writable);
  }
  EXPECT_LE(completion.used_length, TotalBytes(requested, true));
  EXPECT_EQ(answer.bytes.size(),
            kHeaderBytes + returned.size() * Ref::kDescriptorBytes + TotalBytes(returned, true));
}

TEST_P(RefTcp, EveryPduMeansWhatItsNotesSay) {
  std::vector<Segment> requested;
  Command command;
  size_t answered = 0;
  for (const RecordedPdu& pdu : pdus_) {
    SCOPED_TRACE("PDU " + std::to_string(pdu.number));
    if (pdu.direction == Direction::kToInitiator) {
      const Completion completion = ExpectCompletion(pdu, command.kind);
      EXPECT_EQ(completion.command_id, command.command_id);
      if (command.kind == CommandKind::kVq) {
        ExpectVringAnswer(pdu, completion, requested);
      } else {
        EXPECT_EQ(pdu.bytes.size(), kHeaderBytes);
      }
      ++answered;
      continue;
    }
    command = ExpectCommand(pdu, GetParam().clean_peer);
    requested = ExpectSegments(pdu, kHeaderBytes, command.ndesc);
    EXPECT_EQ(pdu.bytes.size(), kHeaderBytes + requested.size() * Ref::kDescriptorBytes +
                                    TotalBytes(requested, false));
  }
  EXPECT_EQ(answered * 2, pdus_.size());
}

INSTANTIATE_TEST_SUITE_P(
    Streams, RefTcp,
    testing::Values(Stream{"ref_linux_tcp_control.txt", kLinuxName, true, true},
                    Stream{"ref_linux_tcp_virtqueue.txt", kLinuxName, true, false},
                    Stream{"ref_userspace_tcp_control.txt", "virtio-target-test-initiator", false,
                           true}),
    [](const testing::TestParamInfo<Stream>& info) {
      const std::string file = info.param.file;
      return file.substr(0, file.find('.'));
    });

}  // namespace
}  // namespace vof
