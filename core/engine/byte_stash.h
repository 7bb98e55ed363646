// SPDX-License-Identifier: Apache-2.0
//
// Received bytes that cannot be handled yet: a message that is not complete, or input behind a
// stall.
//
//   stash.Append(rest);                       // keeps a copy
//   stash.Consume(Handle(stash.bytes()));     // from the front
//
// Takes memory when first needed; gives it back once empty if it was much. One thread.
#ifndef VOF_CORE_ENGINE_BYTE_STASH_H_
#define VOF_CORE_ENGINE_BYTE_STASH_H_

#include <cstddef>
#include <span>
#include <vector>

namespace vof {

class ByteStash {
 public:
  bool empty() const { return begin_ == bytes_.size(); }
  size_t capacity_bytes() const { return bytes_.capacity(); }
  size_t size() const { return bytes_.size() - begin_; }
  std::span<const std::byte> bytes() const { return std::span(bytes_).subspan(begin_); }

  void Append(std::span<const std::byte> more) {
    if (more.empty()) return;
    if (begin_ > 0) {
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(begin_));
      begin_ = 0;
    }
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  void Consume(size_t count) {
    begin_ += count;
    if (empty()) Clear();
  }
  void Clear() {
    // Not `= {}`: that assigns an empty list and keeps the memory.
    if (bytes_.capacity() > kKeptBytes) bytes_ = std::vector<std::byte>();
    bytes_.clear();
    begin_ = 0;
  }

  // Enough for the longest header (`ref` descriptors), so that split headers never allocate again.
  static constexpr size_t kKeptBytes = 32u << 10;

 private:
  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_BYTE_STASH_H_
