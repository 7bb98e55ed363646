// SPDX-License-Identifier: Apache-2.0
//
// Why a channel of the in-process fabric broke: what an adapter says in the status of a completion.
//
//   log << "fabric channel broke: " << FabricErrorText(channel.error());
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_ERROR_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_ERROR_H_

#include <cstdint>
#include <string_view>

namespace vof {

enum class FabricError : uint8_t {
  kNone,
  kPeerClosed,
  kLocalKey,        // a local buffer that the region of its local key does not cover
  kRemoteKey,       // no such region at the peer, or no longer
  kRemoteRange,     // outside the region
  kRemoteAccess,    // the region does not allow it
  kMessageTooLong,  // for the receive that it met
  kInvalidPost,     // beyond limits(), or sizes that differ
  kInjected,        // by FabricFaults
};

constexpr std::string_view FabricErrorText(FabricError error) {
  switch (error) {
    case FabricError::kNone:
      return "no error";
    case FabricError::kPeerClosed:
      return "the peer closed the channel";
    case FabricError::kLocalKey:
      return "a local buffer is not covered by the region of its local key";
    case FabricError::kRemoteKey:
      return "the remote key names no registered region";
    case FabricError::kRemoteRange:
      return "the remote range lies outside its region";
    case FabricError::kRemoteAccess:
      return "the remote region does not allow this access";
    case FabricError::kMessageTooLong:
      return "a message was longer than the receive posted for it";
    case FabricError::kInvalidPost:
      return "a post exceeds the channel's limits, or its local and remote sizes differ";
    case FabricError::kInjected:
      return "broken by the fault plan";
  }
  return "unknown error";
}

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_ERROR_H_
