// SPDX-License-Identifier: Apache-2.0
#include "testing/golden/recording.h"

#include <string>

#include "gtest/gtest.h"

namespace vof {
namespace {

struct Totals {
  size_t pdus = 0;
  size_t to_target_bytes = 0;
  size_t to_initiator_bytes = 0;
};

Totals TotalsOf(const Recording& recording) {
  Totals totals;
  totals.pdus = recording.pdus.size();
  for (const RecordedPdu& pdu : recording.pdus) {
    (pdu.direction == Direction::kToTarget ? totals.to_target_bytes : totals.to_initiator_bytes) +=
        pdu.bytes.size();
  }
  return totals;
}

// The numbers stand in the head of each file.
TEST(Recording, FilesAreReadWhole) {
  struct Row {
    const char* file;
    Totals totals;
  };
  for (const Row& row : {Row{"ref_linux_tcp_control.txt", {44, 1400, 352}},
                         Row{"ref_linux_tcp_virtqueue.txt", {20, 14336, 25685}},
                         Row{"ref_userspace_tcp_control.txt", {18, 1192, 144}}}) {
    const absl::StatusOr<Recording> recording = LoadRecording(row.file);
    ASSERT_TRUE(recording.ok()) << recording.status();
    const Totals totals = TotalsOf(*recording);
    EXPECT_EQ(totals.pdus, row.totals.pdus) << row.file;
    EXPECT_EQ(totals.to_target_bytes, row.totals.to_target_bytes) << row.file;
    EXPECT_EQ(totals.to_initiator_bytes, row.totals.to_initiator_bytes) << row.file;
    for (size_t i = 0; i < recording->pdus.size(); ++i) {
      EXPECT_EQ(recording->pdus[i].number, static_cast<int>(i));
      EXPECT_FALSE(recording->pdus[i].notes.empty());
    }
  }
}

TEST(Recording, RdmaMessagesHaveTheirKind) {
  const absl::StatusOr<Recording> recording = LoadRecording("ref_linux_rdma.txt");
  ASSERT_TRUE(recording.ok()) << recording.status();
  size_t sends = 0;
  for (const RecordedPdu& pdu : recording->pdus) {
    if (pdu.message == "SEND") {
      ++sends;
      EXPECT_FALSE(pdu.shortened) << pdu.number;
    }
  }
  EXPECT_GT(sends, 60u);
  EXPECT_EQ(recording->pdus[6].message, "READ_RESP");
  EXPECT_TRUE(recording->pdus[6].shortened);
  EXPECT_EQ(recording->pdus[6].size_bytes, 1024u);
}

TEST(Recording, MistakesNameTheLine) {
  const auto error = [](const char* text) {
    return std::string(ParseRecording(text).status().message());
  };
  EXPECT_EQ(error("I>T 00\n"), "line 1: bytes without a heading");
  EXPECT_EQ(error("# PDU 0 t=0s I>T 1 bytes\n# note\nI>T 0001\n"),
            "line 3: bytes do not fit the heading");
  EXPECT_EQ(error("# PDU 0 t=0s I>T 1 bytes\nT>I 00\n"), "line 2: bytes do not fit the heading");
  EXPECT_EQ(error("# PDU 0 t=0s I>T 1 bytes\nI>T 0g\n"), "line 2: bytes do not fit the heading");
  EXPECT_EQ(error("# PDU 0 t=0s X>T 1 bytes\n"), "line 1: not a PDU heading");
  EXPECT_EQ(error("# PDU 0 t=0s I>T 1 bytes\n\n# PDU 1 t=0s I>T 1 bytes\n"),
            "line 3: the PDU before this heading has no bytes");
  EXPECT_FALSE(LoadRecording("no_such_file.txt").ok());
}

TEST(Recording, FactsAreWholeWords) {
  const char* note = "VRING: [0]opcode=0x2000 [2]command_id=32 id=5 flags=3(NEXT+WRITE)";
  EXPECT_EQ(Fact(note, "opcode"), 0x2000u);
  EXPECT_EQ(Fact(note, "id"), 5u);
  EXPECT_EQ(Fact(note, "command_id"), 32u);
  EXPECT_EQ(Fact(note, "flags"), 3u);
  EXPECT_EQ(Fact(note, "ndesc"), std::nullopt);
}

}  // namespace
}  // namespace vof
