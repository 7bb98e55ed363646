// SPDX-License-Identifier: Apache-2.0
//
// Little-endian field types for wire structures: trivially copyable, no alignment, no padding.
//
//   struct Header { Le16 opcode; Le16 command_id; Le32 length; };
//   static_assert(sizeof(Header) == 8);
//   Header h = ReadStruct<Header>(bytes);   // bytes.size() >= sizeof(Header), checked by the
//   caller if (h.length > limit) ...               // converts to the host's integer
#ifndef VOF_CORE_BASE_LITTLE_ENDIAN_H_
#define VOF_CORE_BASE_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace vof {

template <typename Int>
class LittleEndian {
  static_assert(std::is_unsigned_v<Int>);

 public:
  constexpr LittleEndian() = default;
  LittleEndian(Int value) { *this = value; }  // NOLINT(google-explicit-constructor): a field

  operator Int() const {  // NOLINT(google-explicit-constructor): a field
    Int v;
    std::memcpy(&v, bytes_, sizeof(v));
    return Swap(v);
  }
  LittleEndian& operator=(Int value) {
    value = Swap(value);
    std::memcpy(bytes_, &value, sizeof(value));
    return *this;
  }

 private:
  static constexpr Int Swap(Int v) {
    if constexpr (std::endian::native == std::endian::little || sizeof(Int) == 1) {
      return v;
    } else if constexpr (sizeof(Int) == 2) {
      return __builtin_bswap16(v);
    } else if constexpr (sizeof(Int) == 4) {
      return __builtin_bswap32(v);
    } else {
      return __builtin_bswap64(v);
    }
  }

  unsigned char bytes_[sizeof(Int)] = {};
};

using Le16 = LittleEndian<uint16_t>;
using Le32 = LittleEndian<uint32_t>;
using Le64 = LittleEndian<uint64_t>;
static_assert(sizeof(Le16) == 2 && sizeof(Le32) == 4 && sizeof(Le64) == 8 && alignof(Le64) == 1);

// Copies a wire structure out of `bytes`, which the caller has checked to hold at least sizeof(T).
template <typename T>
T ReadStruct(std::span<const std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  T out;
  std::memcpy(static_cast<void*>(&out), bytes.data(), sizeof(T));
  return out;
}

// Writes `value` at the front of `bytes` (at least sizeof(T) long).
template <typename T>
void WriteStruct(const T& value, std::span<std::byte> bytes) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  std::memcpy(bytes.data(), &value, sizeof(T));
}

}  // namespace vof

#endif  // VOF_CORE_BASE_LITTLE_ENDIAN_H_
