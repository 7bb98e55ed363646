// SPDX-License-Identifier: Apache-2.0
//
// Views of bytes that somebody else owns: what travels through every seam of the stack.
//
//   ConstBuffer header{&command, sizeof(command)};
//   std::array<ConstBuffer, 2> scattered = {header, payload};
//   uint64_t total_bytes = TotalBytes(scattered);
//
// Both types are laid out like `struct iovec`, so that an array of them goes to readv/writev as it
// is.
#ifndef VOF_CORE_BASE_BUFFER_H_
#define VOF_CORE_BASE_BUFFER_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace vof {

struct MutableBuffer {
  std::byte* data = nullptr;
  size_t size_bytes = 0;

  constexpr MutableBuffer() = default;
  constexpr MutableBuffer(std::byte* d, size_t n) : data(d), size_bytes(n) {}
  MutableBuffer(void* d, size_t n) : data(static_cast<std::byte*>(d)), size_bytes(n) {}
  constexpr std::span<std::byte> span() const { return {data, size_bytes}; }
};

struct ConstBuffer {
  const std::byte* data = nullptr;
  size_t size_bytes = 0;

  constexpr ConstBuffer() = default;
  constexpr ConstBuffer(const std::byte* d, size_t n) : data(d), size_bytes(n) {}
  ConstBuffer(const void* d, size_t n) : data(static_cast<const std::byte*>(d)), size_bytes(n) {}
  constexpr ConstBuffer(MutableBuffer b)  // NOLINT(google-explicit-constructor): read access
      : data(b.data), size_bytes(b.size_bytes) {}
  constexpr std::span<const std::byte> span() const { return {data, size_bytes}; }
};

// The layout promise that lets a transport cast instead of copy.
template <typename Buffer>
inline constexpr bool kIsIovec = std::is_standard_layout_v<Buffer> &&
                                 sizeof(Buffer) == sizeof(iovec) &&
                                 offsetof(Buffer, data) == offsetof(iovec, iov_base) &&
                                 offsetof(Buffer, size_bytes) == offsetof(iovec, iov_len);
static_assert(kIsIovec<MutableBuffer> && kIsIovec<ConstBuffer>);

template <typename Buffer>
constexpr uint64_t TotalBytes(std::span<const Buffer> buffers) {
  uint64_t total = 0;
  for (const Buffer& b : buffers) total += b.size_bytes;
  return total;
}
template <typename Container>
constexpr uint64_t TotalBytes(const Container& buffers) {
  return TotalBytes(std::span<const typename Container::value_type>(buffers));
}

}  // namespace vof

#endif  // VOF_CORE_BASE_BUFFER_H_
