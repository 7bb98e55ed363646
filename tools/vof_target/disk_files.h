// SPDX-License-Identifier: Apache-2.0
//
// Whether the block devices of a configuration can each have their file: one that writes has it to
// itself (FileHandle locks it), which is worth knowing before anything is opened.
//
//   SettingErrors errors = CheckDiskFiles(config);
#ifndef VOF_TOOLS_VOF_TARGET_DISK_FILES_H_
#define VOF_TOOLS_VOF_TARGET_DISK_FILES_H_

#include "tools/config/target_config.h"

namespace vof {

// Of a file with several hard links the start finds out. Devices with other errors are passed over.
// Any thread; opens nothing.
SettingErrors CheckDiskFiles(const TargetConfig& config);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_DISK_FILES_H_
