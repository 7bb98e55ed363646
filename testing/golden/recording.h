// SPDX-License-Identifier: Apache-2.0
//
// Streams recorded between other implementations, for tests that replay or decode them.
//
//   absl::StatusOr<Recording> recording = LoadRecording("ref_linux_tcp_control.txt");
//   for (const RecordedPdu& pdu : recording->pdus) {
//     if (pdu.direction == Direction::kToTarget) Send(pdu.bytes); else ExpectAnswer(pdu.bytes);
//   }
//
// A target that depends on this library finds the files in its runfiles.
#ifndef VOF_TESTING_GOLDEN_RECORDING_H_
#define VOF_TESTING_GOLDEN_RECORDING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace vof {

enum class Direction : uint8_t { kToTarget, kToInitiator };

struct RecordedPdu {
  int number = 0;  // as in the file
  Direction direction = Direction::kToTarget;
  std::string message;             // RDMA: "SEND", "READ_RESP", "CM_REQ", ...; empty on a stream
  std::vector<std::byte> bytes;    // the whole PDU, unless `shortened`
  size_t size_bytes = 0;           // of the PDU on the wire
  bool shortened = false;          // RDMA: the file holds the first bytes of the payload only
  std::vector<std::string> notes;  // what the file says about the PDU, one line each
};

struct Recording {
  std::vector<RecordedPdu> pdus;
};

// Reads testing/golden/`file_name` from the runfiles, or below the working directory without Bazel.
absl::StatusOr<Recording> LoadRecording(std::string_view file_name);

// Fails on the first line that is not understood, or whose length is not the announced one.
absl::StatusOr<Recording> ParseRecording(std::string_view text);

// The number behind `key`= in a note: Fact("[2]command_id=7 [4]ndesc=2", "ndesc") is 2. Understands
// 0x.
std::optional<uint64_t> Fact(std::string_view note, std::string_view key);

}  // namespace vof

#endif  // VOF_TESTING_GOLDEN_RECORDING_H_
