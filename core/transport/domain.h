// SPDX-License-Identifier: Apache-2.0
//
// Registration of memory with a fabric: set-up only, never on the data path.
//
//   absl::StatusOr<Region> region = domain->Register(arena, Access::kRemoteRead);
//   segment.address = region->RemoteAddress(arena.data + 4096);
//   segment.key = region->remote_key();
//   // destroying the region ends every access through its keys
#ifndef VOF_CORE_TRANSPORT_DOMAIN_H_
#define VOF_CORE_TRANSPORT_DOMAIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/buffer.h"

namespace vof {

// What may be done through the keys of a region. Its own side may always post from and into it.
enum class Access : uint8_t { kLocal = 0, kRemoteRead = 1, kRemoteWrite = 2, kRemoteReadWrite = 3 };

// A registered range of memory. Move-only; the memory itself belongs to the caller and must outlive
// it.
class Region {
 public:
  // What the fabric said of a registration.
  struct Keys {
    const void* local_key = nullptr;  // opaque: for LocalBuffer::local_key
    uint32_t remote_key = 0;
    uint64_t remote_address = 0;  // of the first byte; fabrics differ: virtual, or counted from 0
  };

  Region() = default;
  // `registration` deregisters when it is destroyed.
  Region(MutableBuffer bytes, const Keys& keys, std::shared_ptr<void> registration)
      : bytes_(bytes), keys_(keys), registration_(std::move(registration)) {}
  // One more handle on `original`, whose keys stay valid until it and every such handle have ended.
  static Region Share(std::shared_ptr<Region> original) {
    const Region& shared = *original;
    return Region(shared.bytes_, shared.keys_, std::move(original));
  }
  Region(Region&&) = default;
  Region& operator=(Region&&) = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  MutableBuffer bytes() const { return bytes_; }
  const void* local_key() const { return keys_.local_key; }
  uint32_t remote_key() const { return keys_.remote_key; }
  // Where the peer finds the byte at `place`, which is inside bytes().
  uint64_t RemoteAddress(const std::byte* place) const {
    return keys_.remote_address + static_cast<uint64_t>(place - bytes_.data);
  }
  // From `place`, which is inside bytes(), to the end.
  size_t BytesFrom(const std::byte* place) const {
    return bytes_.size_bytes - static_cast<size_t>(place - bytes_.data);
  }
  bool Covers(const std::byte* place, size_t size_bytes) const {
    return place >= bytes_.data && size_bytes <= bytes_.size_bytes &&
           static_cast<size_t>(place - bytes_.data) <= bytes_.size_bytes - size_bytes;
  }

 private:
  MutableBuffer bytes_;
  Keys keys_;
  std::shared_ptr<void> registration_;
};

// One opened adapter of a fabric (a protection domain). Outlives its regions and channels. Any
// thread may register.
class Domain {
 public:
  virtual ~Domain() = default;
  // kResourceExhausted when a limit is reached (pinned memory, regions): the message names the
  // limit, its value and the bytes needed. kInvalidArgument for an empty range.
  virtual absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) = 0;
};

}  // namespace vof

#endif  // VOF_CORE_TRANSPORT_DOMAIN_H_
