// SPDX-License-Identifier: Apache-2.0
//
// The adapter of the in-process fabric: registration with the limits, keys and refusals of a real
// one.
//
//   FabricDomain domain({.max_pinned_bytes = 64u << 20});
//   absl::StatusOr<Region> region = domain.Register(arena, Access::kRemoteReadWrite);
//   auto [client, server] = MakeFabricPair(&domain, &domain);
//
// Keys look random and do not come again before 2^32 others did. Ending a region waits for bytes
// of it that are being moved; then its keys are refused.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_DOMAIN_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_DOMAIN_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/status/statusor.h"
#include "backends/loopback/fabric_memory.h"
#include "core/base/buffer.h"
#include "core/transport/domain.h"

namespace vof {

// What remote addresses are; adapters differ.
enum class FabricAddressing : uint8_t {
  kVirtual,    // the virtual address at the side that registered
  kZeroBased,  // counted from the beginning of the region
};

struct FabricDomainOptions {
  size_t max_regions = 64u << 10;
  uint64_t max_pinned_bytes = std::numeric_limits<uint64_t>::max();  // of all regions together
  FabricAddressing addressing = FabricAddressing::kVirtual;
  uint64_t key_seed = 0;  // the same keys in every run; 0: different ones
};

class FabricDomain final : public Domain {
 public:
  explicit FabricDomain(const FabricDomainOptions& options = {});

  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override;

  // The next `count` registrations fail with kResourceExhausted: for tests. Any thread.
  void FailNextRegistrations(int count) { failures_ = count; }
  size_t regions() const { return memory_->usage().regions; }
  uint64_t pinned_bytes() const { return memory_->usage().pinned_bytes; }

 private:
  friend class FabricChannel;
  friend class SharedReceiveQueue;

  const FabricDomainOptions options_;
  // Shared with channels and regions, so that ending in the wrong order stays harmless.
  const std::shared_ptr<FabricMemory> memory_;
  std::atomic<int> failures_{0};
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_DOMAIN_H_
