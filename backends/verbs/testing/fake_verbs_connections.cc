// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/common/socket_address.h"
#include "backends/verbs/testing/fake_verbs.h"
#include "backends/verbs/testing/fake_verbs_types.h"

namespace vof {
namespace {

constexpr int kNobodyListens = 8;
constexpr int kRefused = 28;

socklen_t SizeOf(const sockaddr* address) {
  return address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

}  // namespace

rdma_event_channel* FakeVerbs::CreateEventChannel() {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("CreateEventChannel")) != 0) return nullptr;
  auto* channel = new EventChannel{};
  channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  channels_.insert(channel);
  return channel;
}

void FakeVerbs::DestroyEventChannel(rdma_event_channel* channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto* mine = static_cast<EventChannel*>(channel);
  for (const Id* id : ids_) {
    if (id->channel == channel) Blame("an event channel ended before an id of it");
  }
  for (rdma_cm_event* event : mine->events) delete event;
  close(mine->fd);
  channels_.erase(mine);
  delete mine;
}

int FakeVerbs::GetEvent(rdma_event_channel* channel, rdma_cm_event** event) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("GetEvent"); error != 0) return error;
  auto* mine = static_cast<EventChannel*>(channel);
  if (mine->events.empty()) return EAGAIN;
  ReadDescriptor(mine->fd);
  *event = mine->events.front();
  mine->events.pop_front();
  ++static_cast<Id*>((*event)->id)->events_out;
  ++events_out_;
  return 0;
}

int FakeVerbs::AckEvent(rdma_cm_event* event) {
  std::lock_guard<std::mutex> lock(mutex_);
  --static_cast<Id*>(event->id)->events_out;
  --events_out_;
  delete event;
  return 0;
}

void FakeVerbs::Emit(Id* id, rdma_cm_event_type type, int status, const rdma_conn_param* parameters,
                     Id* listener) {
  auto* event = new rdma_cm_event{};
  event->id = id;
  event->listen_id = listener;
  event->event = type;
  event->status = status;
  if (parameters != nullptr) event->param.conn = *parameters;
  auto* channel = static_cast<EventChannel*>(id->channel);
  channel->events.push_back(event);
  WriteDescriptor(channel->fd);
}

void FakeVerbs::DropEvents(Id* id) {
  auto* channel = static_cast<EventChannel*>(id->channel);
  const auto end =
      std::remove_if(channel->events.begin(), channel->events.end(), [&](rdma_cm_event* event) {
        if (event->id != id) return false;
        ReadDescriptor(channel->fd);
        delete event;
        return true;
      });
  channel->events.erase(end, channel->events.end());
}

int FakeVerbs::CreateId(rdma_event_channel* channel, rdma_cm_id** id) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("CreateId"); error != 0) return error;
  auto* made = new Id{};
  made->channel = channel;
  ids_.insert(made);
  *id = made;
  return 0;
}

int FakeVerbs::DestroyId(rdma_cm_id* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  Id* mine = static_cast<Id*>(id);
  if (mine->events_out > 0) Blame("an id ended while one of its events was out: that blocks");
  if (mine->qp != nullptr) Blame("an id ended before its queue pair");
  EndConnection(mine);
  DropEvents(mine);
  for (Id* other : ids_) {
    if (other->listener == mine) other->listener = nullptr;
  }
  ids_.erase(mine);
  delete mine;
  return 0;
}

int FakeVerbs::MigrateId(rdma_cm_id* id, rdma_event_channel* channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("MigrateId"); error != 0) return error;
  Id* mine = static_cast<Id*>(id);
  if (mine->events_out > 0) Blame("an id moved while one of its events was out: that blocks");
  auto* from = static_cast<EventChannel*>(id->channel);
  auto* to = static_cast<EventChannel*>(channel);
  for (auto event = from->events.begin(); event != from->events.end();) {
    if ((*event)->id != id) {
      ++event;
      continue;
    }
    ReadDescriptor(from->fd);
    to->events.push_back(*event);
    WriteDescriptor(to->fd);
    event = from->events.erase(event);
  }
  id->channel = channel;
  return 0;
}

int FakeVerbs::SetOption(rdma_cm_id*, int, int, void*, size_t) {
  std::lock_guard<std::mutex> lock(mutex_);
  return Enter("SetOption");
}

int FakeVerbs::BindAddress(rdma_cm_id* id, const sockaddr* address) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("BindAddress"); error != 0) return error;
  SocketAddress bound(address, SizeOf(address));
  if (bound.port() == 0) bound.set_port(next_port_++);
  for (const Id* other : ids_) {
    if (other->listening && other->port == bound.port() &&
        other->route.addr.src_addr.sa_family == address->sa_family) {
      return EADDRINUSE;
    }
  }
  std::memcpy(&id->route.addr.src_storage, bound.get(), bound.size_bytes());
  static_cast<Id*>(id)->port = bound.port();
  return 0;
}

int FakeVerbs::Listen(rdma_cm_id* id, int) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Listen"); error != 0) return error;
  static_cast<Id*>(id)->listening = true;
  return 0;
}

uint16_t FakeVerbs::SourcePort(rdma_cm_id* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<Id*>(id)->port;
}

int FakeVerbs::ResolveAddress(rdma_cm_id* id, const sockaddr* address, int) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("ResolveAddress"); error != 0) return error;
  const SocketAddress wanted(address, SizeOf(address));
  std::memcpy(&id->route.addr.dst_storage, address, SizeOf(address));
  std::memcpy(&id->route.addr.src_storage, address, SizeOf(address));
  if (silent_.count(wanted.HostText()) > 0) return 0;
  id->verbs = &context_;
  const int failed = Enter("AddressResolved");
  Emit(static_cast<Id*>(id), failed != 0 ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED,
       -failed, nullptr, nullptr);
  return 0;
}

int FakeVerbs::ResolveRoute(rdma_cm_id* id, int) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("ResolveRoute"); error != 0) return error;
  const int failed = Enter("RouteResolved");
  Emit(static_cast<Id*>(id), failed != 0 ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED,
       -failed, nullptr, nullptr);
  return 0;
}

int FakeVerbs::Connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Connect"); error != 0) return error;
  last_connect_ = *parameters;
  Id* mine = static_cast<Id*>(id);
  const SocketAddress wanted(&id->route.addr.dst_addr, SizeOf(&id->route.addr.dst_addr));
  const auto found = std::find_if(ids_.begin(), ids_.end(), [&](const Id* other) {
    return other->listening && other->port == wanted.port() &&
           other->route.addr.src_addr.sa_family == wanted.family();
  });
  if (found == ids_.end()) {
    Emit(mine, RDMA_CM_EVENT_REJECTED, kNobodyListens, nullptr, nullptr);
    return 0;
  }
  auto* child = new Id{};
  child->channel = (*found)->channel;
  child->verbs = &context_;
  child->peer = mine;
  child->listener = *found;
  std::memcpy(&child->route.addr.dst_storage, &id->route.addr.dst_storage,
              sizeof(id->route.addr.dst_storage));
  child->route.addr.src_storage = child->route.addr.dst_storage;
  mine->peer = child;
  ids_.insert(child);
  // As seen from the other side.
  rdma_conn_param seen = *parameters;
  std::swap(seen.responder_resources, seen.initiator_depth);
  Emit(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &seen, *found);
  return 0;
}

int FakeVerbs::Accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Accept"); error != 0) return error;
  last_accept_ = *parameters;
  Id* mine = static_cast<Id*>(id);
  mine->listener = nullptr;
  if (mine->peer == nullptr) return 0;  // gave up meanwhile
  mine->connected = mine->peer->connected = true;
  if (!std::exchange(lose_established_, false)) {
    Emit(mine, RDMA_CM_EVENT_ESTABLISHED, 0, nullptr, nullptr);
  }
  Emit(mine->peer, RDMA_CM_EVENT_ESTABLISHED, 0, nullptr, nullptr);
  return 0;
}

int FakeVerbs::Reject(rdma_cm_id* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Reject"); error != 0) return error;
  EndConnection(static_cast<Id*>(id));
  return 0;
}

void FakeVerbs::EndConnection(Id* id) {
  if (id->qp != nullptr && id->connected) BreakQueuePair(static_cast<QueuePair*>(id->qp));
  Id* peer = std::exchange(id->peer, nullptr);
  if (peer == nullptr) return;
  peer->peer = nullptr;
  if (id->connected) {
    Emit(peer, RDMA_CM_EVENT_DISCONNECTED, 0, nullptr, nullptr);
  } else if (peer->listener == nullptr) {
    Emit(peer, RDMA_CM_EVENT_REJECTED, kRefused, nullptr, nullptr);
  }
  id->connected = peer->connected = false;
}

int FakeVerbs::Disconnect(rdma_cm_id* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Disconnect"); error != 0) return error;
  Id* mine = static_cast<Id*>(id);
  if (mine->qp != nullptr) BreakQueuePair(static_cast<QueuePair*>(mine->qp));
  if (!mine->connected) return EINVAL;
  EndConnection(mine);
  return 0;
}

void FakeVerbs::RemoveDevice() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Id* id : ids_) Emit(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, nullptr, nullptr);
}

}  // namespace vof
