// SPDX-License-Identifier: Apache-2.0
//
// Checks of our own invariants: never of what a peer sent, which is answered or closed instead.
//
//   Check(ring_bytes_ % 8 == 0, "ring size is a multiple of 8");   // always
//   DebugCheck(InOwnThread(), "called on the reactor's thread");   // builds without NDEBUG only
//
// A failure writes rule, file and line to standard error and aborts. Any thread.
#ifndef VOF_CORE_BASE_CHECK_H_
#define VOF_CORE_BASE_CHECK_H_

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace vof {

#ifdef NDEBUG
inline constexpr bool kDebugChecks = false;
#else
inline constexpr bool kDebugChecks = true;
#endif

[[noreturn, gnu::cold, gnu::noinline]] inline void CheckFailed(const char* rule, const char* file,
                                                               int line) {
  const std::string text =
      std::string(file) + ":" + std::to_string(line) + ": invariant broken: " + rule + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

// `rule` says what must hold.
inline void Check(bool holds, const char* rule, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) [[unlikely]] {
    CheckFailed(rule, file, line);
  }
}

// The condition itself is evaluated in every build: keep it free of side effects and cheap.
inline void DebugCheck(bool holds, const char* rule, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if constexpr (kDebugChecks) Check(holds, rule, file, line);
}

}  // namespace vof

#endif  // VOF_CORE_BASE_CHECK_H_
