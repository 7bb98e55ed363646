// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_directory.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/quoted.h"

namespace vof {
namespace {

// With a cause that says "later": no limit is reached.
constexpr char kGoesDown[] = "the target goes down";

bool SameNames(const ConnectBody& a, const ConnectBody& b) {
  return a.initiator_name == b.initiator_name && a.target_name == b.target_name;
}

bool SamePeer(const PeerIdentity& a, const PeerIdentity& b) {
  return a.address == b.address && a.certificate_names == b.certificate_names;
}

// Bits that make no sense over a fabric are never offered; VERSION_1 always in the native dialect.
uint64_t OfferedFeatures(const Device& device, Dialect dialect, const TargetOptions& options) {
  const uint64_t features = device.features() & ~kFeaturesNeverOffered & ~kFeatureVersion1;
  const bool version_1 = dialect == Dialect::kV5 || options.ref_offers_version_1;
  return version_1 ? features | kFeatureVersion1 : features;
}

uint16_t LargestQueueSize(const Device& device, Dialect dialect) {
  const uint16_t size = std::clamp<uint16_t>(device.max_queue_size(), 1, kMaxQueueSize);
  return dialect == Dialect::kRef ? std::bit_floor(size) : size;
}

}  // namespace

ControlPlace::~ControlPlace() { directory_->OnControlGone(instance_); }
QueuePlace::~QueuePlace() { directory_->OnQueueGone(instance_, index_); }

TargetDirectory::~TargetDirectory() = default;

absl::Status TargetDirectory::AddDevice(std::string_view name, std::shared_ptr<Device> device,
                                        DeviceOptions device_options) {
  if (name.empty() || name.size() >= kVqnFieldBytes || name.find('\0') != std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("device name '", std::string(name), "' has ",
                                                   name.size(), " bytes; it must have 1 to ",
                                                   kVqnFieldBytes - 1, ", none of them NUL"));
  }
  if (device->num_queues() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("device '", std::string(name), "' has no virtqueues; it needs at least one"));
  }
  const bool exclusive = device_options.exclusive || !device->shareable();
  std::lock_guard lock(mutex_);
  DeviceEntry entry{std::move(device), exclusive, std::move(device_options.access)};
  if (!devices_.emplace(std::string(name), std::move(entry)).second) {
    return absl::AlreadyExistsError(absl::StrCat("a device named '", std::string(name),
                                                 "' is served already; choose another name"));
  }
  return absl::OkStatus();
}

absl::Status TargetDirectory::RemoveDevice(std::string_view name) {
  std::shared_ptr<Device> device;  // released after the lock: its destructor may take time
  Replies replies;
  {
    std::lock_guard lock(mutex_);
    const auto it = devices_.find(name);
    if (it == devices_.end()) {
      return absl::NotFoundError(
          absl::StrCat("no device named '", std::string(name), "' is served"));
    }
    device = std::move(it->second.device);
    devices_.erase(it);
    const TargetSessions::Users* users = sessions_.UsersOf(device.get());
    if (users != nullptr) {
      for (TargetInstance* user : *users) user->Close();
    }
    RefuseWaiting(device.get(), {.cause = Cause::kUnknownName}, &replies);
  }
  Post(std::move(replies));
  return absl::OkStatus();
}

std::vector<std::string> TargetDirectory::DeviceNames() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : devices_) names.push_back(name);
  return names;
}

std::vector<TargetSessionInfo> TargetDirectory::Sessions() const {
  std::lock_guard lock(mutex_);
  std::vector<TargetSessionInfo> sessions;
  for (const auto& [id, instance] : sessions_.all()) {
    const InstanceIdentity& identity = instance->identity();
    sessions.push_back({.instance_id = id,
                        .dialect = identity.dialect,
                        .initiator_name = identity.body.initiator_name,
                        .target_name = identity.body.target_name,
                        .peer_address = identity.peer.address,
                        .status = instance->state().status,
                        .connected_queues = instance->num_connected_queues(),
                        .closing = instance->closing()});
  }
  return sessions;
}

size_t TargetDirectory::num_instances() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

bool TargetDirectory::AdmitConnection() {
  std::lock_guard lock(mutex_);
  if (num_connections_ >= options_.max_connections) return false;
  ++num_connections_;
  return true;
}

void TargetDirectory::ReleaseConnection() {
  std::lock_guard lock(mutex_);
  --num_connections_;
}

uint32_t TargetDirectory::num_connections() const {
  std::lock_guard lock(mutex_);
  return num_connections_;
}

uint64_t TargetDirectory::num_looks() const {
  std::lock_guard lock(mutex_);
  return num_looks_;
}

uint64_t TargetDirectory::ConnectControl(ConnectRequest request, std::shared_ptr<QueueLink> link,
                                         ControlDone done) {
  AccessCheck access;
  {
    std::lock_guard lock(mutex_);
    const auto it = devices_.find(request.body->target_name);
    if (it != devices_.end()) access = it->second.access;
  }
  // Foreign code runs without our lock.
  if (access && !access(request.peer, request.body->initiator_name, request.body->target_name)) {
    link->executor->Post([done = std::move(done)] { done({.cause = Cause::kAccess}); });
    return 0;
  }
  uint64_t ticket = 0;
  Replies replies;
  {
    std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    TryConnect({ticket, std::move(request), std::move(link), std::move(done)}, &replies);
  }
  Post(std::move(replies));
  return ticket;
}

void TargetDirectory::Withdraw(uint64_t ticket) {
  std::optional<PendingConnect> withdrawn;  // destroyed after the lock: it is foreign code
  std::lock_guard lock(mutex_);
  withdrawn = waiting_.Take(ticket);
}

// Answers, or keeps `pending` until an instance is removed.
void TargetDirectory::TryConnect(PendingConnect pending, Replies* replies) {
  ++num_looks_;
  const auto it = devices_.find(pending.request.body->target_name);
  if (draining_) {
    return Answer(std::move(pending), {.cause = Cause::kExclusiveUse, .obstacle = kGoesDown},
                  replies);
  }
  if (it == devices_.end()) {
    return Answer(std::move(pending), {.cause = Cause::kUnknownName}, replies);
  }
  ControlGrant grant;
  bool must_wait = false;
  grant.cause = FindObstacle(pending.request, it->second, &must_wait, &grant.obstacle);
  if (must_wait) return Wait(std::move(pending), it->second, replies);
  if (grant.cause == Cause::kOk) {
    auto instance = MakeInstance(pending.request, it->second, pending.link);
    grant.place = std::make_shared<ControlPlace>(this, std::move(instance));
  }
  Answer(std::move(pending), std::move(grant), replies);
}

void TargetDirectory::Answer(PendingConnect pending, ControlGrant grant, Replies* replies) {
  replies->push_back({pending.link->executor,
                      [done = std::move(pending.done), grant = std::move(grant)] { done(grant); }});
}

// Only the newest Connect of a session waits: its initiator has given up the others, and each of
// them would only be fenced by the next.
void TargetDirectory::Wait(PendingConnect pending, const DeviceEntry& entry, Replies* replies) {
  const uint64_t ticket = pending.ticket;
  WaitingFor what{.device = entry.device.get(),
                  .session = KeyOf(entry.device.get(), *pending.request.body),
                  .whole_device = entry.exclusive};
  auto older = waiting_.Add(ticket, std::move(what), std::move(pending));
  if (!older.has_value()) return;
  Answer(*std::move(older),
         {.cause = Cause::kExclusiveUse, .obstacle = "a later Connect of its session came"},
         replies);
}

void TargetDirectory::RefuseWaiting(const Device* device, const ControlGrant& grant,
                                    Replies* replies) {
  for (const uint64_t ticket : waiting_.WaitingAt(device)) {
    Answer(*waiting_.Take(ticket), grant, replies);
  }
}

void TargetDirectory::Post(Replies replies) {
  for (Reply& reply : replies) reply.executor->Post(std::move(reply.work));
}

// Whether one of `users` means to stay. One that has let go leaves at the latest now.
bool TargetDirectory::FindOtherUser(const TargetSessions::Users& users, std::string* obstacle) {
  for (TargetInstance* user : users) {
    ++num_looks_;
    if (user->has_let_go()) user->Close();
    if (user->closing()) continue;
    const InstanceIdentity& other = user->identity();
    *obstacle = absl::StrCat("the device is in exclusive use by session ", other.id, " of ",
                             Quoted(other.body.initiator_name), " at ", other.peer.address);
    return true;
  }
  return false;
}

// Sets `must_wait` when the obstacle is an instance that is on its way out: one that this session
// replaces (same names, same token: an older life of the same initiator), or the last user of an
// exclusive device who is leaving already.
Cause TargetDirectory::FindObstacle(const ConnectRequest& request, const DeviceEntry& entry,
                                    bool* must_wait, std::string* obstacle) {
  const auto key = KeyOf(entry.device.get(), *request.body);
  TargetInstance* const replaced = key.has_value() ? sessions_.Find(*key) : nullptr;
  if (replaced != nullptr) {
    replaced->Close();
    *must_wait = true;
  }
  const auto* users = entry.exclusive ? sessions_.UsersOf(entry.device.get()) : nullptr;
  if (users != nullptr && FindOtherUser(*users, obstacle)) {
    *must_wait = false;
    return Cause::kExclusiveUse;
  }
  *must_wait |= users != nullptr;
  if (*must_wait || sessions_.size() < options_.max_instances) return Cause::kOk;
  *obstacle = absl::StrCat("the limit of ", options_.max_instances, " sessions is reached");
  return Cause::kLimit;
}

std::shared_ptr<TargetInstance> TargetDirectory::MakeInstance(const ConnectRequest& request,
                                                              const DeviceEntry& entry,
                                                              std::shared_ptr<QueueLink> link) {
  InstanceIdentity identity;
  identity.id = FreeInstanceId();
  identity.dialect = request.dialect;
  identity.transmission = request.transmission;
  identity.body = *request.body;
  identity.peer = request.peer;
  identity.device = entry.device;
  identity.offered_features = OfferedFeatures(*entry.device, request.dialect, options_);
  identity.num_queues = std::min(entry.device->num_queues(), options_.max_queues_per_instance);
  identity.max_queue_size = LargestQueueSize(*entry.device, request.dialect);
  auto instance = std::make_shared<TargetInstance>(std::move(identity), std::move(link));
  instance->SetInlineSizes(options_.inline_request_bytes, options_.inline_completion_bytes);
  sessions_.Add(instance);
  return instance;
}

// Ids are used in turn, so that one that just ended is not taken for a new one by a late virtqueue.
// kMaxInstances is far below the number of ids, so there is always a free one.
uint16_t TargetDirectory::FreeInstanceId() {
  while (next_instance_id_ == kControlInstanceId || sessions_.HasId(next_instance_id_)) {
    ++next_instance_id_;
  }
  return next_instance_id_++;
}

QueueGrant TargetDirectory::ConnectQueue(const ConnectRequest& request,
                                         std::shared_ptr<QueueLink> link) {
  QueueGrant grant;
  std::lock_guard lock(mutex_);
  const std::shared_ptr<TargetInstance> found = sessions_.FindId(request.instance_id);
  if (found == nullptr) {
    grant.cause = Cause::kNoInstance;
    return grant;
  }
  TargetInstance& instance = *found;
  const InstanceIdentity& identity = instance.identity();
  grant.cause = CheckIdentity(request, identity);
  if (grant.cause != Cause::kOk) return grant;
  if (request.queue_index < identity.num_queues && request.queue_size > identity.max_queue_size) {
    grant.cause = Cause::kQueueSize;
    return grant;
  }
  grant.cause = instance.AttachQueue(request.queue_index, std::move(link), &grant.state);
  if (grant.cause != Cause::kOk) return grant;
  grant.queue_size =
      request.queue_size != 0 ? request.queue_size : instance.queue_size(request.queue_index);
  grant.place = std::make_shared<QueuePlace>(this, found, request.queue_index);
  return grant;
}

// Whether a virtqueue belongs to the session of the control queue. With a token that proves it;
// without one the peer must be the same.
Cause TargetDirectory::CheckIdentity(const ConnectRequest& request,
                                     const InstanceIdentity& identity) {
  if (request.dialect != identity.dialect || request.transmission != identity.transmission) {
    return Cause::kNoInstance;
  }
  if (request.body.has_value()) {
    if (!EqualTokens(request.body->token, identity.body.token)) return Cause::kNamesDiffer;
    if (!SameNames(*request.body, identity.body)) return Cause::kNamesDiffer;
  } else if (identity.body.has_token()) {
    return Cause::kNamesDiffer;
  }
  if (!identity.body.has_token() && !SamePeer(request.peer, identity.peer)) return Cause::kAccess;
  return Cause::kOk;
}

void TargetDirectory::NotifyConfigWritten(const TargetInstance& by) {
  std::lock_guard lock(mutex_);
  const auto* users = sessions_.UsersOf(by.identity().device.get());
  if (users == nullptr) return;
  for (TargetInstance* user : *users) {
    if (user != &by) user->NotifyConfigChanged();
  }
}

void TargetDirectory::BeginDrain() {
  Replies replies;
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    RefuseWaiting(nullptr, {.cause = Cause::kExclusiveUse, .obstacle = kGoesDown}, &replies);
  }
  Post(std::move(replies));
}

void TargetDirectory::OnControlGone(const std::shared_ptr<TargetInstance>& instance) {
  Replies replies;
  {
    std::lock_guard lock(mutex_);
    instance->Close();
    if (instance->DetachControl()) Remove(instance, &replies);
  }
  Post(std::move(replies));
}

void TargetDirectory::OnQueueGone(const std::shared_ptr<TargetInstance>& instance, uint16_t index) {
  Replies replies;
  {
    std::lock_guard lock(mutex_);
    if (instance->DetachQueue(index)) Remove(instance, &replies);
  }
  Post(std::move(replies));
}

// Whoever waited for it tries again, in the order of asking: a later life of the same session, and
// those who want the device for themselves if this was its last user.
void TargetDirectory::Remove(const std::shared_ptr<TargetInstance>& instance, Replies* replies) {
  sessions_.Remove(instance.get());
  const Device* device = instance->identity().device.get();
  const bool device_is_free = sessions_.UsersOf(device) == nullptr;
  const auto key = KeyOf(device, instance->identity().body);
  for (const uint64_t ticket : waiting_.FreedBy(device, key, device_is_free)) {
    TryConnect(*waiting_.Take(ticket), replies);
  }
}

}  // namespace vof
