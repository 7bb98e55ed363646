// SPDX-License-Identifier: Apache-2.0
//
// Tells people and scripts where the devices are, once connections are accepted.
//
//   std::vector<std::string> uris = DeviceUris(addresses, {"mem0"});  // tcp://127.0.0.1:34567/mem0
//   ReadyFile file("/run/vof.ready");
//   absl::Status status = Announce(uris, /*ready_fd=*/3, &file);
#ifndef VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_
#define VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/runtime/uri.h"
#include "tools/vof_target/ready_file.h"

namespace vof {

// One per address and name, in that order; ports as they are, wildcard hosts replaced
// (advertised_host.h).
std::vector<std::string> DeviceUris(const std::vector<Uri>& addresses,
                                    const std::vector<std::string>& names);

// Whether Announce will be able to write there, as far as that can be told without writing.
absl::Status CheckReadyFd(int fd);

// One URI a line, to stdout, to the file, and to the descriptor, which is closed (-1: none). Errors
// name the place and the reason; nothing has been printed to stdout when the file cannot be
// written. Waits for whoever reads stdout and the descriptor, until SIGTERM, SIGINT or SIGHUP is
// pending in this thread, which has them blocked: kCancelled, and the signal remains pending.
absl::Status Announce(const std::vector<std::string>& uris, int ready_fd, ReadyFile* ready_file);

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TARGET_ANNOUNCE_H_
