// SPDX-License-Identifier: Apache-2.0
//
// Those who wait for sessions of a target to end, in the order of asking; one of each session.
//
//   WaitingList<PendingConnect> waiting;
//   std::optional<PendingConnect> older = waiting.Add(ticket, {.device = disk, .session = key}, c);
//   for (uint64_t ticket : waiting.FreedBy(device, key, /*device_is_free=*/true)) {
//     TryAgain(*waiting.Take(ticket));
//   }
//
// Finding who may go on costs nothing for the others. One thread at a time: the directory's mutex.
#ifndef VOF_CORE_ENGINE_WAITING_LIST_H_
#define VOF_CORE_ENGINE_WAITING_LIST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/engine/target_sessions.h"

namespace vof {

struct WaitingFor {
  const Device* device = nullptr;
  std::optional<SessionKey> session = std::nullopt;  // an older life of it
  bool whole_device = false;                         // every user of the device, whoever it is
};

template <typename Waiter>
class WaitingList {
 public:
  // `ticket` is above every earlier one, or was taken out before. Returns the one of the same
  // session that waited until now: its initiator has given it up.
  std::optional<Waiter> Add(uint64_t ticket, WaitingFor what, Waiter waiter) {
    std::optional<Waiter> older;
    if (what.session.has_value()) {
      const auto it = by_session_.find(*what.session);
      if (it != by_session_.end()) older = Take(it->second);
      by_session_[*what.session] = ticket;
    }
    if (what.whole_device) by_device_[what.device].insert(ticket);
    by_ticket_.emplace(ticket, Entry{std::move(what), std::move(waiter)});
    return older;
  }

  // Nothing when it does not wait any more.
  std::optional<Waiter> Take(uint64_t ticket) {
    const auto it = by_ticket_.find(ticket);
    if (it == by_ticket_.end()) return std::nullopt;
    Entry entry = std::move(it->second);
    by_ticket_.erase(it);
    if (entry.what.session.has_value()) by_session_.erase(*entry.what.session);
    if (entry.what.whole_device) {
      const auto others = by_device_.find(entry.what.device);
      others->second.erase(ticket);
      if (others->second.empty()) by_device_.erase(others);
    }
    return std::move(entry.waiter);
  }

  // Tickets of those for whom something has changed, in the order of asking: a session of `device`
  // ended, perhaps the last one.
  std::set<uint64_t> FreedBy(const Device* device, const std::optional<SessionKey>& session,
                             bool device_is_free) const {
    std::set<uint64_t> tickets;
    const auto whole = by_device_.find(device);
    if (device_is_free && whole != by_device_.end()) tickets = whole->second;
    if (session.has_value()) {
      const auto later = by_session_.find(*session);
      if (later != by_session_.end()) tickets.insert(later->second);
    }
    return tickets;
  }
  // Tickets of those who wait for anything of `device`; null: of all.
  std::set<uint64_t> WaitingAt(const Device* device) const {
    std::set<uint64_t> tickets;
    for (const auto& [ticket, entry] : by_ticket_) {
      if (device == nullptr || entry.what.device == device) tickets.insert(ticket);
    }
    return tickets;
  }
  size_t size() const { return by_ticket_.size(); }

 private:
  struct Entry {
    WaitingFor what;
    Waiter waiter;
  };
  std::map<uint64_t, Entry> by_ticket_;
  absl::flat_hash_map<SessionKey, uint64_t> by_session_;
  std::map<const Device*, std::set<uint64_t>> by_device_;  // whole_device only; no empty sets
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_WAITING_LIST_H_
