// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/memory_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/common/file_descriptor.h"
#include "core/base/random.h"

namespace vof {
namespace {

constexpr std::string_view kScheme = "fi_shm://";
constexpr std::string_view kMark = "VOFSEAL1";
using Proof = std::array<std::byte, kMemoryProofBytes>;
static_assert(kMark.size() + 16 == kMemoryProofBytes);

struct NameParts {
  std::string file;
  Proof proof;
};

bool IsHarmless(char c) { return (c >= '0' && c <= '9') || c == ':'; }

std::optional<NameParts> Parse(std::span<const std::byte> name) {
  const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
  const size_t end = text.find('\0');
  if (end == std::string_view::npos || text.size() != end + 1 + kMemoryProofBytes) return {};
  if (end <= kScheme.size() || text.substr(0, kScheme.size()) != kScheme) return {};
  NameParts parts;
  parts.file = text.substr(kScheme.size(), end - kScheme.size());
  if (!std::all_of(parts.file.begin(), parts.file.end(), IsHarmless)) return {};
  std::memcpy(parts.proof.data(), name.data() + end + 1, parts.proof.size());
  return parts;
}

// In a time that does not tell how much of it is right.
bool EndsWith(int fd, off_t size_bytes, const Proof& proof) {
  Proof found;
  const off_t at = size_bytes - static_cast<off_t>(found.size());
  if (at < 0) return false;
  if (pread(fd, found.data(), found.size(), at) != static_cast<ssize_t>(found.size())) return false;
  if (std::memcmp(found.data(), kMark.data(), kMark.size()) != 0) return false;
  std::byte different{};
  for (size_t i = 0; i < found.size(); ++i) different |= found[i] ^ proof[i];
  return different == std::byte{};
}

}  // namespace

absl::StatusOr<std::string> NewMemoryFile() {
  uint64_t random = 0;
  if (!FillRandom(std::as_writable_bytes(std::span(&random, 1)))) {
    return absl::ErrnoToStatus(errno, "cannot make a name for an endpoint");
  }
  return absl::StrCat(getpid(), ":", geteuid(), ":", random);
}

std::string ProviderName(const std::string& file) { return std::string(kScheme) + file; }

std::string MemoryPath(const std::string& file) { return "/dev/shm/" + file; }

absl::StatusOr<std::vector<std::byte>> SealMemory(const std::string& file) {
  const std::string path = MemoryPath(file);
  const auto failure = [&path] {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot seal the endpoint's memory ", path));
  };
  Proof proof;
  std::memcpy(proof.data(), kMark.data(), kMark.size());
  if (!FillRandom(std::span(proof).subspan(kMark.size()))) return failure();
  const FileDescriptor fd(open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return failure();
  const ssize_t written = write(fd.get(), proof.data(), proof.size());
  if (written != static_cast<ssize_t>(proof.size())) {
    if (written >= 0) errno = ENOSPC;
    return failure();
  }
  const std::string provider_name = ProviderName(file);
  std::vector<std::byte> name(provider_name.size() + 1 + proof.size());
  std::memcpy(name.data(), provider_name.c_str(), provider_name.size() + 1);
  std::copy(proof.begin(), proof.end(), name.end() - static_cast<ptrdiff_t>(proof.size()));
  return name;
}

absl::Status CheckMemoryName(std::span<const std::byte> name, uid_t user) {
  const std::optional<NameParts> parts = Parse(name);
  if (!parts.has_value()) {
    return absl::InvalidArgumentError("the peer's name is not one of shared memory");
  }
  const std::string path = MemoryPath(parts->file);
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    const absl::Status cause = absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
    return absl::InvalidArgumentError(
        absl::StrCat("the peer named an endpoint that is not there: ", cause.message()));
  }
  struct stat found = {};
  if (fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("the peer named ", path, ", which is no file"));
  }
  if (found.st_uid != user) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the peer's endpoint belongs to user ", found.st_uid, ", and this process is of ", user,
        ": by shared memory only processes of one user meet"));
  }
  if (EndsWith(fd.get(), found.st_size, parts->proof)) return absl::OkStatus();
  return absl::InvalidArgumentError("the peer named an endpoint that it has not made");
}

}  // namespace vof
