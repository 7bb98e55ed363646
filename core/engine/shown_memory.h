// SPDX-License-Identifier: Apache-2.0
//
// What a keyed request of an initiator keeps while the target may reach its memory: until the
// answer is here, or nothing is outstanding on a closed channel.
//
//   ShownMemory& shown = shown_[request.command_id];
//   shown.bounce_in = pool.Allocate(plan.in.bounce_bytes);
//   ...
//   shown = {};                                   // no key of it is valid any more
//
// One thread, the queue's.
#ifndef VOF_CORE_ENGINE_SHOWN_MEMORY_H_
#define VOF_CORE_ENGINE_SHOWN_MEMORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/buffer.h"
#include "core/engine/initiator_request.h"
#include "core/engine/keyed_request_builder.h"
#include "core/engine/request_registrar.h"
#include "core/memory/buffer_pool.h"
#include "core/transport/domain.h"

namespace vof {

struct ShownMemory {
  PoolBuffer bounce_out, bounce_in;
  BouncedPieces bounced_in;             // what bounce_in stands for
  std::unique_ptr<RequestRegions> own;  // registered for this request; null: nothing
  // Regions of the session that were taken from it while the request was in flight.
  std::vector<std::shared_ptr<Region>> ending;
  uint16_t num_writable = 0;  // `ref`: descriptors to be counted in the answer
  bool shows_writable = false;
};

// Whether a piece of `request` lies in `bytes`, even in part.
inline bool Touches(const InitiatorRequest& request, MutableBuffer bytes) {
  const auto overlaps = [&](const auto& piece) {
    const std::byte* begin = piece.data;
    return piece.size_bytes > 0 && std::less<>{}(begin, bytes.data + bytes.size_bytes) &&
           std::less<>{}(bytes.data, begin + piece.size_bytes);
  };
  for (const ConstBuffer& piece : request.readable) {
    if (overlaps(piece)) return true;
  }
  for (const MutableBuffer& piece : request.writable) {
    if (overlaps(piece)) return true;
  }
  return false;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_SHOWN_MEMORY_H_
