// SPDX-License-Identifier: Apache-2.0
//
// Makes the devices, accepts initiators, and stays until it is told to stop.
//
//   absl::Status status = Serve(flags, &backends, factories, &created, &stop);
//   if (!status.ok()) PrintError("vof-target", status.message());
#ifndef VOF_TOOLS_VOF_TARGET_SERVE_H_
#define VOF_TOOLS_VOF_TARGET_SERVE_H_

#include "absl/status/status.h"
#include "core/device/device_factory.h"
#include "core/runtime/backend.h"
#include "tools/vof_target/created_files.h"
#include "tools/vof_target/flags.h"
#include "tools/vof_target/process.h"
#include "tools/vof_target/ready_file.h"

namespace vof {

// Blocks the calling thread. The configuration has been checked. Prints the URIs on stdout once
// connections are accepted. OK after a signal and a drain, whether everything drained in time or
// not (the log says). After a failure, files that were created for its disks are gone again, and so
// is the ready file.
absl::Status Serve(const TargetFlags& flags, BackendRegistry* backends,
                   const DeviceFactoryRegistry& factories, CreatedFiles* created,
                   ReadyFile* ready_file, StopSignals* stop);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_SERVE_H_
