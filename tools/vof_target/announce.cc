// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/announce.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "tools/vof_target/advertised_host.h"

namespace vof {
namespace {

absl::Status CannotWrite(std::string_view what) {
  return absl::InternalError(
      absl::StrCat("cannot write to ", std::string(what), ": ", std::strerror(errno)));
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

absl::Status WriteFileAtOnce(const std::string& path, std::string_view text) {
  const std::string beside = path + ".new";
  const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return CannotWrite(beside);
  const bool written = WriteAll(fd, text);
  const bool closed = close(fd) == 0;
  if (!written || !closed) return CannotWrite(beside);
  if (rename(beside.c_str(), path.c_str()) != 0) return CannotWrite(path);
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> DeviceUris(const std::vector<Uri>& addresses,
                                    const std::vector<std::string>& names) {
  std::vector<std::string> uris;
  for (Uri uri : addresses) {
    uri.host = AdvertisedHost(uri.host);
    for (const std::string& name : names) {
      uri.name = name;
      uris.push_back(FormatUri(uri));
    }
  }
  return uris;
}

absl::Status RemoveStaleReadyFile(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return CannotWrite(absl::StrCat(path, " (--ready-file)"));
}

absl::Status Announce(const std::vector<std::string>& uris, const AnnounceOptions& options) {
  std::string text;
  for (const std::string& uri : uris) absl::StrAppend(&text, uri, "\n");
  if (!WriteAll(STDOUT_FILENO, text)) return CannotWrite("stdout");
  if (!options.ready_file.empty()) {
    if (absl::Status status = WriteFileAtOnce(options.ready_file, text); !status.ok())
      return status;
  }
  if (options.ready_fd < 0) return absl::OkStatus();
  const std::string what = absl::StrCat("descriptor ", options.ready_fd, " (--ready-fd)");
  if (!WriteAll(options.ready_fd, text)) return CannotWrite(what);
  if (options.ready_fd > STDERR_FILENO && close(options.ready_fd) != 0) return CannotWrite(what);
  return absl::OkStatus();
}

}  // namespace vof
