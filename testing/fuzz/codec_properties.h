// SPDX-License-Identifier: Apache-2.0
//
// What must hold of a codec whatever bytes it is given; the fuzz targets of both dialects check it.
//
//   CheckStream<V5>({data, size});   // ends the process with a message when something does not
//   hold
#ifndef VOF_TESTING_FUZZ_CODEC_PROPERTIES_H_
#define VOF_TESTING_FUZZ_CODEC_PROPERTIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "core/wire/codec.h"
#include "core/wire/command.h"
#include "core/wire/connect_body.h"
#include "core/wire/detect.h"

namespace vof {

inline void Require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", rule);
  std::abort();
}

using Header = std::array<std::byte, kHeaderBytes>;

template <Codec C>
void CheckCommand(HeaderIn in) {
  Command command;
  if (C::DecodeCommand(in, command) != WireError::kNone) return;
  Header encoded;
  C::EncodeCommand(command, encoded);
  Command again;
  Require(C::DecodeCommand(encoded, again) == WireError::kNone, "an encoded command decodes");
  Require(again == command, "a command survives encoding");
  Header twice;
  C::EncodeCommand(again, twice);
  Require(twice == encoded, "a command has one encoding");
}

template <Codec C>
void CheckCompletion(CommandKind kind, HeaderIn in) {
  const Completion completion = C::DecodeCompletion(kind, in);
  Require(completion.ok() == (completion.status == 0), "zero and nothing else is success");
  Header encoded;
  C::EncodeCompletion(kind, completion, encoded);
  Completion again = C::DecodeCompletion(kind, encoded);
  if (completion.cause == Cause::kUnknown) {
    // The number of a status that the dialect does not have is for people, it is not sent on.
    Require(!again.ok(), "an unknown failure does not become success");
    again.cause = completion.cause;
    again.status = completion.status;
  }
  Require(again == completion, "a completion survives encoding");
}

template <Codec C>
void CheckSegment(std::span<const std::byte> in) {
  const Segment segment = C::DecodeSegment(in);
  std::array<std::byte, C::kDescriptorBytes> encoded;
  C::EncodeSegment(segment, encoded);
  Require(C::DecodeSegment(encoded) == segment, "a segment survives encoding");
}

template <Codec C>
void CheckConnectBody(ConnectBodyIn in) {
  ConnectBody body;
  if (DecodeConnectBody(C::kDialect, in, body) != WireError::kNone) {
    Require(body == ConnectBody{}, "a refused body leaves the result alone");
    return;
  }
  Require(CheckName(C::kDialect, body.initiator_name) == WireError::kNone, "ivqn is a name");
  Require(CheckName(C::kDialect, body.target_name) == WireError::kNone, "tvqn is a name");
  Require(C::kDialect == Dialect::kV5 || !body.has_token(), "`ref` has no token");
  std::array<std::byte, kConnectBodyBytes> encoded;
  Require(EncodeConnectBody(C::kDialect, body, encoded) == WireError::kNone, "a body encodes");
  ConnectBody again;
  Require(DecodeConnectBody(C::kDialect, encoded, again) == WireError::kNone, "and decodes");
  Require(again == body, "a body survives encoding");
}

// A connection given to a dialect by its first bytes must not fail there for the same bytes.
template <Codec C>
void CheckDetection(HeaderIn in) {
  constexpr DialectGuess kOurs =
      C::kDialect == Dialect::kV5 ? DialectGuess::kV5 : DialectGuess::kRef;
  Command command;
  const WireError error = C::DecodeCommand(in, command);
  if (DetectDialect(in) == kOurs) {
    Require(command.kind == CommandKind::kConnect, "a detected connection begins with Connect");
    Require(error != WireError::kConnectLength, "a detected Connect has a possible length");
  } else if (command.kind == CommandKind::kConnect) {
    Require(error == WireError::kConnectLength, "what is not detected is no good Connect");
  }
}

// Runs every check at every place of `bytes` where it could apply.
template <Codec C>
void CheckStream(std::span<const std::byte> bytes) {
  for (auto rest = bytes; rest.size() >= kHeaderBytes; rest = rest.subspan(kHeaderBytes)) {
    const HeaderIn header = rest.template first<kHeaderBytes>();
    CheckCommand<C>(header);
    CheckDetection<C>(header);
    for (int k = 0; k <= static_cast<int>(CommandKind::kGetConfigChanged); ++k) {
      CheckCompletion<C>(static_cast<CommandKind>(k), header);
    }
  }
  for (auto rest = bytes; rest.size() >= C::kDescriptorBytes; rest = rest.subspan(8)) {
    CheckSegment<C>(rest.first(C::kDescriptorBytes));
  }
  if (bytes.size() >= kConnectBodyBytes) {
    CheckConnectBody<C>(bytes.last<kConnectBodyBytes>());
  }
}

}  // namespace vof

#endif  // VOF_TESTING_FUZZ_CODEC_PROPERTIES_H_
