// SPDX-License-Identifier: Apache-2.0
//
// Somebody else who uses the memory of a pool, and leaves little or nothing of it for requests.
//
//   hog.Take(&reactor.pool(), context.random);
//   hog.GiveBack();
#ifndef VOF_TESTING_SIM_SIM_HOG_H_
#define VOF_TESTING_SIM_SIM_HOG_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "backends/loopback/faults.h"
#include "core/memory/buffer_pool.h"

namespace vof {

class SimHog {
 public:
  void Take(BufferPool* pool, FaultRandom& random) {
    const size_t left = random.Chance(300) ? 0 : random.Below(128u << 10);
    for (size_t size = size_t{8} << 20; size >= 512; size /= 2) {
      while (pool->limit_bytes() - pool->in_use_bytes() >= left + size) {
        PoolBuffer buffer = pool->Allocate(size);
        if (!buffer) break;
        taken_.push_back(std::move(buffer));
      }
    }
  }
  void GiveBack() { taken_.clear(); }

 private:
  std::vector<PoolBuffer> taken_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_HOG_H_
