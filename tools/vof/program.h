// SPDX-License-Identifier: Apache-2.0
//
// The `vof` program behind main(): the command line, the verb it names, the exit code.
//
//   BackendRegistry backends;
//   RegisterTcp(backends);
//   return RunProgram(argc, argv, backends);
#ifndef VOF_TOOLS_VOF_PROGRAM_H_
#define VOF_TOOLS_VOF_PROGRAM_H_

#include "core/runtime/backend.h"

namespace vof {

// The exit code (tools/common/exit_code.h).
int RunProgram(int argc, const char* const* argv, BackendRegistry& backends);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_PROGRAM_H_
