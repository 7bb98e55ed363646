// SPDX-License-Identifier: Apache-2.0
//
// Registration of memory with a fabric: set-up only, never on the data path.
//
//   absl::StatusOr<Region> region = domain.Register(arena, Access::kRemoteRead);
//   descriptor.key = region->remote_key();
//   // destroying the region ends every access through its keys
#ifndef VOF_CORE_TRANSPORT_DOMAIN_H_
#define VOF_CORE_TRANSPORT_DOMAIN_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/buffer.h"

namespace vof {

enum class Access : uint8_t { kLocal = 0, kRemoteRead = 1, kRemoteWrite = 2, kRemoteReadWrite = 3 };

// A registered range of memory. Move-only; the memory itself belongs to the caller and must outlive
// it.
class Region {
 public:
  Region() = default;
  // `registration` deregisters when it is destroyed.
  Region(MutableBuffer bytes, const void* local_key, uint32_t remote_key,
         std::shared_ptr<void> registration)
      : bytes_(bytes),
        local_key_(local_key),
        remote_key_(remote_key),
        registration_(std::move(registration)) {}
  Region(Region&&) = default;
  Region& operator=(Region&&) = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  MutableBuffer bytes() const { return bytes_; }
  const void* local_key() const { return local_key_; }
  uint32_t remote_key() const { return remote_key_; }

 private:
  MutableBuffer bytes_;
  const void* local_key_ = nullptr;
  uint32_t remote_key_ = 0;
  std::shared_ptr<void> registration_;
};

template <typename D>
concept Domain = requires(D domain, MutableBuffer bytes, Access access) {
  { domain.Register(bytes, access) } -> std::same_as<absl::StatusOr<Region>>;
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_DOMAIN_H_
