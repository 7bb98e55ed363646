// SPDX-License-Identifier: Apache-2.0
//
// What ThreadSanitizer cannot know.
//
//   [[maybe_unused]] const UncheckedReads unchecked;
//   sendmsg(fd, &message, 0);
//
// It notes what a system call read from memory only after the call. By then the peer may have the
// bytes, have answered, and the answer may have let another thread write there: an order that goes
// through the connection, where it does not look. Nothing at all in other builds.
#ifndef VOF_CORE_BASE_THREAD_SANITIZER_H_
#define VOF_CORE_BASE_THREAD_SANITIZER_H_

#if defined(__SANITIZE_THREAD__)
#define VOF_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VOF_THREAD_SANITIZER 1
#endif
#endif

#ifdef VOF_THREAD_SANITIZER
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace vof {

// While one lives, reads of its thread are not looked at. Writes are.
class UncheckedReads {
 public:
#ifdef VOF_THREAD_SANITIZER
  UncheckedReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~UncheckedReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  UncheckedReads() = default;
#endif
  UncheckedReads(const UncheckedReads&) = delete;
  UncheckedReads& operator=(const UncheckedReads&) = delete;
};

}  // namespace vof

#endif  // VOF_CORE_BASE_THREAD_SANITIZER_H_
