// SPDX-License-Identifier: Apache-2.0
//
// Store epochs: numbers that are not drawn twice (BlockStore::epoch).
#ifndef VOF_DEVICES_BLK_RANDOM_EPOCH_H_
#define VOF_DEVICES_BLK_RANDOM_EPOCH_H_

#include <cstdint>
#include <random>

namespace vof {

// From the system's entropy; never 0, which stands for "unknown".
inline uint64_t RandomEpoch() {
  std::random_device entropy;
  uint64_t epoch = 0;
  while (epoch == 0) epoch = uint64_t{entropy()} << 32 | entropy();
  return epoch;
}

}  // namespace vof

#endif  // VOF_DEVICES_BLK_RANDOM_EPOCH_H_
