// SPDX-License-Identifier: Apache-2.0
//
// The payload pool of a reactor, registered with each fabric that its connections come from.
//
//   PoolRegistrations registrations(&pool);
//   absl::StatusOr<const RegionMap*> regions = registrations.For(link->domain(), Access::kLocal);
//
// A target lets nobody reach its memory: Access::kLocal. An initiator shows pieces of its pool to
// targets under one key, so whoever it asks to serve it may see the whole pool for as long as a
// connection of that domain could be open: data of other sessions of this reactor as well.
// Programs that do not trust one target with the data of another give each a reactor of its own.
//
// Registered once, until the reactor goes. One thread, the pool's.
#ifndef VOF_CORE_RUNTIME_POOL_REGISTRATIONS_H_
#define VOF_CORE_RUNTIME_POOL_REGISTRATIONS_H_

#include <map>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/memory/buffer_pool.h"
#include "core/transport/domain.h"
#include "core/transport/region_map.h"

namespace vof {

class PoolRegistrations {
 public:
  // The pool outlives it.
  explicit PoolRegistrations(BufferPool* pool) : pool_(pool) {}

  // Valid as long as this is. kResourceExhausted, with the limit, when the fabric cannot take the
  // pool; tried again by the next call.
  absl::StatusOr<const RegionMap*> For(const std::shared_ptr<Domain>& domain, Access access);

 private:
  struct Registered {
    std::shared_ptr<Domain> domain;  // outlives the regions
    RegionMap regions;
  };

  BufferPool* const pool_;
  std::map<std::pair<const Domain*, Access>, Registered> registered_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_POOL_REGISTRATIONS_H_
