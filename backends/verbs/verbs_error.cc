// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_error.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "backends/common/listen_remedy.h"

namespace vof {
namespace {

constexpr std::string_view kNoDevice =
    "no RDMA device serves that address; see `rdma link`, or make a soft one on an Ethernet "
    "interface: `rdma link add rxe0 type rxe netdev eth0`";

std::string_view Remedy(int error) {
  switch (error) {
    case ENODEV:
    case ENXIO:
      return kNoDevice;
    case ENOENT:
      return "/dev/infiniband/rdma_cm is missing: `modprobe rdma_ucm`, and an RDMA device such as "
             "`rdma link add rxe0 type rxe netdev eth0`";
    case EADDRNOTAVAIL:
      return "this machine does not have that address (yet), or no RDMA device does; see "
             "`ip address` and `rdma link`";
    case EACCES:
    case EPERM:
      return "is /dev/infiniband open to this user? Ports below 1024 need CAP_NET_BIND_SERVICE";
    case ENOMEM:
      return "queues count against RLIMIT_MEMLOCK on many devices; raise `ulimit -l`, or make do "
             "with fewer queues";
    default:
      return ListenRemedy(error);
  }
}

}  // namespace

std::string DescribeVerbsError(int error) {
  std::string text = strerrordesc_np(error) == nullptr ? absl::StrCat("error ", error)
                                                       : std::string(strerrordesc_np(error));
  const std::string_view remedy = Remedy(error);
  if (!remedy.empty()) absl::StrAppend(&text, " (", std::string(remedy), ")");
  return text;
}

absl::Status VerbsError(std::string_view what, int error) {
  const std::string text = absl::StrCat(std::string(what), ": ", DescribeVerbsError(error));
  switch (error) {
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(text);
    case ENODEV:
    case ENXIO:
    case ENOENT:
      return absl::UnavailableError(text);
    default:
      return absl::Status(absl::ErrnoToStatusCode(error), text);
  }
}

}  // namespace vof
