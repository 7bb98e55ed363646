// SPDX-License-Identifier: Apache-2.0
//
// How connections of the simulated fabric break and close (sim_fabric_link.h), and when is next.
#include <algorithm>
#include <utility>

#include "testing/sim/sim_fabric_link.h"

namespace vof {

// --- Endings ---

void SimFabricLink::Refuse(int side, const std::string& what, bool excused) {
  if (!excused) context_->Fail("the " + ends_[side].domain->name() + " " + what);
  broken_ = true;
  for (int each : {0, 1}) Abort(each);
}

// Some of what is under way still happens when it is too late to hear of it.
void SimFabricLink::DoSome(int side) {
  End& me = ends_[side];
  if (swallows_ || me.broken || context_->failed() || context_->fabric_random.Chance(500)) return;
  uint64_t most = context_->fabric_random.Below(8);
  for (size_t i = 0; i < me.sends.size() && most > 0; ++i) {
    Send& send = me.sends[i];
    if (send.done || !send.flushed) continue;
    if (TakesReceive(send.kind)) {
      if (!ends_[1 - side].receives.HasPosted(context_->now) || !LandStoresBefore(side, i)) return;
    }
    if (!Do(side, send)) return;
    --most;
  }
}

void SimFabricLink::Break() {
  if (std::exchange(broken_, true)) return;
  for (int side : {0, 1}) DoSome(side);
  for (int side : {0, 1}) Abort(side);
  Schedule();
}

// The end is in its error state: all that it posted comes back, and then it is told.
void SimFabricLink::Abort(int side) {
  End& me = ends_[side];
  FailFrom(me, 0);
  if (std::exchange(me.broken, true) && me.disconnect_at != kInfiniteFuture) return;
  if (context_->fabric_random.Chance(500)) me.receives.DropArrived();
  if (!me.closed && !me.told) me.disconnect_at = EventTime();
}

// What did not happen yet never will; what is behind it is not said to have happened.
void SimFabricLink::FailFrom(End& end, size_t first) {
  bool ok = context_->fabric_random.Chance(700);
  for (size_t i = first; i < end.sends.size(); ++i) {
    Send& send = end.sends[i];
    ok = ok && send.done && send.ok;
    if (!send.done) send.report_at = EventTime();
    send.done = send.flushed = true;
    send.ok = ok;
  }
}

void SimFabricLink::Close(int side) {
  End& me = ends_[side];
  End& peer = ends_[1 - side];
  if (std::exchange(me.closed, true)) return;
  DoSome(side);
  me.receives.DropArrived();
  FailFrom(me, me.num_reported);  // what was reported still gets there
  if (!swallows_) {
    FailFrom(peer, 0);
    peer.broken = true;
  }
  Schedule();
}

void SimFabricLink::Leave(int side) {
  End& me = ends_[side];
  Close(side);
  me.sends.resize(me.num_reported);
  me.left = true;
  Schedule();
}

// The peer hears of the end of this side behind all that was sent before.
void SimFabricLink::TellPeerOf(int side) {
  const End& me = ends_[side];
  End& peer = ends_[1 - side];
  if (!me.closed || broken_ || swallows_ || peer.closed || peer.told) return;
  const bool lingers =
      std::any_of(me.sends.begin(), me.sends.end(), [](const Send& send) { return !send.done; });
  if (!lingers && peer.disconnect_at == kInfiniteFuture) peer.disconnect_at = EventTime();
}

int SimFabricLink::num_sends_under_way(int side) const {
  const auto& sends = ends_[side].sends;
  return static_cast<int>(std::count_if(sends.begin(), sends.end(), [](const Send& send) {
    return TakesReceive(send.kind) && !send.done;
  }));
}

// --- Time ---

MonotonicTime SimFabricLink::NextTimeOf(int side) const {
  const End& me = ends_[side];
  const MonotonicTime now = context_->now;
  MonotonicTime next = kInfiniteFuture;
  const auto consider = [&](MonotonicTime at) {
    if (at > now) next = std::min(next, at);  // the others are events already
  };
  consider(ReportTime(me));
  if (!me.closed) {
    consider(me.receives.NextArrival());
    consider(DisconnectTime(me));
    consider(me.again_until);
  }
  if (swallows_) return next;
  for (const Send& send : me.sends) {
    if (!send.flushed) break;
    if (send.done) continue;
    if (!TakesReceive(send.kind)) {
      next = std::min(next, send.effect_at);
      continue;
    }
    // It may be due already: whoever asks may not have let it happen.
    next = std::min(next, std::max(send.effect_at, ends_[1 - side].receives.NextPosted()));
    break;
  }
  return next;
}

void SimFabricLink::Schedule() {
  for (int side : {0, 1}) {
    End& me = ends_[side];
    while (me.num_reported > 0 && me.sends.front().done) {
      me.sends.pop_front();
      --me.num_reported;
    }
    TellPeerOf(side);
  }
  next_time_ = std::min(NextTimeOf(0), NextTimeOf(1));
}

}  // namespace vof
