// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/memory_demand.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof_target/blk_spec.h"

namespace vof {
namespace {

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t MemoryDiskBytes(const DeviceConfig& device) {
  BlkSpec spec;
  if (device.type != "blk" || ParseBlkSpec(device.options, &spec).has_value()) return 0;
  return spec.store == BlkStoreKind::kMemory ? spec.size_bytes.value_or(0) : 0;
}

}  // namespace

std::string MemoryWarning(const TargetConfig& config, uint64_t machine_bytes) {
  uint64_t disk_bytes = 0;
  for (const DeviceConfig& device : config.devices) {
    disk_bytes = SaturatingAdd(disk_bytes, MemoryDiskBytes(device));
  }
  // At most 256 pools of 1 TiB.
  const uint64_t pool_bytes = config.pool_bytes.value * config.NumReactors();
  if (SaturatingAdd(disk_bytes, pool_bytes) <= machine_bytes) return "";
  return absl::StrCat("memory disks of ", HumanSize(disk_bytes), " and pools of ",
                      HumanSize(pool_bytes), " are more than the ", HumanSize(machine_bytes),
                      " of memory that this machine has: when they fill, the kernel may end the "
                      "target; use smaller ones, or store=file");
}

}  // namespace vof
