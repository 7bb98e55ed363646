// SPDX-License-Identifier: Apache-2.0
//
// Puts a fixed-size structure together from a stream that may be cut anywhere.
//
//   FixedAssembler<16> header;
//   while (const std::byte* h = header.Take(bytes)) Handle(h);   // `bytes` shrinks from the front
//
// What lies whole in `bytes` is not copied. One thread.
#ifndef VOF_CORE_ENGINE_FIXED_ASSEMBLER_H_
#define VOF_CORE_ENGINE_FIXED_ASSEMBLER_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace vof {

template <size_t kBytes>
class FixedAssembler {
 public:
  // The next kBytes bytes, valid until the next call and while `bytes` is; null: all of `bytes` was
  // kept and more is needed.
  const std::byte* Take(std::span<const std::byte>& bytes) {
    if (have_ == 0 && bytes.size() >= kBytes) [[likely]] {
      const std::byte* whole = bytes.data();
      bytes = bytes.subspan(kBytes);
      return whole;
    }
    const size_t n = std::min(kBytes - have_, bytes.size());
    if (n > 0) std::memcpy(kept_ + have_, bytes.data(), n);
    bytes = bytes.subspan(n);
    have_ += n;
    if (have_ < kBytes) return nullptr;
    have_ = 0;
    return kept_;
  }
  bool empty() const { return have_ == 0; }

 private:
  std::byte kept_[kBytes];
  size_t have_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_FIXED_ASSEMBLER_H_
