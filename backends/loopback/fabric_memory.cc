// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/fabric_memory.h"

#include <functional>
#include <mutex>
#include <utility>

namespace vof {
namespace {

// Local keys are names as well, not addresses: one of a region that ended must be found out, not
// followed. The bit keeps them apart from null and from remote keys.
constexpr uintptr_t kLocalKeyBit = uintptr_t{1} << 32;

const void* LocalKey(uint32_t key) {
  return reinterpret_cast<const void*>(kLocalKeyBit | uintptr_t{key});
}

std::optional<uint32_t> KeyOfLocal(const void* local_key) {
  const auto value = reinterpret_cast<uintptr_t>(local_key);
  if ((value & ~uintptr_t{0xffffffff}) != kLocalKeyBit) return std::nullopt;
  return static_cast<uint32_t>(value);
}

// The 32-bit numbers in an order that only the seed tells: a Feistel network is one to one, so no
// key comes again before all others did.
uint32_t Shuffle(uint32_t number, uint64_t seed) {
  uint32_t left = number >> 16;
  uint32_t right = number & 0xffff;
  for (uint64_t round = 0; round < 6; ++round) {
    uint64_t mixed = (seed ^ (round * 0x9e3779b97f4a7c15ull)) + right;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    const uint32_t next = left ^ static_cast<uint32_t>((mixed >> 31) & 0xffff);
    left = std::exchange(right, next);
  }
  return left << 16 | right;
}

}  // namespace

std::optional<Region::Keys> FabricMemory::Add(MutableBuffer bytes, Access access,
                                              const Usage& limits, Usage* usage) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  *usage = {regions_.size(), pinned_bytes_};
  if (regions_.size() >= limits.regions) return std::nullopt;
  if (bytes.size_bytes > limits.pinned_bytes ||
      pinned_bytes_ > limits.pinned_bytes - bytes.size_bytes) {
    return std::nullopt;
  }
  const uint32_t key = NextKey();
  regions_[key] = {bytes, access};
  pinned_bytes_ += bytes.size_bytes;
  return Region::Keys{LocalKey(key), key, zero_based_ ? 0 : reinterpret_cast<uint64_t>(bytes.data)};
}

// Not 0, which callers take for "no key", and none that is in use.
uint32_t FabricMemory::NextKey() {
  for (;;) {
    const uint32_t key = Shuffle(keys_made_++, seed_);
    if (key != 0 && !regions_.contains(key)) return key;
  }
}

void FabricMemory::Remove(uint32_t key) {
  std::lock_guard<std::shared_mutex> lock(mutex_);
  const auto region = regions_.find(key);
  if (region == regions_.end()) return;
  pinned_bytes_ -= region->second.bytes.size_bytes;
  regions_.erase(region);
}

FabricMemory::Usage FabricMemory::usage() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  return {regions_.size(), pinned_bytes_};
}

FabricError FabricMemory::CheckLocal(std::span<const LocalBuffer> segments) const {
  for (const LocalBuffer& segment : segments) {
    if (segment.size_bytes == 0) continue;
    const std::optional<uint32_t> key = KeyOfLocal(segment.local_key);
    if (!key.has_value()) return FabricError::kLocalKey;
    const auto region = regions_.find(*key);
    if (region == regions_.end()) return FabricError::kLocalKey;
    const MutableBuffer bytes = region->second.bytes;
    if (std::less<>{}(segment.data, bytes.data)) return FabricError::kLocalKey;
    const auto offset_bytes = static_cast<size_t>(segment.data - bytes.data);
    if (offset_bytes > bytes.size_bytes || segment.size_bytes > bytes.size_bytes - offset_bytes) {
      return FabricError::kLocalKey;
    }
  }
  return FabricError::kNone;
}

FabricError FabricMemory::Resolve(const RemoteBuffer& remote, Access access,
                                  std::byte** place) const {
  const auto region = regions_.find(remote.key);
  if (region == regions_.end()) return FabricError::kRemoteKey;
  const auto& [bytes, allowed] = region->second;
  const uint64_t base = zero_based_ ? 0 : reinterpret_cast<uint64_t>(bytes.data);
  if (remote.address < base) return FabricError::kRemoteRange;
  const uint64_t offset_bytes = remote.address - base;
  if (offset_bytes > bytes.size_bytes || remote.size_bytes > bytes.size_bytes - offset_bytes) {
    return FabricError::kRemoteRange;
  }
  if ((static_cast<unsigned>(allowed) & static_cast<unsigned>(access)) == 0) {
    return FabricError::kRemoteAccess;
  }
  *place = bytes.data + offset_bytes;
  return FabricError::kNone;
}

// In order of addresses, so that two channels between the same domains cannot wait for each other.
FabricMemoryLock::FabricMemoryLock(const FabricMemory& one, const FabricMemory& other) {
  const bool swapped = std::less<>{}(&other, &one);
  first_ = std::shared_lock<std::shared_mutex>((swapped ? other : one).mutex_);
  if (&one == &other) return;
  second_ = std::shared_lock<std::shared_mutex>((swapped ? one : other).mutex_);
}

}  // namespace vof
