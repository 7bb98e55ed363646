// SPDX-License-Identifier: Apache-2.0
//
// The memory that a device lends its results from. A fabric sends only from memory that was
// registered with it; where this is not known, results are copied first.
//
//   LentMemory MyDevice::LendMemory() override {
//     return {.ranges = {{data_, size_bytes_}}, .keep = {KeepPages()}};
//   }
#ifndef VOF_CORE_DEVICE_LENT_MEMORY_H_
#define VOF_CORE_DEVICE_LENT_MEMORY_H_

#include <memory>
#include <vector>

#include "core/base/buffer.h"

namespace vof {

struct LentMemory {
  // They do not overlap. Mapped for writing, though nobody writes: adapters insist on it.
  std::vector<MutableBuffer> ranges;
  // While these live, every page of the ranges stays where it is: none is unmapped, given back to
  // the system or replaced, since an adapter goes on to use the page that it has found there. It is
  // for the device to see to that.
  std::vector<std::shared_ptr<const void>> keep;
};

}  // namespace vof

#endif  // VOF_CORE_DEVICE_LENT_MEMORY_H_
