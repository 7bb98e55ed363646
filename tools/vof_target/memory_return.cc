// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/memory_return.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace vof {
namespace {

void TrimHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

void MemoryReturn::Look(TargetServer* server) {
  if (!schedule_.IsDue(server->num_ended_connections())) return;
  server->TrimPools();
  TrimHeap();
}

}  // namespace vof
