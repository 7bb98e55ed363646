// SPDX-License-Identifier: Apache-2.0
//
// A set of small numbers that finds its least member fast: bits, and above each 64 of them one bit
// that says whether any is set.
//
//   BitTree free_blocks(1000);
//   free_blocks.Insert(17);
//   size_t lowest = free_blocks.First();       // not when empty()
//
// Every call is O(log64 of the capacity): three words for 262,144 members. Memory is taken by the
// constructor only, and backed with pages where members are: a tree for very many costs nothing
// until it has them.
#ifndef VOF_CORE_MEMORY_BIT_TREE_H_
#define VOF_CORE_MEMORY_BIT_TREE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/base/check.h"

namespace vof {

class BitTree {
 public:
  // For numbers below `capacity`.
  explicit BitTree(size_t capacity) {
    size_t words = capacity;
    do {
      words = (words + 63) / 64;
      // Not new[]: that would write zeros, and so take the pages.
      levels_.emplace_back(static_cast<uint64_t*>(std::calloc(words + 1, sizeof(uint64_t))));
      Check(levels_.back() != nullptr, "there is memory for the set-up");
    } while (words > 1);
  }

  bool empty() const { return levels_.back()[0] == 0; }
  bool Contains(size_t number) const { return (levels_[0][number / 64] >> number % 64 & 1) != 0; }

  void Insert(size_t number) {
    for (Level& level : levels_) {
      uint64_t& word = level[number / 64];
      const bool was_empty = word == 0;
      word |= uint64_t{1} << number % 64;
      if (!was_empty) return;
      number /= 64;
    }
  }
  void Remove(size_t number) {
    for (Level& level : levels_) {
      uint64_t& word = level[number / 64];
      word &= ~(uint64_t{1} << number % 64);
      if (word != 0) return;
      number /= 64;
    }
  }
  size_t First() const {
    size_t number = 0;
    for (size_t level = levels_.size(); level-- > 0;) {
      number = number * 64 + static_cast<size_t>(std::countr_zero(levels_[level][number]));
    }
    return number;
  }

 private:
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  using Level = std::unique_ptr<uint64_t[], Free>;

  std::vector<Level> levels_;  // the numbers themselves first
};

}  // namespace vof

#endif  // VOF_CORE_MEMORY_BIT_TREE_H_
