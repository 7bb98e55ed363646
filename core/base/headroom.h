// SPDX-License-Identifier: Apache-2.0
//
// Memory for what follows something large: when that has taken the last of it, the next small
// allocation, which nobody expects to fail, would end the process.
//
//   try {
//     const Headroom headroom;          // std::bad_alloc when there is not even that much
//     MakeSomethingLarge();
//   } catch (const std::bad_alloc&) {
//     return Refuse();
//   }                                   // given back: small things fit
//
// Control path only.
#ifndef VOF_CORE_BASE_HEADROOM_H_
#define VOF_CORE_BASE_HEADROOM_H_

#include <cstddef>
#include <new>

namespace vof {

class Headroom {
 public:
  // Below what an allocator maps by itself, so that it stays with the process when it is given
  // back.
  static constexpr size_t kBytes = 64u << 10;

  Headroom() : memory_(::operator new(kBytes)) {}
  ~Headroom() { ::operator delete(memory_); }
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

 private:
  void* const memory_;
};

}  // namespace vof

#endif  // VOF_CORE_BASE_HEADROOM_H_
