// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/fabric_link.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/loopback/patient_lock.h"
#include "core/base/check.h"

namespace vof {
namespace {

bool ConsumesReceive(FabricPostKind kind) {
  return kind == FabricPostKind::kSend || kind == FabricPostKind::kStoreWithImmediate;
}

ChannelEventKind EventKind(FabricPostKind kind) {
  switch (kind) {
    case FabricPostKind::kSend:
      return ChannelEventKind::kSent;
    case FabricPostKind::kFetch:
      return ChannelEventKind::kFetched;
    case FabricPostKind::kStore:
    case FabricPostKind::kStoreWithImmediate:
      break;
  }
  return ChannelEventKind::kStored;
}

// The bytes of the current post: as they were when it was posted, or as they are now.
void Gather(const FabricSendQueue& sends, const FabricPost& post, std::byte* into) {
  if (post.is_inline) {
    const std::span<const std::byte> bytes = sends.current_inline();
    std::copy(bytes.begin(), bytes.end(), into);
    return;
  }
  for (const LocalBuffer& segment : sends.current_segments()) {
    if (segment.size_bytes == 0) continue;
    std::memmove(into, segment.data, segment.size_bytes);
    into += segment.size_bytes;
  }
}

void Scatter(const std::byte* from, std::span<const LocalBuffer> into) {
  for (const LocalBuffer& segment : into) {
    if (segment.size_bytes == 0) continue;
    std::memmove(segment.data, from, segment.size_bytes);
    from += segment.size_bytes;
  }
}

}  // namespace

FabricLink::End::End(const FabricEndSetup& setup)
    : limits(setup.limits),
      faults(setup.faults),
      memory(setup.memory),
      receives(setup.receives),
      random(setup.faults.seed),
      sends(setup.limits) {}

FabricLink::FabricLink(const FabricEndSetup& a, const FabricEndSetup& b) : ends_{End(a), End(b)} {}

FabricLink::~FabricLink() {
  for (const End& end : ends_) {
    if (end.event_fd >= 0) close(end.event_fd);
  }
}

PostStatus FabricLink::Post(int side, const FabricPost& post, std::span<const LocalBuffer> local) {
  const PatientLock lock(mutex_);
  End& me = ends_[side];
  if (me.closed || error_ != FabricError::kNone) return PostStatus::kClosed;
  ++me.post_calls;
  const uint64_t refused_each = me.faults.again_every_posts;
  if (refused_each != 0 && me.post_calls % refused_each == 0) return PostStatus::kAgain;
  if (me.sends.full()) return PostStatus::kAgain;
  me.sends.Post(post, local);
  return PostStatus::kOk;
}

void FabricLink::Flush(int side) {
  const PatientLock lock(mutex_);
  End& me = ends_[side];
  me.quiet.store(false, std::memory_order_release);
  if (me.sends.has_unflushed()) ++me.stats.doorbells;
  while (me.sends.has_unflushed()) {
    me.sends.FlushOne().effect_turn =
        me.turn + me.random.Below(uint64_t{me.faults.longest_effect_delay_turns} + 1);
  }
  Progress(side);
}

void FabricLink::Progress(int side) {
  while (error_ == FabricError::kNone && ends_[side].sends.has_flushed() && Execute(side)) {
  }
}

bool FabricLink::Execute(int side) {
  End& me = ends_[side];
  End& peer = ends_[1 - side];
  const FabricPost& post = me.sends.current();
  if (me.waits_for_receive || post.effect_turn > me.turn) return false;
  FabricError error = FabricError::kNone;
  if (!post.valid) error = FabricError::kInvalidPost;
  if (me.posts_done >= me.faults.break_after_posts) error = FabricError::kInjected;
  Receive* receive = nullptr;
  if (error == FabricError::kNone && ConsumesReceive(post.kind)) {
    receive = peer.receives->Take(&peer, this, side);
    if (receive == nullptr) {
      me.waits_for_receive = true;
      ++me.stats.receiver_not_ready;
      return false;
    }
  }
  if (error == FabricError::kNone) {
    error = post.kind == FabricPostKind::kSend ? MoveMessage(side, post, receive)
                                               : MoveRemote(side, post, receive);
  }
  if (error != FabricError::kNone) {
    if (receive != nullptr) peer.receives->Post(receive);
    Break(error);
    return false;
  }
  if (receive != nullptr) Arrive(peer, receive);
  ++me.posts_done;
  Finish(me, true);
  return true;
}

FabricError FabricLink::MoveMessage(int side, const FabricPost& post, Receive* receive) {
  End& me = ends_[side];
  // What is inline is here already: there is no key to look at, and no lock that others take.
  std::optional<FabricMemoryLock> lock;
  if (!post.is_inline) {
    lock.emplace(*me.memory, *me.memory);
    const FabricError error = me.memory->CheckLocal(me.sends.current_segments());
    if (error != FabricError::kNone) return error;
  }
  if (post.size_bytes > ends_[1 - side].receives->receive_bytes()) {
    return FabricError::kMessageTooLong;
  }
  Gather(me.sends, post, receive->data);
  receive->message_bytes = post.size_bytes;
  receive->has_immediate = false;
  ++me.stats.sends;
  return FabricError::kNone;
}

FabricError FabricLink::MoveRemote(int side, const FabricPost& post, Receive* receive) {
  End& me = ends_[side];
  End& peer = ends_[1 - side];
  const std::span<const LocalBuffer> local = me.sends.current_segments();
  const FabricMemoryLock lock(*me.memory, *peer.memory);
  if (!post.is_inline) {
    if (const FabricError error = me.memory->CheckLocal(local); error != FabricError::kNone) {
      return error;
    }
  }
  const bool fetches = post.kind == FabricPostKind::kFetch;
  std::byte* remote = nullptr;
  // Nothing is accessed without a length, so nothing is checked: as on InfiniBand.
  if (post.size_bytes > 0) {
    const FabricError error = peer.memory->Resolve(
        post.remote, fetches ? Access::kRemoteRead : Access::kRemoteWrite, &remote);
    if (error != FabricError::kNone) return error;
  }
  fetches ? Scatter(remote, local) : Gather(me.sends, post, remote);
  ++(fetches ? me.stats.fetches : me.stats.stores);
  if (receive != nullptr) {
    ++me.stats.immediates;
    receive->message_bytes = 0;
    receive->has_immediate = true;
    receive->immediate = post.immediate;
  }
  return FabricError::kNone;
}

void FabricLink::Arrive(End& end, Receive* receive) {
  receive->sequence = end.next_sequence++;
  receive->ready_turn =
      end.turn + end.random.Below(uint64_t{end.faults.longest_completion_delay_turns} + 1);
  (end.last_arrived != nullptr ? end.last_arrived->next : end.first_arrived) = receive;
  end.last_arrived = receive;
  Notify(end);
}

void FabricLink::Finish(End& end, bool ok) {
  FabricPost& post = end.sends.current();
  post.ok = ok;
  post.sequence = end.next_sequence++;
  post.ready_turn =
      end.turn + end.random.Below(uint64_t{end.faults.longest_completion_delay_turns} + 1);
  end.sends.FinishOne();
  Notify(end);
}

// As a queue pair that goes to its error state: all that is outstanding at both ends is flushed.
void FabricLink::Break(FabricError error) {
  if (error_ != FabricError::kNone) return;
  error_ = error;
  for (End& end : ends_) {
    while (end.sends.has_unfinished()) Finish(end, false);
    end.owes_disconnect = !end.closed;
    Notify(end);
  }
}

void FabricLink::Notify(End& end) {
  end.quiet.store(false, std::memory_order_release);
  if (!end.armed) return;
  end.armed = false;
  end.signalled = true;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(end.event_fd, &one, sizeof(one));
}

bool FabricLink::SendReady(const End& end) {
  return end.sends.has_done() && end.sends.front().ready_turn <= end.turn;
}

bool FabricLink::ReceiveReady(const End& end) {
  return end.first_arrived != nullptr && end.first_arrived->ready_turn <= end.turn;
}

bool FabricLink::DisconnectReady(const End& end) {
  return end.owes_disconnect && end.sends.empty() && end.first_arrived == nullptr;
}

// In order of completion, as one completion queue would have them.
bool FabricLink::NextEvent(End& end, ChannelEvent* event) {
  const bool has_both = end.sends.has_done() && end.first_arrived != nullptr;
  const bool send_first = has_both && end.sends.front().sequence < end.first_arrived->sequence;
  if (SendReady(end) && (!has_both || send_first)) {
    const FabricPost& post = end.sends.front();
    *event = {};
    event->kind = EventKind(post.kind);
    event->ok = post.ok;
    event->tag = post.tag;
    end.sends.PopFront();
    return true;
  }
  if (ReceiveReady(end) && !send_first) {
    Receive* receive = end.first_arrived;
    end.first_arrived = std::exchange(receive->next, nullptr);
    if (end.first_arrived == nullptr) end.last_arrived = nullptr;
    receive->held = true;
    *event = {};
    event->kind = ChannelEventKind::kReceived;
    event->ok = true;
    event->tag = receive->index;
    event->message = {receive->data, receive->message_bytes};
    event->has_immediate = receive->has_immediate;
    event->immediate = receive->has_immediate ? receive->immediate : 0;
    return true;
  }
  if (!DisconnectReady(end)) return false;
  end.owes_disconnect = false;
  *event = {};
  return true;
}

std::span<ChannelEvent> FabricLink::Reap(int side, std::span<ChannelEvent> events) {
  if (ends_[side].quiet.load(std::memory_order_acquire)) return events.first(0);
  const PatientLock lock(mutex_);
  End& me = ends_[side];
  ++me.turn;
  Progress(side);
  size_t count = 0;
  while (count < events.size() && NextEvent(me, &events[count])) ++count;
  const bool has_work = me.sends.has_flushed() || me.sends.has_done() ||
                        me.first_arrived != nullptr || DisconnectReady(me);
  me.quiet.store(!has_work, std::memory_order_release);
  return events.first(count);
}

bool FabricLink::Arm(int side) {
  const PatientLock lock(mutex_);
  End& me = ends_[side];
  if (me.event_fd < 0) me.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (me.event_fd < 0) return false;  // out of descriptors: polled instead
  if (me.signalled) {
    uint64_t count;
    [[maybe_unused]] const auto got = read(me.event_fd, &count, sizeof(count));
    me.signalled = false;
  }
  // What waits for a turn counts as an event: no descriptor would announce it.
  const bool has_event = me.sends.has_done() || me.first_arrived != nullptr || DisconnectReady(me);
  const bool has_late_post = me.sends.has_flushed() && !me.waits_for_receive;
  if (has_event || has_late_post) return false;
  me.armed = true;
  return true;
}

int FabricLink::wait_fd(int side) const {
  const PatientLock lock(mutex_);
  return ends_[side].event_fd;
}

absl::Status FabricLink::SetReceiveDepth(int side, int count) {
  SharedReceiveQueue* receives = nullptr;
  {
    const PatientLock lock(mutex_);
    End& me = ends_[side];
    if (me.closed) return absl::FailedPreconditionError("loopback fabric: the channel is closed");
    if (count <= me.receive_depth) return absl::OkStatus();
    absl::Status status = me.receives->Want(count - me.receive_depth);
    if (!status.ok()) return status;
    me.receive_depth = count;
    receives = me.receives.get();
  }
  receives->ServeWaiters();
  return absl::OkStatus();
}

void FabricLink::ReturnReceive(int side, uint64_t tag) {
  End& me = ends_[side];
  using Returned = SharedReceiveQueue::Returned;
  const Returned returned = me.receives->PostHeld(tag, &me);
  DebugCheck(returned != Returned::kNotHeld,
             "a receive is returned once, by the channel that reported it");
  if (returned == Returned::kPostedAndAwaited) me.receives->ServeWaiters();
}

void FabricLink::OnReceivePosted(int side) {
  const PatientLock lock(mutex_);
  ends_[side].waits_for_receive = false;
  Progress(side);
}

void FabricLink::Close(int side) {
  SharedReceiveQueue* receives = nullptr;
  {
    const PatientLock lock(mutex_);
    End& me = ends_[side];
    if (me.closed) return;
    me.closed = true;
    me.owes_disconnect = false;
    Break(FabricError::kPeerClosed);
    while (me.first_arrived != nullptr) {
      Receive* receive = me.first_arrived;
      me.first_arrived = receive->next;
      me.receives->Post(receive);
    }
    me.last_arrived = nullptr;
    me.receives->WantLess(std::exchange(me.receive_depth, 0));
    receives = me.receives.get();
  }
  receives->ServeWaiters();
}

void FabricLink::Leave(int side) {
  Close(side);
  End& me = ends_[side];
  me.receives->PostAllOf(&me);
  me.receives->ServeWaiters();
  const PatientLock lock(mutex_);
  if (me.event_fd >= 0) close(std::exchange(me.event_fd, -1));
  me.armed = false;
}

bool FabricLink::drained(int side) const {
  const PatientLock lock(mutex_);
  return ends_[side].closed && ends_[side].sends.empty();
}

FabricError FabricLink::error() const {
  const PatientLock lock(mutex_);
  return error_;
}

FabricStats FabricLink::stats(int side) const {
  const PatientLock lock(mutex_);
  return ends_[side].stats;
}

}  // namespace vof
