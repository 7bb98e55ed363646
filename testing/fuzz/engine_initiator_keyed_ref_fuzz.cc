// SPDX-License-Identifier: Apache-2.0
//
// Any messages, over the in-process fabric, to the engines of an initiator, in the reference
// dialect.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/ref.h"
#include "testing/fuzz/engine_initiator_keyed_world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vof::FuzzKeyedInitiator<vof::Ref>(std::as_bytes(std::span(data, size)));
  return 0;
}
