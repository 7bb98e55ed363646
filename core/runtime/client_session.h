// SPDX-License-Identifier: Apache-2.0
//
// What a DeviceClient and its reactors share: the control queue, the virtqueues, and how they begin
// and end.
//
//   auto session = std::make_shared<ClientSession>(uri, registry, options);
//   absl::Status status = session->Open();             // blocks
//   ...
//   session->Close();                                  // blocks, until no connection is left
//
// Open, Close and Await block and belong to one control thread at a time; the rest may be called
// from any. For client*.cc only.
#ifndef VOF_CORE_RUNTIME_CLIENT_SESSION_H_
#define VOF_CORE_RUNTIME_CLIENT_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/engine/initiator_control.h"
#include "core/engine/initiator_session.h"
#include "core/engine/initiator_status.h"
#include "core/runtime/backend.h"
#include "core/runtime/client.h"
#include "core/runtime/client_memory.h"
#include "core/runtime/client_signal.h"
#include "core/runtime/client_virtqueue.h"
#include "core/runtime/reactor_thread.h"
#include "core/runtime/uri.h"
#include "core/wire/command.h"

namespace vof {

class ClientSession : public std::enable_shared_from_this<ClientSession> {
 public:
  ClientSession(Uri uri, BackendRegistry* registry, DeviceClientOptions options);

  // Errors name the URI.
  absl::Status Open();
  void Close();

  // Constant once Open returned.
  const SessionInfo& info() const { return info_; }
  const PeerIdentity& peer() const { return peer_; }
  const std::vector<std::shared_ptr<ClientVirtqueue>>& virtqueues() const { return virtqueues_; }
  absl::Status status() const;

  absl::StatusOr<MemoryRegistration> RegisterMemory(MutableBuffer bytes);

  // Begins an operation on the session's reactor and waits for its callback. Errors name the URI.
  template <typename T>
  absl::StatusOr<T> Await(
      std::function<void(InitiatorSession&, std::function<void(absl::StatusOr<T>)>)> begin) {
    if (signal_->Read([&] { return closing_; })) return WithContext(Context(), ClosedStatus());
    auto answer = std::make_shared<std::optional<absl::StatusOr<T>>>();
    const std::shared_ptr<ClientSession> self = shared_from_this();
    const auto done = [self, answer](absl::StatusOr<T> value) {
      absl::StatusOr<T> mine =
          value.ok() ? std::move(value)
                     : absl::StatusOr<T>(WithContext(self->Context(), value.status()));
      self->signal_->Change([&] { *answer = std::move(mine); });
    };
    Post([begin = std::move(begin), done](InitiatorSession* session, const absl::Status& ended) {
      if (session != nullptr) {
        begin(*session, done);
      } else {
        done(ended);
      }
    });
    const auto answered = [&] { return self->signal_->Read([&] { return answer->has_value(); }); };
    if (!signal_->WaitUntil(DeadlineAfter(MonotonicNow(), LongestOperation()), answered)) {
      return TimedOutStatus(Context() + ": its reactor does not run");
    }
    return signal_->Read([&] { return std::move(**answer); });
  }

 private:
  // Far above the time-outs of the commands that one operation has: only a reactor that stands
  // still takes so long.
  Nanoseconds LongestOperation() const;

  // Of one command, once the device is ready.
  Nanoseconds CommandTimeout() const;
  absl::Status StartReactors();
  absl::Status CheckRequest() const;
  absl::Status MakeToken();
  absl::StatusOr<std::unique_ptr<Link>> Dial();
  void StartControl(std::unique_ptr<Link> link);
  InitiatorSessionOptions SessionOptions();
  // On the reactor's thread.
  absl::StatusOr<std::unique_ptr<Connection>> AttachControl(Link* link,
                                                            InitiatorSessionOptions options);
  absl::Status OpenVirtqueues();
  absl::Status WaitFor(std::function<bool()> reached, const char* what);
  absl::Status FirstFailure() const;
  // Runs `work` on the control queue's reactor, with null when the control queue has ended.
  void Post(std::function<void(InitiatorSession*, const absl::Status& ended)> work);
  void OnEnded(const absl::Status& ended);
  absl::Status Explained(const absl::Status& why) const;
  std::string Context() const;

  const Uri uri_;
  BackendRegistry* const registry_;
  const DeviceClientOptions options_;
  const std::shared_ptr<ClientSignal> signal_ = std::make_shared<ClientSignal>();
  const std::shared_ptr<ClientMemory> memory_ = std::make_shared<ClientMemory>(signal_);
  MonotonicTime deadline_ = 0;  // of Open
  ConnectBody body_;
  PeerIdentity peer_;
  std::vector<std::unique_ptr<ReactorThread>> own_reactors_;
  std::vector<Reactor*> reactors_;
  std::vector<std::shared_ptr<ClientVirtqueue>> virtqueues_;  // whole before DRIVER_OK

  // The first reactor's thread.
  InitiatorControl* control_ = nullptr;
  Connection* connection_ = nullptr;

  // Under the signal's mutex.
  SessionInfo info_;
  bool asked_for_virtqueues_ = false;
  bool ready_ = false;
  bool closing_ = false;
  bool ended_ = false;
  bool control_attached_ = false;
  bool control_finished_ = false;
  absl::Status status_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_SESSION_H_
