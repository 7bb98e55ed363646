// SPDX-License-Identifier: Apache-2.0
//
// Random bytes that nobody can guess: of keys, tokens and names.
//
//   uint32_t key = 0;
//   if (!FillRandom(std::as_writable_bytes(std::span(&key, 1)))) ...
//
// Any thread.
#ifndef VOF_CORE_BASE_RANDOM_H_
#define VOF_CORE_BASE_RANDOM_H_

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <span>

namespace vof {

// All of `bytes`, from the kernel. False, with errno set: it has none (before Linux 3.17, or a
// filter of system calls forbids it).
[[nodiscard]] inline bool FillRandom(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

}  // namespace vof

#endif  // VOF_CORE_BASE_RANDOM_H_
