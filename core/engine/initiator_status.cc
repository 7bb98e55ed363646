// SPDX-License-Identifier: Apache-2.0
#include "core/engine/initiator_status.h"

#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {
namespace {

constexpr char kPayloadUrl[] = "vof/initiator_failure";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// The payload is two bytes: kind and cause.
absl::Status Tagged(absl::StatusCode code, std::string_view text, FailureKind kind,
                    Cause cause = Cause::kOk) {
  absl::Status status(code, View(text));
  const char bytes[] = {static_cast<char>(kind), static_cast<char>(cause)};
  status.SetPayload(kPayloadUrl, absl::Cord(absl::string_view(bytes, sizeof(bytes))));
  return status;
}

uint8_t PayloadByte(const absl::Status& status, size_t index) {
  const auto payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return 0;
  const std::string bytes(*payload);
  return bytes.size() == 2 ? static_cast<uint8_t>(bytes[index]) : 0;
}

absl::StatusCode CodeOf(Cause cause) {
  switch (cause) {
    case Cause::kAccess:
    case Cause::kNamesDiffer:
      return absl::StatusCode::kPermissionDenied;
    case Cause::kUnknownName:
    case Cause::kNoInstance:
      return absl::StatusCode::kNotFound;
    case Cause::kUnknownCommand:
      return absl::StatusCode::kUnimplemented;
    default:
      return absl::StatusCode::kFailedPrecondition;
  }
}

}  // namespace

FailureKind FailureKindOf(const absl::Status& status) {
  return static_cast<FailureKind>(PayloadByte(status, 0));
}

Cause FailureCauseOf(const absl::Status& status) {
  return static_cast<Cause>(PayloadByte(status, 1));
}

namespace {

// `v5` has one number for a device in use and for a limit, `ref` has two.
std::string_view TextOf(Dialect dialect, Cause cause) {
  if (dialect == Dialect::kRef && cause == Cause::kExclusiveUse) {
    return "the device is in use by another session: end the other one, or serve the device with "
           "shared=true";
  }
  return CauseText(cause);
}

// The device is this session's: what was refused for it as a whole is a matter of the queue here.
std::string_view QueueTextOf(Dialect dialect, Cause cause) {
  if (cause == Cause::kExclusiveUse && dialect == Dialect::kRef) {
    return CauseText(Cause::kQueueBusy);
  }
  if (cause == Cause::kExclusiveUse || cause == Cause::kLimit) {
    return "the target could not open the queue: see its log";
  }
  return CauseText(cause);
}

absl::Status RefusedWithText(Dialect dialect, std::string_view what, const Completion& completion,
                             std::string_view text) {
  const FailureKind kind = completion.cause == Cause::kUnknownCommand ? FailureKind::kUnsupported
                                                                      : FailureKind::kRefused;
  const std::string number =
      dialect == Dialect::kV5
          ? absl::StrCat(View(V5::StatusName(completion.status)), ", status 0x",
                         absl::Hex(completion.status, absl::kZeroPad4))
          : absl::StrCat(View(Ref::StatusName(completion.status)), ", status ", completion.status);
  // In `ref` that is how a request fails that the target did execute.
  if (dialect == Dialect::kRef && completion.status == ref::status::kEio) {
    return Tagged(
        absl::StatusCode::kDataLoss,
        absl::StrCat("the target could not do a ", View(what), ": I/O error (", number, ")"),
        FailureKind::kNone, completion.cause);
  }
  return Tagged(
      CodeOf(completion.cause),
      absl::StrCat("the target refused ", View(what), ": ", View(text), " (", number, ")"), kind,
      completion.cause);
}

}  // namespace

absl::Status RefusedStatus(Dialect dialect, std::string_view what, const Completion& completion) {
  return RefusedWithText(dialect, what, completion, TextOf(dialect, completion.cause));
}

absl::Status RefusedQueueStatus(Dialect dialect, std::string_view queue,
                                const Completion& completion) {
  return RefusedWithText(dialect, absl::StrCat("connect of ", View(queue)), completion,
                         QueueTextOf(dialect, completion.cause));
}

std::string LimitText(Nanoseconds limit) {
  if (limit >= kNanosecondsPerMillisecond) {
    return absl::StrCat(limit / kNanosecondsPerMillisecond, " ms");
  }
  return absl::StrCat(limit / 1000, " us");
}

absl::Status LateRequestStatus(std::string_view queue, Nanoseconds limit) {
  return TimedOutStatus(
      absl::StrCat("a request on ", View(queue), " was not answered within ", LimitText(limit)));
}
absl::Status UnsupportedStatus(std::string_view text) {
  return Tagged(absl::StatusCode::kUnimplemented, text, FailureKind::kUnsupported);
}
absl::Status TimedOutStatus(std::string_view text) {
  return Tagged(absl::StatusCode::kDeadlineExceeded, text, FailureKind::kTimedOut);
}
absl::Status CannotConnectStatus(std::string_view text) {
  return Tagged(absl::StatusCode::kUnavailable, text, FailureKind::kCannotConnect);
}
absl::Status ProtocolStatus(std::string_view text) {
  return Tagged(absl::StatusCode::kInternal,
                absl::StrCat("the target broke the protocol: ", View(text)),
                FailureKind::kProtocol);
}
absl::Status ProtocolStatus(WireError error) { return ProtocolStatus(WireErrorText(error)); }

absl::Status LostStatus(CloseReason reason, int error) {
  if (reason == CloseReason::kLocal) return ClosedStatus();
  std::string text = reason == CloseReason::kPeerClosed ? "the target closed the connection"
                                                        : "the connection broke";
  if (error != 0) absl::StrAppend(&text, ": ", std::strerror(error));
  return Tagged(absl::StatusCode::kUnavailable, text, FailureKind::kLost);
}

absl::Status ClosedStatus() {
  return Tagged(absl::StatusCode::kCancelled, "the connection was closed by this side",
                FailureKind::kClosed);
}

namespace {

absl::Status Rewritten(const absl::Status& status, absl::string_view text) {
  absl::Status out(status.code(), text);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    out.SetPayload(url, absl::Cord(absl::string_view(std::string(payload))));
  });
  return out;
}

}  // namespace

absl::Status Detached(const absl::Status& status) {
  return status.ok() ? absl::OkStatus() : Rewritten(status, status.message());
}

absl::Status AsCannotConnect(const absl::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const absl::string_view text = status.message();
  return Tagged(status.code(), {text.data(), text.size()}, FailureKind::kCannotConnect,
                FailureCauseOf(status));
}

absl::Status WithContext(std::string_view context, const absl::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return Rewritten(status, absl::StrCat(View(context), ": ", status.message()));
}

absl::Status WithHint(std::string_view hint, const absl::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return Rewritten(status, absl::StrCat(status.message(), "; ", View(hint)));
}

}  // namespace vof
