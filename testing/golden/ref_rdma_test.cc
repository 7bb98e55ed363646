// SPDX-License-Identifier: Apache-2.0
//
// The reference codec against messages recorded over RDMA: commands with their keyed descriptors,
// and completions. Payloads travel in other messages and are shortened in the file.
#include <map>
#include <string>
#include <vector>

#include "core/wire/ref.h"
#include "gtest/gtest.h"
#include "testing/golden/expectations.h"
#include "testing/golden/recording.h"

namespace vof {
namespace {

uint64_t QueuePairOf(const RecordedPdu& pdu) {
  return pdu.notes.empty() ? 0 : Fact(pdu.notes[0], "qp").value_or(0);
}

struct Outstanding {
  Command command;
  uint16_t writable = 0;
};

Outstanding ExpectRequest(const RecordedPdu& pdu) {
  Outstanding request;
  request.command = ExpectCommand(pdu, /*clean_peer=*/true);
  EXPECT_EQ(pdu.bytes.size(), kHeaderBytes + request.command.ndesc * Ref::kDescriptorBytes);
  for (const Segment& s : ExpectSegments(pdu, kHeaderBytes, request.command.ndesc)) {
    EXPECT_NE(s.address, 0u);
    EXPECT_NE(s.key, 0u);
    request.writable += s.writable ? 1 : 0;
  }
  if (request.command.kind == CommandKind::kConnect) {
    EXPECT_EQ(request.command.transmission, Transmission::kKeyed);
  }
  return request;
}

TEST(RefRdma, EverySendMeansWhatItsNotesSay) {
  const absl::StatusOr<Recording> recording = LoadRecording("ref_linux_rdma.txt");
  ASSERT_TRUE(recording.ok()) << recording.status();
  std::map<uint64_t, Outstanding> by_queue_pair;
  size_t requests = 0;
  size_t virtqueue_requests = 0;
  size_t answers = 0;
  for (const RecordedPdu& pdu : recording->pdus) {
    if (pdu.message != "SEND") continue;
    SCOPED_TRACE("message " + std::to_string(pdu.number));
    Outstanding& outstanding = by_queue_pair[QueuePairOf(pdu)];
    if (pdu.direction == Direction::kToTarget) {
      outstanding = ExpectRequest(pdu);
      ++requests;
      virtqueue_requests += outstanding.command.kind == CommandKind::kVq ? 1 : 0;
      continue;
    }
    const Completion completion = ExpectCompletion(pdu, outstanding.command.kind);
    EXPECT_EQ(completion.ndesc, outstanding.writable);
    EXPECT_EQ(pdu.bytes.size(), kHeaderBytes);
    ++answers;
  }
  EXPECT_EQ(by_queue_pair.size(), 2u);
  EXPECT_EQ(requests, 31u);
  EXPECT_EQ(virtqueue_requests, 9u);
  EXPECT_EQ(answers, requests);
}

}  // namespace
}  // namespace vof
