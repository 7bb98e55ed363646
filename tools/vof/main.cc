// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/loopback_backend.h"
#include "backends/tcp/tcp_backend.h"
#include "core/runtime/backend.h"
#include "tools/vof/program.h"

int main(int argc, char** argv) {
  vof::BackendRegistry backends;
  vof::RegisterTcp(backends);
  vof::RegisterLoopback(backends);
  return vof::RunProgram(argc, argv, backends);
}
