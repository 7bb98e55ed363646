// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/store_error.h"

#include <string>
#include <system_error>

namespace vof {
namespace {

const char* VerbName(StoreVerb verb) {
  switch (verb) {
    case StoreVerb::kRead:
      return "read";
    case StoreVerb::kWrite:
      return "write";
    case StoreVerb::kFlush:
      return "flush";
    case StoreVerb::kDiscard:
      return "discard";
    case StoreVerb::kWriteZeroes:
      return "write-zeroes";
  }
  return "operation";
}

}  // namespace

std::string DescribeStoreError(const StoreError& error) {
  std::string text = VerbName(error.verb);
  if (error.verb != StoreVerb::kFlush) {
    text += " of " + std::to_string(error.length_bytes) + " bytes at offset " +
            std::to_string(error.offset_bytes);
  }
  return text + ": " +
         (error.error == 0
              ? std::string(
                    "the file ends before the disk does: it was cut while it was served; what "
                    "is beyond cannot be read before the file is opened again")
              : std::generic_category().message(error.error));
}

}  // namespace vof
