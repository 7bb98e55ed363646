// SPDX-License-Identifier: Apache-2.0
//
// A fixed array on the stack that costs nothing to make: its elements hold garbage until assigned.
//
//   UninitializedArray<ConstBuffer, kMaxIovecs> places;      // 16 KiB that nobody clears
//   int n = engine.PrepareWrite(places.span());
//   stream.WriteSome(places.first(n));
#ifndef VOF_CORE_BASE_UNINITIALIZED_ARRAY_H_
#define VOF_CORE_BASE_UNINITIALIZED_ARRAY_H_

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

namespace vof {

template <typename T, size_t kSize>
class UninitializedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  UninitializedArray() {}  // NOLINT(modernize-use-equals-default): a defaulted one may clear
  UninitializedArray(const UninitializedArray&) = delete;
  UninitializedArray& operator=(const UninitializedArray&) = delete;

  std::span<T> span() { return {data(), kSize}; }
  std::span<T> first(size_t count) { return {data(), count}; }

 private:
  T* data() { return std::launder(reinterpret_cast<T*>(storage_)); }

  alignas(T) std::byte storage_[sizeof(T) * kSize];
};

}  // namespace vof

#endif  // VOF_CORE_BASE_UNINITIALIZED_ARRAY_H_
