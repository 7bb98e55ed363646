// SPDX-License-Identifier: Apache-2.0
//
// What an engine needs of the thread it lives on: posted work and payload memory.
//
//   EngineHost host{.executor = reactor, .pool = &reactor->pool()};
//
// Both outlive the engine. A simulator has its own executor, on virtual time.
#ifndef VOF_CORE_ENGINE_ENGINE_HOST_H_
#define VOF_CORE_ENGINE_ENGINE_HOST_H_

#include "core/base/executor.h"
#include "core/memory/buffer_pool.h"

namespace vof {

struct EngineHost {
  Executor* executor = nullptr;
  BufferPool* pool = nullptr;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_ENGINE_HOST_H_
