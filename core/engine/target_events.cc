// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_events.h"

#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"

namespace vof {
namespace {

// "v5, from "vqn.host" at 192.0.2.7:40000"
std::string Peer(const TargetEvent& event) {
  const bool named = !event.initiator_name.empty();
  return absl::StrCat(event.dialect == Dialect::kV5 ? "v5" : "ref", ", from ",
                      named ? Quoted(event.initiator_name) + " at " : "", event.peer);
}

std::string Device(const TargetEvent& event) {
  return event.target_name.empty() ? "" : absl::StrCat(" of ", Quoted(event.target_name));
}

std::string Queue(const TargetEvent& event) {
  return absl::StrCat("virtqueue ", event.queue_index, " of session ", event.instance_id,
                      Device(event));
}

std::string End(const TargetEvent& event) {
  return absl::StrCat(" ended (", event.why, "): ", Peer(event));
}

}  // namespace

std::string_view EndCauseName(EndCause cause) {
  switch (cause) {
    case EndCause::kNone:
      return "none";
    case EndCause::kDisconnected:
      return "disconnected";
    case EndCause::kPeerClosed:
      return "closed by the peer";
    case EndCause::kBroken:
      return "broken";
    case EndCause::kProtocol:
      return "protocol error";
    case EndCause::kStalled:
      return "stalled";
    case EndCause::kSilent:
      return "silent";
    case EndCause::kInstanceEnded:
      return "instance ended";
    case EndCause::kDevice:
      return "device";
    case EndCause::kDrained:
      return "drained";
    case EndCause::kStopped:
      return "stopped";
  }
  return "none";
}

std::string_view RefusalText(Cause cause) {
  switch (cause) {
    case Cause::kUnknownName:
      return "no device of this name is served";
    case Cause::kExclusiveUse:
      return "the device is in exclusive use by another session";
    case Cause::kLimit:
      return "the limit of sessions is reached";
    case Cause::kAccess:
      return "this initiator may not use it";
    case Cause::kNoInstance:
      return "there is no such session in this dialect";
    case Cause::kNamesDiffer:
      return "names or session token are not those of the session";
    case Cause::kQueueIndex:
      return "the device has no virtqueue of this index";
    case Cause::kQueueBusy:
      return "the virtqueue is connected already, or its requests have not drained yet";
    case Cause::kQueueSize:
      return "the queue size is larger than the device's";
    default:
      return CauseText(cause);
  }
}

std::string DescribeTargetEvent(const TargetEvent& event) {
  switch (event.kind) {
    case TargetEventKind::kSessionAccepted:
      return absl::StrCat("session ", event.instance_id, Device(event), " accepted: ", Peer(event));
    case TargetEventKind::kSessionEnded:
      return absl::StrCat("session ", event.instance_id, Device(event), End(event));
    case TargetEventKind::kSessionRefused:
      return absl::StrCat("session", Device(event), " refused (", event.why, "): ", Peer(event));
    case TargetEventKind::kQueueAccepted:
      return absl::StrCat(Queue(event), " accepted: ", Peer(event));
    case TargetEventKind::kQueueEnded:
      return absl::StrCat(Queue(event), End(event));
    case TargetEventKind::kQueueRefused:
      return absl::StrCat(Queue(event), " refused (", event.why, "): ", Peer(event));
    case TargetEventKind::kQueueHeld:
      return absl::StrCat(Queue(event), " is held by its device (", event.why, "): ", Peer(event));
    case TargetEventKind::kConnectionUnused:
      return absl::StrCat("connection from ", event.peer, " ended without a queue (", event.why,
                          ")");
    case TargetEventKind::kResultsCopied:
      return absl::StrCat("memory", Device(event), " is not registered, its results are copied (",
                          event.why, ")");
  }
  return "";
}

}  // namespace vof
