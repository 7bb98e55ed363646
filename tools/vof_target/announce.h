// SPDX-License-Identifier: Apache-2.0
//
// Tells people and scripts where the devices are, once connections are accepted.
//
//   std::vector<std::string> uris = DeviceUris(addresses, {"mem0"});   //
//   "tcp://127.0.0.1:34567/mem0" absl::Status status = Announce(uris, {.ready_fd = 3, .ready_file =
//   "/run/vof.ready"});
#ifndef VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_
#define VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/runtime/uri.h"

namespace vof {

// One per address and name, in that order; ports as they are, wildcard hosts replaced
// (advertised_host.h).
std::vector<std::string> DeviceUris(const std::vector<Uri>& addresses,
                                    const std::vector<std::string>& names);

struct AnnounceOptions {
  int ready_fd = -1;       // written and closed
  std::string ready_file;  // written beside it and renamed, so that it appears complete
};

// Whether Announce will be able to write there, as far as that can be told without writing: the
// descriptor is open for it; the file's directory exists and lets this process create files.
absl::Status CheckReadyFd(const AnnounceOptions& options);
absl::Status CheckReadyFile(const AnnounceOptions& options);

// Removes what an earlier run left at `path` (empty: nothing to do), so that nobody takes it for
// this run's. An error tells that the file could not be written either.
absl::Status RemoveStaleReadyFile(const std::string& path);

// One URI a line, to stdout and to what the options name. Errors name the place and the reason;
// nothing has been printed to stdout when the file cannot be written.
absl::Status Announce(const std::vector<std::string>& uris, const AnnounceOptions& options);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_
