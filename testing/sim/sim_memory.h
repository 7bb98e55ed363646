// SPDX-License-Identifier: Apache-2.0
//
// The registered memory of a reactor of the simulator: its pool, for good, and buffers of requests,
// for as long as those live.
//
//   SimMemory memory(&fabric.initiator_domain(), &reactor.pool(), Access::kRemoteReadWrite);
//   if (!memory.RegisterPool()) ...           // the adapter had no room; it may have some later
//   memory.Expose(request_bytes, Access::kRemoteRead);
//   memory.Withdraw(request_bytes);           // its keys are dead from here on
//
// One thread.
#ifndef VOF_TESTING_SIM_SIM_MEMORY_H_
#define VOF_TESTING_SIM_SIM_MEMORY_H_

#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "core/memory/buffer_pool.h"
#include "core/transport/region_map.h"
#include "testing/sim/sim_domain.h"

namespace vof {

class SimMemory {
 public:
  SimMemory(SimDomain* domain, BufferPool* pool, Access access)
      : domain_(domain), pool_(pool), access_(access) {}

  const RegionMap& regions() const { return regions_; }
  // False: not now.
  bool RegisterPool() {
    return has_pool_ || (has_pool_ = Add({pool_->slab().data, pool_->slab().size_bytes}, access_));
  }
  // When the adapter has no room for it, it is not exposed.
  void Expose(std::span<std::byte> bytes, Access access) {
    if (!bytes.empty()) Add({bytes.data(), bytes.size()}, access);
  }
  void Withdraw(std::span<std::byte> bytes) { (void)regions_.Take(bytes.data()); }

 private:
  bool Add(MutableBuffer bytes, Access access) {
    absl::StatusOr<Region> region = domain_->Register(bytes, access);
    return region.ok() && regions_.Add(*std::move(region));
  }

  SimDomain* const domain_;
  BufferPool* const pool_;
  const Access access_;
  RegionMap regions_;
  bool has_pool_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_MEMORY_H_
