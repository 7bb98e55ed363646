// SPDX-License-Identifier: Apache-2.0
#include "testing/golden/expectations.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/wire/ref.h"
#include "core/wire/test_bytes.h"
#include "gtest/gtest.h"

namespace vof {
namespace {

struct NameRow {
  std::string_view name;
  CommandKind kind;
};
constexpr NameRow kNames[] = {
    {"CONNECT", CommandKind::kConnect},
    {"GET_VENDOR_ID", CommandKind::kGetVendorId},
    {"GET_DEVICE_ID", CommandKind::kGetDeviceId},
    {"GET_GENERATION", CommandKind::kGetGeneration},
    {"GET_STATUS", CommandKind::kGetStatus},
    {"SET_STATUS", CommandKind::kSetStatus},
    {"GET_DEVICE_FEATURE", CommandKind::kGetDeviceFeature},
    {"SET_DRIVER_FEATURE", CommandKind::kSetDriverFeature},
    {"GET_NUM_QUEUES", CommandKind::kGetNumQueues},
    {"GET_QUEUE_SIZE", CommandKind::kGetVqSize},
    {"GET_CONFIG", CommandKind::kGetConfig},
    {"VRING", CommandKind::kVq},
};

// The note that describes the header: the first one on a stream, "command ..." or "completion ..."
// on RDMA.
std::string_view HeaderNote(const RecordedPdu& pdu) {
  for (const std::string& note : pdu.notes) {
    if (note.find("command_id=") != std::string::npos) return note;
  }
  ADD_FAILURE() << "PDU " << pdu.number << " has no note about its header";
  return {};
}

std::string_view NameIn(std::string_view note) {
  constexpr std::string_view kRdmaPrefix = "command ";
  if (note.substr(0, kRdmaPrefix.size()) == kRdmaPrefix) note.remove_prefix(kRdmaPrefix.size());
  return note.substr(0, note.find_first_of(": "));
}

// A note need not mention everything, but what it mentions must be so.
void ExpectFact(std::string_view note, std::string_view key, uint64_t actual) {
  const std::optional<uint64_t> recorded = Fact(note, key);
  if (recorded) {
    EXPECT_EQ(actual, *recorded) << key << " in: " << note;
  }
}

void ExpectNotedFields(std::string_view note, const Command& command) {
  ExpectFact(note, "opcode", command.opcode);
  ExpectFact(note, "command_id", command.command_id);
  switch (command.kind) {
    case CommandKind::kConnect:
      ExpectFact(note, "target_id", command.instance_id);
      ExpectFact(note, "queue_id", command.queue_index);
      ExpectFact(note, "ndesc", command.ndesc);
      ExpectFact(note, "oftype", static_cast<uint64_t>(command.transmission));
      EXPECT_EQ(command.body_length, kConnectBodyBytes);
      break;
    case CommandKind::kSetStatus:
      ExpectFact(note, "status", command.value);
      break;
    case CommandKind::kGetDeviceFeature:
      ExpectFact(note, "feature_select", command.select);
      break;
    case CommandKind::kSetDriverFeature:
      ExpectFact(note, "feature_select", command.select);
      ExpectFact(note, "value", command.value);
      break;
    case CommandKind::kGetVqSize:
      ExpectFact(note, "queue_id", command.queue_index);
      break;
    case CommandKind::kGetConfig:
      ExpectFact(note, "offset", command.offset);
      ExpectFact(note, "bytes", command.bytes);
      break;
    case CommandKind::kVq:
      ExpectFact(note, "ndesc", command.ndesc);
      break;
    default:
      break;
  }
}

}  // namespace

CommandKind KindNamed(std::string_view recorded_name) {
  for (const NameRow& row : kNames) {
    if (row.name == recorded_name) return row.kind;
  }
  return CommandKind::kUnknown;
}

HeaderIn HeaderOfPdu(const RecordedPdu& pdu) {
  static constexpr std::array<std::byte, kHeaderBytes> kNone{};
  if (pdu.bytes.size() >= kHeaderBytes) {
    return std::span<const std::byte>(pdu.bytes).first<kHeaderBytes>();
  }
  ADD_FAILURE() << "PDU " << pdu.number << " is shorter than a header";
  return kNone;
}

std::string_view SegmentNote(const RecordedPdu& pdu, size_t index) {
  const std::string prefix = "desc[" + std::to_string(index) + "]";
  for (const std::string& note : pdu.notes) {
    if (note.compare(0, prefix.size(), prefix) == 0) return note;
  }
  return {};
}

Command ExpectCommand(const RecordedPdu& pdu, bool clean_peer) {
  const std::string_view note = HeaderNote(pdu);
  Command command;
  EXPECT_EQ(Ref::DecodeCommand(HeaderOfPdu(pdu), command), WireError::kNone);
  EXPECT_NE(command.kind, CommandKind::kUnknown) << note;
  EXPECT_EQ(command.kind, KindNamed(NameIn(note))) << note;
  ExpectNotedFields(note, command);

  Header encoded;
  Ref::EncodeCommand(command, encoded);
  Command again;
  EXPECT_EQ(Ref::DecodeCommand(encoded, again), WireError::kNone);
  EXPECT_TRUE(again == command) << note;
  if (clean_peer) {
    Header recorded;
    std::copy_n(pdu.bytes.begin(), kHeaderBytes, recorded.begin());
    // The length of a vring command is whatever the peer counts; nobody uses it.
    if (command.kind == CommandKind::kVq) {
      std::fill_n(recorded.begin() + 4, 4, std::byte{0});
    }
    EXPECT_EQ(Hex(encoded), Hex(recorded)) << note;
  }
  return command;
}

Completion ExpectCompletion(const RecordedPdu& pdu, CommandKind kind) {
  const std::string_view note = HeaderNote(pdu);
  EXPECT_EQ(note.substr(0, 10), "completion") << note;
  const Completion completion = Ref::DecodeCompletion(kind, HeaderOfPdu(pdu));
  ExpectFact(note, "status", completion.status);
  ExpectFact(note, "command_id", completion.command_id);
  ExpectFact(note, "ndesc", completion.ndesc);
  if (kind == CommandKind::kConnect) {
    ExpectFact(note, "value", completion.instance_id);
  } else if (kind == CommandKind::kVq) {
    ExpectFact(note, "value", completion.used_length);
  } else {
    ExpectFact(note, "value", completion.value);
  }
  EXPECT_TRUE(completion.ok()) << note;

  Header encoded;
  Ref::EncodeCompletion(kind, completion, encoded);
  EXPECT_EQ(Hex(encoded), Hex(HeaderOfPdu(pdu))) << note;
  return completion;
}

std::vector<Segment> ExpectSegments(const RecordedPdu& pdu, size_t offset, size_t count) {
  std::vector<Segment> segments;
  if (pdu.bytes.size() < offset + count * Ref::kDescriptorBytes) {
    ADD_FAILURE() << "PDU " << pdu.number << " is too short for " << count << " descriptors";
    return segments;
  }
  for (size_t i = 0; i < count; ++i) {
    const auto wire = std::span<const std::byte>(pdu.bytes).subspan(
        offset + i * Ref::kDescriptorBytes, Ref::kDescriptorBytes);
    const Segment segment = Ref::DecodeSegment(wire);
    const std::string_view note = SegmentNote(pdu, i);
    EXPECT_FALSE(note.empty()) << "PDU " << pdu.number << " descriptor " << i;
    ExpectFact(note, "addr", segment.address);
    ExpectFact(note, "length", segment.length_bytes);
    ExpectFact(note, "id", segment.id);
    ExpectFact(note, "key", segment.key);
    EXPECT_EQ(segment.writable, (Fact(note, "flags").value_or(0) & 2) != 0) << note;

    std::vector<std::byte> encoded(Ref::kDescriptorBytes);
    Ref::EncodeSegment(segment, encoded);
    std::vector<std::byte> recorded(wire.begin(), wire.end());
    recorded[14] &= std::byte{0xfe};  // the vring NEXT bit, which we do not send
    EXPECT_EQ(Hex(encoded), Hex(recorded)) << note;
    segments.push_back(segment);
  }
  return segments;
}

}  // namespace vof
