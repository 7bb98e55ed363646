// SPDX-License-Identifier: Apache-2.0
//
// The options of a block device as text, turned into what devices/blk takes.
//
//   BlkSpec spec;
//   auto problem = ParseBlkSpec({{"store", "memory"}, {"size", "1G"}}, &spec);
//   if (problem) ...                     // names the option and says what it may be
//   spec.store == BlkStoreKind::kMemory, *spec.size_bytes == 1 << 30
//
// Pure; any thread.
#ifndef VOF_TOOLS_VOF_TARGET_BLK_SPEC_H_
#define VOF_TOOLS_VOF_TARGET_BLK_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_factory.h"
#include "devices/blk/blk_options.h"
#include "devices/blk/file_handle.h"
#include "devices/blk/memory_arena.h"

namespace vof {

enum class BlkStoreKind : uint8_t { kMemory, kNull, kFile };

struct BlkSpec {
  BlkStoreKind store = BlkStoreKind::kMemory;
  std::optional<uint64_t> size_bytes;
  std::string path;                       // kFile
  bool direct = false;                    // kFile
  FileIo io = FileIo::kAuto;              // kFile
  HugePages hugepages = HugePages::kOff;  // kMemory
  bool has_serial = false;
  BlkOptions options;
};

// Every option, in the order in which help lists them.
std::vector<DeviceOptionHelp> BlkOptionHelp();

// Keys are known and occur once. Checks each value, that they fit together and that none is
// missing; opens nothing. On a problem `spec` is left half filled.
std::optional<DeviceOptionProblem> ParseBlkSpec(const DeviceOptionList& options, BlkSpec* spec);

// The name, if it can be one, tells disks apart at the initiator; else the default of BlkOptions.
std::string DefaultBlkSerial(std::string_view name);

// Valid options, and the defaults of those that are missing. The size of a file that is there, and
// options of other stores, stay missing.
DeviceOptionList WithBlkDefaults(std::string_view name, const DeviceOptionList& options);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_BLK_SPEC_H_
