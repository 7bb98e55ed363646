// SPDX-License-Identifier: Apache-2.0
//
// An operation that a store could not do, for whoever logs it: initiators only learn "I/O error".
//
//   options.on_error = [](const StoreError& error) { Log(DescribeStoreError(error)); };
#ifndef VOF_DEVICES_BLK_STORE_ERROR_H_
#define VOF_DEVICES_BLK_STORE_ERROR_H_

#include <cstdint>
#include <functional>
#include <string>

#include "devices/blk/block_store.h"

namespace vof {

struct StoreError {
  StoreVerb verb = StoreVerb::kFlush;
  uint64_t offset_bytes = 0;  // where it failed; not of a flush
  uint64_t length_bytes = 0;  // what was still to be done there
  int error = 0;              // errno; 0: somebody has cut the file, there or before
};

// Called on the reactor of the queue; must not block.
using StoreErrorObserver = std::function<void(const StoreError&)>;

// "write of 4096 bytes at offset 8192: No space left on device"
std::string DescribeStoreError(const StoreError& error);

}  // namespace vof

#endif  // VOF_DEVICES_BLK_STORE_ERROR_H_
