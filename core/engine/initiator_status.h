// SPDX-License-Identifier: Apache-2.0
//
// What an initiator tells people when it fails: an absl::Status whose text names the thing, and the
// kind of failure behind it for programs that choose exit codes.
//
//   absl::Status s = RefusedStatus(Dialect::kV5, "connect", completion);
//   FailureKindOf(s) == FailureKind::kRefused;  FailureCauseOf(s) == Cause::kUnknownName
//
// The kind survives prefixes (WithContext, WithHint). Set-up and control only. Any thread.
#ifndef VOF_CORE_ENGINE_INITIATOR_STATUS_H_
#define VOF_CORE_ENGINE_INITIATOR_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/base/time.h"
#include "core/engine/stream_engine.h"
#include "core/wire/codec.h"
#include "core/wire/command.h"

namespace vof {

enum class FailureKind : uint8_t {
  kNone,           // no failure, or one that did not come from an initiator
  kCannotConnect,  // nobody to talk to: dialling failed, or what answered may be no target
  kRefused,        // the target answered no
  kTimedOut,       // no answer in time, of a target that had answered before
  kUnsupported,    // the target cannot do what was asked
  kProtocol,       // the target broke the protocol
  kLost,           // an established session ended
  kClosed,         // this side ended it
};
FailureKind FailureKindOf(const absl::Status& status);
// Why the target refused; kOk when it did not.
Cause FailureCauseOf(const absl::Status& status);

// `what` was refused ("connect", "get_vq_size of virtqueue 3"). kPermissionDenied, kNotFound,
// kUnimplemented or kFailedPrecondition, by cause. The EIO of `ref` is no refusal: kDataLoss.
absl::Status RefusedStatus(Dialect dialect, std::string_view what, const Completion& completion);
// The connect of `queue` ("virtqueue 3") of a session that was accepted.
absl::Status RefusedQueueStatus(Dialect dialect, std::string_view queue,
                                const Completion& completion);
// "100 ms"; "500 us" of what is below a millisecond.
std::string LimitText(Nanoseconds limit);
// A request on `queue` ("virtqueue 3") had `limit` for its answer. kDeadlineExceeded.
absl::Status LateRequestStatus(std::string_view queue, Nanoseconds limit);
absl::Status UnsupportedStatus(std::string_view text);    // kUnimplemented
absl::Status TimedOutStatus(std::string_view text);       // kDeadlineExceeded
absl::Status CannotConnectStatus(std::string_view text);  // kUnavailable
absl::Status ProtocolStatus(WireError error);             // kInternal
absl::Status ProtocolStatus(std::string_view text);
absl::Status LostStatus(CloseReason reason, int error);  // kUnavailable
absl::Status ClosedStatus();                             // kCancelled

// The same failure, sharing nothing with `status`: for another thread. (A copy shares a counted
// object; Debian's Abseil is not built for TSan, which would see a race there.)
absl::Status Detached(const absl::Status& status);
// The same failure, code and text included, as one of kind kCannotConnect; detached too.
absl::Status AsCannotConnect(const absl::Status& status);
// The same failure with "context: " before its text; detached too.
absl::Status WithContext(std::string_view context, const absl::Status& status);
// The same failure with what to do about it, or to think of it, behind its text: "; hint".
absl::Status WithHint(std::string_view hint, const absl::Status& status);

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_STATUS_H_
