// SPDX-License-Identifier: Apache-2.0
//
// The codec seam: what a dialect must offer. Engines are templates over it and never look at a wire
// byte.
//
//   template <Codec C> void Handle(std::span<const std::byte, kHeaderBytes> bytes) {
//     Command command;
//     if (WireError e = C::DecodeCommand(bytes, command); e != WireError::kNone) Close(e);
//     ...
//
// Decoding never trusts a length; every violation is a WireError that names the rule broken. None
// of these functions allocates, blocks or keeps state; all may be called from any thread.
#ifndef VOF_CORE_WIRE_CODEC_H_
#define VOF_CORE_WIRE_CODEC_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/wire/command.h"

namespace vof {

// Commands and completions have this size in both dialects.
inline constexpr size_t kHeaderBytes = 16;
using HeaderIn = std::span<const std::byte, kHeaderBytes>;
using HeaderOut = std::span<std::byte, kHeaderBytes>;

// The rule that received bytes broke. Each closes the connection.
enum class WireError : uint8_t {
  kNone,
  kNotAConnect,          // first bytes of a connection are no Connect of a known dialect
  kConnectLength,        // body length is neither 0 nor 1024, or `ref` descriptor is not 1024
  kConnectTransmission,  // oftype does not fit the transport
  kNameNotTerminated,    // a VQN field without NUL
  kNameNotUtf8,
  kSecondConnect,
  kCommandBeforeConnect,
  kReservedCommandId,  // 0xff00..0xffff names no command
  kDuplicateCommandId,
  kNoDescriptors,  // `ref` vring with ndesc 0
  kTooManyDescriptors,
  kZeroLengthSegment,
  kSegmentOrder,           // device-readable after device-writable
  kRequestTooLarge,        // sum of lengths beyond the limits (never wraps: summed in 64 bits)
  kUnknownCommandId,       // a completion that answers nothing
  kUsedLength,             // more than asked for, or inconsistent fields
  kCompletionDescriptors,  // not the descriptors of the request
  kGrant,                  // credits beyond the queue size
  kUnexpectedEvent,
  kVirtqueueOnControl,  // vq command on a control queue
  kTruncated,           // the peer closed inside a message
  kMessageLength,       // keyed: longer or shorter than its command says
  kDescriptorTotal,     // keyed `v5`: descriptors do not cover what the command asks for
  kAddressWraps,        // keyed: a segment that passes the end of the address space
  kInlineLength,        // keyed: more inline bytes than agreed, or than there are
};
std::string_view WireErrorText(WireError error);  // one sentence, for logs

// What the first 16 bytes of a connection say about its dialect.
enum class DialectGuess : uint8_t { kNone, kV5, kRef };

template <typename C>
concept Codec = requires(HeaderIn in, HeaderOut out, const Command& command, Command& command_out,
                         const Completion& completion, CommandKind kind, Cause cause,
                         std::span<const std::byte> descriptor_in,
                         std::span<std::byte> descriptor_out, const Segment& segment) {
  { C::kDialect } -> std::convertible_to<Dialect>;
  // True when requests and responses on a stream list their segments (ref).
  { C::kSegmentedStreams } -> std::convertible_to<bool>;
  { C::kDescriptorBytes } -> std::convertible_to<size_t>;
  // Fills `command_out`; an unknown opcode is kUnknown, not an error.
  { C::DecodeCommand(in, command_out) } -> std::same_as<WireError>;
  { C::EncodeCommand(command, out) } -> std::same_as<void>;
  // `kind` is the command that the completion answers (kUnknown: only status and id are
  // read/written; events are coded as kGetConfig for 0xfffe's generation and kVq for 0xfffd's
  // grant).
  { C::EncodeCompletion(kind, completion, out) } -> std::same_as<void>;
  { C::DecodeCompletion(kind, in) } -> std::same_as<Completion>;
  {
    C::DecodeSegment(descriptor_in)
    } -> std::same_as<Segment>;  // kDescriptorBytes, checked by the caller
  { C::EncodeSegment(segment, descriptor_out) } -> std::same_as<void>;
  { C::ToWire(cause) } -> std::same_as<uint16_t>;
};

}  // namespace vof

#endif  // VOF_CORE_WIRE_CODEC_H_
