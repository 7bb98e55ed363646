// SPDX-License-Identifier: Apache-2.0
#include "core/wire/codec.h"

namespace vof {

std::string_view WireErrorText(WireError error) {
  switch (error) {
    case WireError::kNone:
      return "no error";
    case WireError::kNotAConnect:
      return "the first command is no Connect of a known dialect";
    case WireError::kConnectLength:
      return "the Connect body is not 1024 bytes long";
    case WireError::kConnectTransmission:
      return "the Connect asks for a transmission that this transport does not have";
    case WireError::kNameNotTerminated:
      return "a name is longer than 255 bytes or not terminated by NUL";
    case WireError::kNameNotUtf8:
      return "a name is not valid UTF-8";
    case WireError::kSecondConnect:
      return "a second Connect on one connection";
    case WireError::kCommandBeforeConnect:
      return "a command before Connect was answered";
    case WireError::kReservedCommandId:
      return "a command id in the reserved range 0xff00-0xffff";
    case WireError::kDuplicateCommandId:
      return "a command id that is already in flight";
    case WireError::kNoDescriptors:
      return "a vring command without segment descriptors";
    case WireError::kTooManyDescriptors:
      return "more segment descriptors than the limit for one request";
    case WireError::kZeroLengthSegment:
      return "a segment of zero bytes";
    case WireError::kSegmentOrder:
      return "a device-readable segment after a device-writable one";
    case WireError::kRequestTooLarge:
      return "a request larger than the limit";
    case WireError::kUnknownCommandId:
      return "a completion whose command id is not in flight";
    case WireError::kUsedLength:
      return "a completion whose lengths do not fit the request";
    case WireError::kCompletionDescriptors:
      return "a completion whose descriptors are not those of the request";
    case WireError::kGrant:
      return "more credits granted than the virtqueue holds";
    case WireError::kUnexpectedEvent:
      return "an event that is not allowed on this queue at this time";
    case WireError::kVirtqueueOnControl:
      return "a virtqueue command on a control queue";
    case WireError::kTruncated:
      return "the peer closed the connection inside a message";
    case WireError::kMessageLength:
      return "a message that is not as long as its command says";
    case WireError::kDescriptorTotal:
      return "descriptors that do not cover what the command asks for";
    case WireError::kAddressWraps:
      return "a segment that passes the end of the address space";
    case WireError::kInlineLength:
      return "more inline bytes than agreed, or than the request has";
  }
  return "an unknown protocol error";
}

}  // namespace vof
