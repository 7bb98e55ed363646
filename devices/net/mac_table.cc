// SPDX-License-Identifier: Apache-2.0
#include "devices/net/mac_table.h"

#include <algorithm>
#include <bit>

namespace vof {
namespace {

// Looking for old ones costs a pass over the table: an attacker does not get one for each frame.
constexpr Nanoseconds kCleanInterval = kNanosecondsPerSecond;

uint64_t Mixed(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15;
  return value ^ value >> 29;
}

}  // namespace

MacTable::MacTable(const MacTableOptions& options)
    : options_(options), entries_(std::bit_ceil(std::max<size_t>(options.max_entries, 1) * 2)) {}

// An address is 48 bits; one is added so that no key is 0.
uint64_t MacTable::KeyOf(const MacAddress& mac, uint16_t vlan_id) {
  return (uint64_t{vlan_id} + 1) << 48 | mac.ToInteger();
}

bool MacTable::IsOld(const Entry& entry, MonotonicTime now) const {
  return now - entry.heard_at >= options_.age;
}

size_t MacTable::HomeOf(uint64_t key) const { return Mixed(key) & (entries_.size() - 1); }

size_t MacTable::PlaceOf(uint64_t key) const {
  size_t place = HomeOf(key);
  while (entries_[place].key != 0 && entries_[place].key != key) {
    place = (place + 1) & (entries_.size() - 1);
  }
  return place;
}

size_t& MacTable::CountOf(uint32_t port) {
  if (port >= counts_.size()) counts_.resize(port + 1);
  return counts_[port];
}

// Closes the gap: whoever was pushed beyond it by others moves up.
void MacTable::Remove(size_t place) {
  --CountOf(entries_[place].port);
  --num_entries_;
  const size_t mask = entries_.size() - 1;
  size_t gap = place;
  for (size_t next = (gap + 1) & mask; entries_[next].key != 0; next = (next + 1) & mask) {
    const size_t distance_from_home = (next - HomeOf(entries_[next].key)) & mask;
    if (distance_from_home < ((next - gap) & mask)) continue;
    entries_[gap] = entries_[next];
    gap = next;
  }
  entries_[gap] = Entry();
}

template <typename Predicate>
void MacTable::RemoveIf(const Predicate& goes) {
  for (size_t place = 0; place < entries_.size();) {
    if (entries_[place].key != 0 && goes(entries_[place])) {
      Remove(place);  // another one may have moved here
    } else {
      ++place;
    }
  }
}

void MacTable::RemoveOld(MonotonicTime now) {
  if (cleaned_at_ != 0 && now - cleaned_at_ < kCleanInterval) return;
  cleaned_at_ = now;
  RemoveIf([&](const Entry& entry) { return IsOld(entry, now); });
}

bool MacTable::Learn(const MacAddress& mac, uint16_t vlan_id, uint32_t port, MonotonicTime now) {
  if (mac.is_multicast() || mac.is_zero()) return true;
  const uint64_t key = KeyOf(mac, vlan_id);
  size_t place = PlaceOf(key);
  if (entries_[place].key != 0 && entries_[place].port == port) {
    entries_[place].heard_at = now;
    return true;
  }
  const auto is_full = [&] {
    const bool is_new = entries_[PlaceOf(key)].key == 0;
    return CountOf(port) >= options_.max_entries_per_port ||
           (is_new && num_entries_ >= options_.max_entries);
  };
  if (is_full()) {
    RemoveOld(now);
    if (is_full()) return false;
    place = PlaceOf(key);
  }
  if (entries_[place].key != 0) {
    --CountOf(entries_[place].port);
  } else {
    ++num_entries_;
  }
  entries_[place] = {key, port, now};
  ++CountOf(port);
  return true;
}

std::optional<uint32_t> MacTable::Find(const MacAddress& mac, uint16_t vlan_id,
                                       MonotonicTime now) const {
  const Entry& entry = entries_[PlaceOf(KeyOf(mac, vlan_id))];
  if (entry.key == 0 || IsOld(entry, now)) return std::nullopt;
  return entry.port;
}

void MacTable::Forget(uint32_t port) {
  RemoveIf([&](const Entry& entry) { return entry.port == port; });
}

}  // namespace vof
