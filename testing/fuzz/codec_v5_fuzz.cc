// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as commands, completions, descriptors and Connect body of the native dialect.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/v5.h"
#include "testing/fuzz/codec_properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vof::CheckStream<vof::V5>(std::as_bytes(std::span(data, size)));
  return 0;
}
