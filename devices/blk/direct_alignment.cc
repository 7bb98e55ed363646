// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/direct_alignment.h"

// The kernel's header and not the C library's, whose struct statx has no alignment yet.
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vof {
namespace {

constexpr uint32_t kMaxAlignmentBytes = 4096;
constexpr int kEmptyPath = 0x1000;  // AT_EMPTY_PATH; <fcntl.h> would bring the other struct statx

#ifdef STATX_DIOALIGN
bool AskKernel(int fd, DirectAlignment* out) {
  struct statx s = {};
  if (syscall(SYS_statx, fd, "", kEmptyPath, STATX_DIOALIGN, &s) != 0) return false;
  if ((s.stx_mask & STATX_DIOALIGN) == 0 || s.stx_dio_offset_align == 0) return false;
  *out = {.memory_bytes = std::max(s.stx_dio_mem_align, 1u),
          .offset_bytes = std::max(s.stx_dio_offset_align, 512u)};
  return true;
}
#else
bool AskKernel(int, DirectAlignment*) { return false; }
#endif

// Whether a read of `bytes` at offset 0 into memory aligned to `bytes` is accepted. The end of an
// empty file is an answer too.
bool CanRead(int fd, uint32_t bytes) {
  alignas(kMaxAlignmentBytes) std::byte buffer[2 * kMaxAlignmentBytes];
  // Not aligned to more than asked for.
  std::byte* memory = bytes == kMaxAlignmentBytes ? buffer : buffer + bytes;
  return pread(fd, memory, bytes, 0) >= 0;
}

}  // namespace

absl::StatusOr<DirectAlignment> FindDirectAlignment(int fd) {
  DirectAlignment found;
  if (AskKernel(fd, &found)) {
    if (found.memory_bytes > kMaxAlignmentBytes || found.offset_bytes > kMaxAlignmentBytes ||
        !std::has_single_bit(found.memory_bytes) || !std::has_single_bit(found.offset_bytes)) {
      return absl::UnimplementedError(absl::StrCat(
          "direct I/O needs memory aligned to ", found.memory_bytes, " and offsets to ",
          found.offset_bytes, " bytes; at most ", kMaxAlignmentBytes, " is supported"));
    }
    return found;
  }
  for (const uint32_t bytes : {512u, kMaxAlignmentBytes}) {
    if (CanRead(fd, bytes)) return DirectAlignment{.memory_bytes = bytes, .offset_bytes = bytes};
  }
  return absl::ErrnoToStatus(errno, "a direct read (O_DIRECT) fails; leave direct I/O off");
}

}  // namespace vof
