// SPDX-License-Identifier: Apache-2.0
//
// From a dialect that is known at run time to code that is a template over the codec.
//
//   WithCodec(dialect, [&]<Codec C>() { C::EncodeCompletion(kind, completion, out); });
//
// Any thread.
#ifndef VOF_CORE_WIRE_WITH_CODEC_H_
#define VOF_CORE_WIRE_WITH_CODEC_H_

#include "core/wire/codec.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"

namespace vof {

template <typename Work>
decltype(auto) WithCodec(Dialect dialect, Work work) {
  return dialect == Dialect::kV5 ? work.template operator()<V5>() : work.template operator()<Ref>();
}

}  // namespace vof

#endif  // VOF_CORE_WIRE_WITH_CODEC_H_
