// SPDX-License-Identifier: Apache-2.0
//
// What to do when nothing can be listened on.
//
//   absl::StrCat("cannot listen on ", address, ": ", strerrordesc_np(error), "; ",
//                std::string(ListenRemedy(error)))
#ifndef VOF_BACKENDS_COMMON_LISTEN_REMEDY_H_
#define VOF_BACKENDS_COMMON_LISTEN_REMEDY_H_

#include <cerrno>
#include <string_view>

namespace vof {

// Of an errno; empty: nothing is known. Any thread.
inline std::string_view ListenRemedy(int error) {
  switch (error) {
    case EADDRINUSE:
      return "another program listens there; choose another port, or 0 for any free one";
    case EADDRNOTAVAIL:
      return "this machine does not have that address (yet); see `ip address`";
    case EACCES:
      return "ports below 1024 need CAP_NET_BIND_SERVICE; choose a higher one";
    case EMFILE:
      return "descriptor limit of this process; raise `ulimit -n`";
    case EAFNOSUPPORT:
      return "this machine does not speak that address family";
    default:
      return {};
  }
}

}  // namespace vof

#endif  // VOF_BACKENDS_COMMON_LISTEN_REMEDY_H_
