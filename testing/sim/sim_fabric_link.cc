// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/sim_fabric_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vof {
namespace {

constexpr std::byte kNotFetchedYet{0xdb};
// In calm everything is quick.
constexpr Nanoseconds kLongestCalmDelay = 20'000;
constexpr Nanoseconds kLongestAgain = 50'000;

ChannelEventKind EventKind(SimPostKind kind) {
  switch (kind) {
    case SimPostKind::kSend:
      return ChannelEventKind::kSent;
    case SimPostKind::kFetch:
      return ChannelEventKind::kFetched;
    case SimPostKind::kStore:
    case SimPostKind::kStoreWithImmediate:
      break;
  }
  return ChannelEventKind::kStored;
}

}  // namespace

SimFabricLink::SimFabricLink(SimContext* context, std::array<SimDomain*, 2> domains,
                             std::shared_ptr<FabricObserver> observer, bool hostile)
    : context_(context), observer_(std::move(observer)), hostile_(hostile) {
  limits_ = {.max_message_bytes = SimReceives::kMaxBytes,
             .inline_bytes = context->plan.fabric.inline_bytes,
             .max_local_segments = 1,
             .send_depth = context->plan.fabric.send_depth,
             .has_immediate = true};
  FaultRandom& random = context->fabric_random;
  for (int side : {0, 1}) ends_[side].domain = domains[side];
  if (!context->calm && random.Chance(context->plan.cut_per_mille)) {
    ends_[random.Below(2)].cut_after_posts = 1 + random.Below(context->plan.fabric.latest_cut);
  }
}

// Often at once.
MonotonicTime SimFabricLink::Soon(Nanoseconds longest) const {
  FaultRandom& random = context_->fabric_random;
  if (context_->calm) longest = std::min(longest, kLongestCalmDelay);
  if (random.Chance(500)) return context_->now;
  return context_->now + static_cast<Nanoseconds>(random.Below(static_cast<uint64_t>(longest) + 1));
}

// --- Posting ---

void SimFabricLink::SetReceiveDepth(int side, int count) {
  ends_[side].receives.Grow(count, Soon(context_->plan.fabric.longest_return_delay));
  Progress(1 - side);
  Schedule();
}

void SimFabricLink::ReturnReceive(int side, uint64_t tag) {
  const MonotonicTime at = Soon(context_->plan.fabric.longest_return_delay);
  if (!ends_[side].receives.Return(tag, at))
    context_->Fail("a receive is returned that is not held");
  Progress(1 - side);
  Schedule();
}

PostStatus SimFabricLink::Post(int side, SimPostKind kind, std::span<const LocalBuffer> local,
                               const RemoteBuffer& remote, uint32_t immediate, uint64_t tag) {
  End& me = ends_[side];
  FaultRandom& random = context_->fabric_random;
  if (me.closed || me.told || (me.broken && random.Chance(500))) return PostStatus::kClosed;
  if (me.num_owed() >= static_cast<size_t>(limits_.send_depth)) return PostStatus::kAgain;
  if (random.Chance(context_->plan.fabric.again_per_mille)) {
    me.again_until = Soon(kLongestAgain);
    Schedule();
    return PostStatus::kAgain;
  }
  Send send;
  send.kind = kind;
  send.tag = tag;
  send.local = local[0];
  send.remote = remote;
  send.immediate = immediate;
  const bool fits = local.size() == 1 &&
                    (kind == SimPostKind::kSend ? send.local.size_bytes <= limits_.max_message_bytes
                                                : send.local.size_bytes == remote.size_bytes);
  send.is_copied = kind != SimPostKind::kFetch && send.local.size_bytes <= limits_.inline_bytes;
  const SimKeyError error = send.is_copied ? SimKeyError::kNone : me.domain->CheckLocal(send.local);
  if (!fits || error != SimKeyError::kNone) {
    Refuse(side, fits ? "posts " + std::string(SimKeyErrorText(error)) : "posts sizes that differ",
           /*excused=*/false);
    return PostStatus::kClosed;
  }
  Guard(&send);
  Show(side, send);
  me.sends.push_back(std::move(send));
  return PostStatus::kOk;
}

void SimFabricLink::Show(int side, const Send& send) {
  if (observer_ == nullptr) return;
  if (send.kind == SimPostKind::kSend) {
    observer_->OnSend(side, send.bytes);
  } else if (side == kInitiator) {
    if (!hostile_) context_->Fail("an initiator reaches for the target's memory");
  } else if (send.kind == SimPostKind::kFetch) {
    observer_->OnFetch(send.remote);
  } else {
    observer_->OnStore(send.remote);
  }
}

// Remembers what the buffer has to look like until its report.
void SimFabricLink::Guard(Send* send) {
  std::byte* data = send->local.data;
  if (send->kind == SimPostKind::kFetch) std::fill_n(data, send->local.size_bytes, kNotFetchedYet);
  send->bytes.assign(data, data + send->local.size_bytes);
}

void SimFabricLink::CheckUnchanged(const End& end, const Send& send) {
  if (send.is_copied || std::memcmp(send.local.data, send.bytes.data(), send.bytes.size()) == 0) {
    return;
  }
  context_->Fail("the " + end.domain->name() + " changed a buffer that is posted");
}

void SimFabricLink::Flush(int side) {
  End& me = ends_[side];
  for (auto send = me.sends.rbegin(); send != me.sends.rend() && !send->flushed; ++send) {
    send->flushed = true;
    send->effect_at = Soon(context_->plan.fabric.longest_effect_delay);
    send->report_at = EventTime();
    send->may_report_early = send->kind != SimPostKind::kFetch &&
                             context_->fabric_random.Chance(context_->plan.fabric.early_per_mille);
  }
  if (me.broken) FailFrom(me, me.num_reported);
  Progress(side);
  Schedule();
}

// --- Happening ---

void SimFabricLink::Run() {
  if (context_->now < next_time_) return;
  for (int side : {0, 1}) Progress(side);
  Schedule();
}

// True when something happened.
bool SimFabricLink::Progress(int side) {
  End& me = ends_[side];
  End& peer = ends_[1 - side];
  bool moved = false;
  for (size_t i = 0; i < me.sends.size() && !swallows_; ++i) {
    Send& send = me.sends[i];
    if (!send.flushed) break;
    if (send.done) continue;
    const bool is_due = send.effect_at <= context_->now;
    if (TakesReceive(send.kind)) {
      if (!is_due) break;
      if (!peer.receives.HasPosted(context_->now)) {
        const bool owes = side == kInitiator && peer.receives.depth() > 0 && !hostile_;
        if (owes && peer.receives.num_posted() == 0) {
          context_->Fail("the target has no receive for a message");
        }
        break;
      }
      if (!LandStoresBefore(side, i)) return true;
    } else if (!is_due) {
      continue;
    }
    moved = true;
    if (!Do(side, send)) return true;
  }
  return moved;
}

bool SimFabricLink::LandStoresBefore(int side, size_t index) {
  End& me = ends_[side];
  for (size_t i = 0; i < index; ++i) {
    Send& send = me.sends[i];
    if (!send.done && send.kind == SimPostKind::kStore && !Do(side, send)) return false;
  }
  return true;
}

bool SimFabricLink::Do(int side, Send& send) {
  End& me = ends_[side];
  if (!broken_ && me.cut_after_posts != 0 && ++me.num_posts >= me.cut_after_posts) {
    Break();
    return false;
  }
  if (!Move(side, send)) return false;
  send.done = true;
  send.report_at = std::max(send.report_at, context_->now);
  return true;
}

bool SimFabricLink::Move(int side, Send& send) {
  End& me = ends_[side];
  End& peer = ends_[1 - side];
  if (!send.is_copied && me.domain->CheckLocal(send.local) != SimKeyError::kNone) {
    Refuse(side, "ended the region of a buffer that is posted", /*excused=*/false);
    return false;
  }
  CheckUnchanged(me, send);
  std::byte* place = nullptr;
  switch (send.kind) {
    case SimPostKind::kSend:
      peer.receives.Fill(send.bytes, nullptr, EventTime());
      return true;
    case SimPostKind::kFetch:
      if (!Resolve(side, send, Access::kRemoteRead, &place)) return false;
      send.bytes.assign(place, place + send.remote.size_bytes);
      std::copy(send.bytes.begin(), send.bytes.end(), send.local.data);
      return true;
    case SimPostKind::kStore:
    case SimPostKind::kStoreWithImmediate:
      if (send.remote.size_bytes > 0) {  // as on InfiniBand: nothing is checked without a length
        if (!Resolve(side, send, Access::kRemoteWrite, &place)) return false;
        std::copy(send.bytes.begin(), send.bytes.end(), place);
      }
      if (TakesReceive(send.kind)) peer.receives.Fill({}, &send.immediate, EventTime());
      return true;
  }
  return true;
}

bool SimFabricLink::Resolve(int side, const Send& send, Access access, std::byte** place) {
  const SimKeyError error = ends_[1 - side].domain->Resolve(send.remote, access, place);
  if (error == SimKeyError::kNone) return true;
  Refuse(side, "used " + std::string(SimKeyErrorText(error)), hostile_);
  return false;
}

// --- Reporting ---

MonotonicTime SimFabricLink::ReportTime(const End& end) {
  if (end.num_owed() == 0) return kInfiniteFuture;
  const Send& next = end.sends[end.num_reported];
  const bool may = next.done || (next.flushed && next.may_report_early);
  return may ? next.report_at : kInfiniteFuture;
}

MonotonicTime SimFabricLink::DisconnectTime(const End& end) const {
  return end.closed || end.receives.any_arrived() ? kInfiniteFuture : end.disconnect_at;
}

bool SimFabricLink::HasEvent(const End& end) const {
  const MonotonicTime now = context_->now;
  if (end.left) return false;
  if (ReportTime(end) <= now) return true;
  if (end.closed) return false;
  return end.receives.NextArrival() <= now || DisconnectTime(end) <= now || end.again_until <= now;
}

bool SimFabricLink::Arm(int side) { return !HasEvent(ends_[side]); }

void SimFabricLink::Report(End& end, ChannelEvent* event) {
  Send& send = end.sends[end.num_reported++];
  CheckUnchanged(end, send);
  send.is_copied = true;
  *event = {};
  event->kind = EventKind(send.kind);
  event->ok = send.ok;
  event->tag = send.tag;
}

std::span<ChannelEvent> SimFabricLink::Reap(int side, std::span<ChannelEvent> events) {
  End& me = ends_[side];
  FaultRandom& random = context_->fabric_random;
  if (me.again_until <= context_->now) me.again_until = kInfiniteFuture;
  const size_t most = random.Chance(200) ? 1 + random.Below(events.size()) : events.size();
  size_t count = 0;
  while (count < most) {
    const bool reports = ReportTime(me) <= context_->now;
    const bool receives = !me.closed && me.receives.NextArrival() <= context_->now;
    if (reports && !(receives && random.Chance(500))) {
      Report(me, &events[count++]);
    } else if (receives) {
      me.receives.Take(&events[count++]);
    } else if (DisconnectTime(me) <= context_->now) {
      me.disconnect_at = kInfiniteFuture;
      me.told = true;
      events[count++] = {};
    } else {
      break;
    }
  }
  Schedule();
  return events.first(count);
}

}  // namespace vof
