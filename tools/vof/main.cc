// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_backend.h"
#include "core/runtime/backend.h"
#include "tools/fabrics/fabrics.h"
#include "tools/vof/program.h"

int main(int argc, char** argv) {
  vof::BackendRegistry backends;
  vof::RegisterFabrics(backends);
  vof::RegisterLoopback(backends);
  return vof::RunProgram(argc, argv, backends);
}
