// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/client_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/engine/agreed_options.h"
#include "core/engine/initiator_control_keyed.h"
#include "core/engine/initiator_control_stream.h"
#include "core/engine/initiator_status.h"
#include "core/runtime/client_keyed.h"
#include "core/wire/utf8.h"
#include "core/wire/with_codec.h"

namespace vof {
namespace {

// How long Close() waits for requests under way, and for the connections to end after that.
constexpr Nanoseconds kDrainTime = 5 * kNanosecondsPerSecond;
constexpr Nanoseconds kCloseTime = 2 * kNanosecondsPerSecond;
// The session has deadlines of its own; this one is for a reactor that does not run.
constexpr Nanoseconds kSlack = 2 * kNanosecondsPerSecond;
// Of one operation: a whole bring-up, or all reads of a configuration that keeps changing.
constexpr Nanoseconds kMostCommands = 256;

std::string DefaultInitiatorName() {
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0' || !IsUtf8(host)) {
    return "vof.initiator";
  }
  return absl::StrCat("vof.", host);
}

}  // namespace

ClientSession::ClientSession(Uri uri, BackendRegistry* registry, DeviceClientOptions options)
    : uri_(std::move(uri)), registry_(registry), options_(std::move(options)) {}

std::string ClientSession::Context() const { return FormatUriBare(uri_); }

Nanoseconds ClientSession::CommandTimeout() const {
  return uri_.options.io_timeout == 0 ? kInfiniteFuture : uri_.options.io_timeout;
}

Nanoseconds ClientSession::LongestOperation() const {
  const Nanoseconds timeout = CommandTimeout();
  return timeout > kInfiniteFuture / kMostCommands ? kInfiniteFuture
                                                   : kSlack + kMostCommands * timeout;
}

absl::Status ClientSession::status() const {
  return signal_->Read([&] { return WithContext(Context(), status_); });
}

// --- Beginning ---

absl::Status ClientSession::Open() {
  deadline_ = DeadlineAfter(MonotonicNow(), uri_.options.connect_timeout);
  absl::Status status = CheckRequest();
  if (!status.ok()) return WithContext(Context(), status);
  status = StartReactors();
  if (status.ok()) status = MakeToken();
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Link>> link = Dial();
  if (!link.ok()) return WithContext(Context(), link.status());
  peer_ = (*link)->peer();
  StartControl(*std::move(link));
  status = WaitFor([this] { return signal_->Read([&] { return asked_for_virtqueues_; }); },
                   "the control queue");
  if (status.ok()) status = OpenVirtqueues();
  if (status.ok()) {
    Post([](InitiatorSession* session, const absl::Status&) {
      if (session != nullptr) session->VirtqueuesOpened();
    });
    status = WaitFor([this] { return signal_->Read([&] { return ready_; }); }, "the device");
  }
  if (status.ok()) {
    memory_->Open(virtqueues_);
  } else {
    Close();
  }
  return WithContext(Context(), status);
}

absl::StatusOr<MemoryRegistration> ClientSession::RegisterMemory(MutableBuffer bytes) {
  absl::StatusOr<MemoryRegistration> registration = memory_->Register(bytes);
  if (!registration.ok()) return WithContext(Context(), registration.status());
  return registration;
}

absl::Status ClientSession::StartReactors() {
  reactors_ = options_.reactors;
  if (!reactors_.empty()) return absl::OkStatus();
  for (int i = 0; i < std::max(options_.own_reactors, 1); ++i) {
    absl::StatusOr<std::unique_ptr<ReactorThread>> thread =
        ReactorThread::Start(options_.own_reactor);
    if (!thread.ok()) return thread.status();
    reactors_.push_back((*thread)->reactor());
    own_reactors_.push_back(*std::move(thread));
  }
  return absl::OkStatus();
}

// ParseUri has seen what came in a URI; these may have come another way.
absl::Status ClientSession::CheckRequest() const {
  UriOptions options = uri_.options;
  if (options.initiator_name.empty()) options.initiator_name = options_.initiator_name;
  if (!options.initiator_name.empty()) {
    const std::string name = options.initiator_name;
    if (absl::Status bad = SetUriOption("ivqn", name, &options); !bad.ok()) return bad;
  }
  return CheckUriOptions(options);
}

absl::Status ClientSession::MakeToken() {
  body_.target_name = uri_.name;
  body_.initiator_name = uri_.options.initiator_name;
  if (body_.initiator_name.empty()) body_.initiator_name = options_.initiator_name;
  if (body_.initiator_name.empty()) body_.initiator_name = DefaultInitiatorName();
  if (uri_.options.dialect == Dialect::kRef) return absl::OkStatus();
  if (!FillRandom(std::as_writable_bytes(std::span(body_.token)))) {
    return absl::ErrnoToStatus(errno, "cannot make a session token");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Link>> ClientSession::Dial() {
  absl::StatusOr<Backend*> backend = registry_->Find(uri_.scheme);
  if (!backend.ok()) return backend.status();
  absl::StatusOr<std::unique_ptr<Link>> link = (*backend)->Dial(uri_, deadline_);
  if (!link.ok()) {
    const std::string text(link.status().message());
    if (absl::IsDeadlineExceeded(link.status())) return AsCannotConnect(TimedOutStatus(text));
    // Not found: no host has that name. A device that the target does not know is a refusal.
    if (absl::IsUnavailable(link.status()) || absl::IsNotFound(link.status())) {
      return CannotConnectStatus(text);
    }
    return link.status();
  }
  return link;
}

absl::StatusOr<std::unique_ptr<Connection>> ClientSession::AttachControl(
    Link* link, InitiatorSessionOptions options) {
  options.handshake.transmission = link->transmission();
  if (link->transmission() == Transmission::kKeyed && options.handshake.queue_size == 0) {
    options.handshake.queue_size = kDefaultKeyedQueueSize;
  }
  using Result = absl::StatusOr<std::unique_ptr<Connection>>;
  return WithCodec(uri_.options.dialect, [&]<Codec C>() -> Result {
    if (link->transmission() == Transmission::kStream) {
      auto engine = std::make_unique<InitiatorControlStream<C>>(body_, std::move(options));
      control_ = engine.get();
      return link->Attach(std::move(engine));
    }
    const auto keyed = ClientKeyedOptions(reactors_[0], *link, SessionInfo{});
    if (!keyed.ok()) return keyed.status();
    auto engine = std::make_unique<InitiatorControlKeyed<C>>(body_, std::move(options), *keyed);
    control_ = engine.get();
    return link->AttachMessages(std::move(engine));
  });
}

void ClientSession::StartControl(std::unique_ptr<Link> link) {
  const std::shared_ptr<ClientSession> self = shared_from_this();
  signal_->Change([&] { control_attached_ = true; });
  // std::function wants something that can be copied.
  auto shared = std::make_shared<std::unique_ptr<Link>>(std::move(link));
  reactors_[0]->Post([self, shared, options = SessionOptions()] {
    absl::StatusOr<std::unique_ptr<Connection>> connection =
        self->AttachControl(shared->get(), options);
    if (!connection.ok()) {
      self->OnEnded(connection.status());
      self->signal_->Change([&] { self->control_finished_ = true; });
      return;
    }
    self->connection_ = connection->get();
    self->reactors_[0]->Add(*std::move(connection), [self](Connection*) {
      self->control_ = nullptr;
      self->connection_ = nullptr;
      self->signal_->Change([&] { self->control_finished_ = true; });
    });
  });
}

InitiatorSessionOptions ClientSession::SessionOptions() {
  InitiatorSessionOptions options;
  options.handshake.dialect = uri_.options.dialect;
  options.handshake.wanted_features = options_.wanted_features;
  options.handshake.queues = std::max<uint16_t>(
      uri_.options.queues != 0 ? uri_.options.queues : options_.default_queues, uint16_t{1});
  options.handshake.queue_size = uri_.options.queue_size;
  options.handshake.num_queues_field = options_.num_queues_field;
  options.handshake.num_queues_feature = options_.num_queues_feature;
  options.connect_timeout = std::max<Nanoseconds>(deadline_ - MonotonicNow(), 1);
  options.whole_connect_timeout = uri_.options.connect_timeout;
  options.command_timeout = CommandTimeout();
  options.keepalive = uri_.options.keepalive;
  const std::shared_ptr<ClientSession> self = shared_from_this();
  options.on_open_virtqueues = [self](const SessionInfo& info) {
    self->signal_->Change([&] {
      self->info_ = info;
      self->asked_for_virtqueues_ = true;
    });
  };
  options.on_ready = [self](const SessionInfo&) {
    self->signal_->Change([&] { self->ready_ = true; });
  };
  options.on_config_changed = options_.on_config_changed;
  options.on_ended = [self](const absl::Status& why) { self->OnEnded(why); };
  return options;
}

absl::Status ClientSession::OpenVirtqueues() {
  for (size_t i = 0; i < info_.queue_sizes.size(); ++i) {
    InitiatorQueueOptions queue = AgreedQueueOptions(info_, i);
    queue.timeout = uri_.options.io_timeout;
    virtqueues_.push_back(std::make_shared<ClientVirtqueue>(
        static_cast<uint16_t>(i), reactors_[i % reactors_.size()], queue, signal_));
  }
  for (const std::shared_ptr<ClientVirtqueue>& virtqueue : virtqueues_) {
    absl::StatusOr<std::unique_ptr<Link>> link = Dial();
    if (!link.ok()) return link.status();
    InitiatorVirtqueueOptions options;
    options.instance_id = info_.instance_id;
    options.queue_index = virtqueue->index();
    options.body = body_;
    options.connect_timeout = std::max<Nanoseconds>(deadline_ - MonotonicNow(), 1);
    virtqueue->Attach(*std::move(link), info_, std::move(options), options_.request_registration);
  }
  const auto all_connected = [this] {
    return std::all_of(virtqueues_.begin(), virtqueues_.end(),
                       [](const auto& virtqueue) { return virtqueue->connected(); });
  };
  const absl::Status status = WaitFor(all_connected, "the virtqueues");
  const bool alone = signal_->Read([&] { return status_.ok(); });
  if (FailureKindOf(status) != FailureKind::kLost || !alone || all_connected()) return status;
  return WithHint(
      "the target may be at its limit of connections: a session takes one, and one more for each "
      "virtqueue",
      status);
}

absl::Status ClientSession::FirstFailure() const {
  absl::Status status = signal_->Read([&] { return Detached(status_); });
  for (size_t i = 0; i < virtqueues_.size() && status.ok(); ++i) status = virtqueues_[i]->status();
  return status;
}

absl::Status ClientSession::WaitFor(std::function<bool()> reached, const char* what) {
  const auto over = [&] { return reached() || !FirstFailure().ok(); };
  if (!signal_->WaitUntil(DeadlineAfter(deadline_, kSlack), over)) {
    return TimedOutStatus(absl::StrCat(what, " did not come up in time"));
  }
  return FirstFailure();
}

// --- Ending ---

// Before a target has answered, it is doubtful that there is one.
absl::Status ClientSession::Explained(const absl::Status& why) const {
  if (control_ == nullptr || control_->session().met_a_target()) return why;
  const std::string place = absl::StrCat(peer_.address, ":", peer_.port);
  switch (FailureKindOf(why)) {
    case FailureKind::kProtocol:
    case FailureKind::kRefused:
      return AsCannotConnect(WithHint(
          absl::StrCat("whatever listens at ", place, " does not seem to be a vof target"), why));
    case FailureKind::kLost:
    case FailureKind::kTimedOut:
      return AsCannotConnect(
          WithHint(absl::StrCat("what listens at ", place,
                                " may be no vof target, or one that takes no more connections"),
                   why));
    default:
      return why;
  }
}

void ClientSession::OnEnded(const absl::Status& ended) {
  const absl::Status why = Explained(ended);
  const bool established = signal_->Read([&] { return ready_; });
  signal_->Change([&] {
    status_ = Detached(why);
    ended_ = true;
  });
  // Virtqueues mean nothing without their control queue. Before the device is ready they are looked
  // after by Open, whose thread makes them.
  if (!established) return;
  for (const std::shared_ptr<ClientVirtqueue>& virtqueue : virtqueues_) virtqueue->Close(why);
  if (options_.on_ended) options_.on_ended(status());
}

void ClientSession::Close() {
  signal_->Change([&] { closing_ = true; });
  memory_->Close();
  // Requests first, then the device, then the connections: some targets end everything with the
  // first connection that goes.
  for (const auto& virtqueue : virtqueues_) virtqueue->Drain();
  signal_->WaitUntil(DeadlineAfter(MonotonicNow(), kDrainTime), [this] {
    return std::all_of(virtqueues_.begin(), virtqueues_.end(),
                       [](const auto& virtqueue) { return virtqueue->drained(); });
  });
  const bool attached = signal_->Read([&] { return control_attached_; });
  if (attached) {
    Post([](InitiatorSession* session, const absl::Status&) {
      if (session != nullptr) session->Disconnect();
    });
    signal_->WaitUntil(DeadlineAfter(MonotonicNow(), kCloseTime),
                       [this] { return signal_->Read([&] { return ended_; }); });
    reactors_[0]->Post([self = shared_from_this()] {
      if (self->connection_ != nullptr) {
        self->connection_->Close(CloseReason::kLocal, MonotonicNow());
      }
    });
  }
  for (const auto& virtqueue : virtqueues_) virtqueue->Close(ClosedStatus());
  signal_->WaitUntil(DeadlineAfter(MonotonicNow(), kCloseTime), [this] {
    return signal_->Read([&] { return control_finished_ || !control_attached_; }) &&
           std::all_of(virtqueues_.begin(), virtqueues_.end(),
                       [](const auto& virtqueue) { return virtqueue->finished(); });
  });
  own_reactors_.clear();  // stops and joins: no thread is left that could touch this
}

void ClientSession::Post(std::function<void(InitiatorSession*, const absl::Status& ended)> work) {
  reactors_[0]->Post([self = shared_from_this(), work = std::move(work)] {
    if (self->control_ == nullptr) {
      work(nullptr, self->signal_->Read([&] { return Detached(self->status_); }));
      return;
    }
    work(&self->control_->session(), absl::OkStatus());
    self->control_->Notify();
  });
}

}  // namespace vof
