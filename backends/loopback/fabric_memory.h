// SPDX-License-Identifier: Apache-2.0
//
// The regions registered with one domain of the in-process fabric, and the checks that an adapter
// makes before it touches memory. Inside this folder only: users see FabricDomain.
//
//   FabricMemoryLock lock(my_memory, peer_memory);          // no region ends while bytes move
//   if (my_memory.CheckLocal(segments) != FabricError::kNone) ...
//   if (peer_memory.Resolve(remote, Access::kRemoteWrite, &place) != FabricError::kNone) ...
//
// Any thread. Checks and the use of what they returned need the lock.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_MEMORY_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "backends/loopback/fabric_error.h"
#include "core/base/buffer.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"

namespace vof {

class FabricMemory {
 public:
  // `zero_based`: remote addresses count from the beginning of their region.
  FabricMemory(uint64_t key_seed, bool zero_based) : seed_(key_seed), zero_based_(zero_based) {}
  FabricMemory(const FabricMemory&) = delete;
  FabricMemory& operator=(const FabricMemory&) = delete;

  struct Usage {
    size_t regions = 0;
    uint64_t pinned_bytes = 0;
  };
  // Nothing, and `usage` filled, when one of the limits would be passed.
  std::optional<Region::Keys> Add(MutableBuffer bytes, Access access, const Usage& limits,
                                  Usage* usage);
  // Waits until nobody moves bytes of the region.
  void Remove(uint32_t key);
  Usage usage() const;

  FabricError CheckLocal(std::span<const LocalBuffer> segments) const;
  // `place`: where the first byte of `remote` lies. `access`: kRemoteRead or kRemoteWrite.
  FabricError Resolve(const RemoteBuffer& remote, Access access, std::byte** place) const;

 private:
  friend class FabricMemoryLock;
  struct Entry {
    MutableBuffer bytes;
    Access access = Access::kLocal;
  };

  uint32_t NextKey();

  const uint64_t seed_;
  const bool zero_based_;
  mutable std::shared_mutex mutex_;
  absl::flat_hash_map<uint32_t, Entry> regions_;
  uint64_t pinned_bytes_ = 0;
  uint32_t keys_made_ = 0;
};

// Keeps every region of two memories (which may be the same) registered.
class FabricMemoryLock {
 public:
  FabricMemoryLock(const FabricMemory& one, const FabricMemory& other);

 private:
  std::shared_lock<std::shared_mutex> first_;
  std::shared_lock<std::shared_mutex> second_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_MEMORY_H_
