// SPDX-License-Identifier: Apache-2.0
//
// Compares what the codec makes of recorded bytes with what the recording says about them.
//
//   const Command command = ExpectCommand(pdu);           // header fields as in the notes, and
//   back ExpectSegments(pdu, 16, command.ndesc);               // the descriptors behind the header
//   ExpectCompletion(answer, command.kind);
//
// Findings are GoogleTest failures.
#ifndef VOF_TESTING_GOLDEN_EXPECTATIONS_H_
#define VOF_TESTING_GOLDEN_EXPECTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "testing/golden/recording.h"

namespace vof {

// "GET_QUEUE_SIZE" -> kGetVqSize; kUnknown for a name that is none.
CommandKind KindNamed(std::string_view recorded_name);

HeaderIn HeaderOfPdu(const RecordedPdu& pdu);

// The note about descriptor `index` of a PDU, or empty.
std::string_view SegmentNote(const RecordedPdu& pdu, size_t index);

// Decodes the command at the front of `pdu`, compares its fields with the notes, encodes it and
// compares the bytes that mean something with the recorded ones; and all of them when `clean_peer`,
// that is when the peer initialises reserved bytes.
Command ExpectCommand(const RecordedPdu& pdu, bool clean_peer);

// Likewise for the completion of a command of `kind`.
Completion ExpectCompletion(const RecordedPdu& pdu, CommandKind kind);

// Likewise for `count` descriptors from `offset` on.
std::vector<Segment> ExpectSegments(const RecordedPdu& pdu, size_t offset, size_t count);

}  // namespace vof

#endif  // VOF_TESTING_GOLDEN_EXPECTATIONS_H_
