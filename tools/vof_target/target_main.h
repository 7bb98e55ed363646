// SPDX-License-Identifier: Apache-2.0
//
// The whole of a target program but its choice of fabrics.
//
//   int main(int argc, char** argv) {
//     return vof::TargetMain({.name = "vof-target", .register_backends = RegisterAll}, argc, argv);
//   }
#ifndef VOF_TOOLS_VOF_TARGET_TARGET_MAIN_H_
#define VOF_TOOLS_VOF_TARGET_TARGET_MAIN_H_

#include <functional>
#include <string>

#include "core/runtime/backend.h"

namespace vof {

struct TargetProgram {
  std::string name;  // as people call it; stands in front of every message
  std::function<void(BackendRegistry& registry)> register_backends;
};

// Returns the exit status (tools/common/exit_code.h). Called from main(), before there are other
// threads: it sets signal dispositions and the descriptor limit of the process.
int TargetMain(const TargetProgram& program, int argc, char** argv);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_TARGET_MAIN_H_
