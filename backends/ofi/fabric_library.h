// SPDX-License-Identifier: Apache-2.0
//
// libfabric's entry points, loaded when they are first needed.
//
//   absl::StatusOr<const FabricLibrary*> fabric = FabricLibrary::Load();
//   (*fabric)->getinfo(version, node, service, flags, hints, &found);
//
// Not linked: with libfabric come the libraries of every adapter that it knows, and one of those
// (libinfinipath) takes a quarter of a second of each start and takes over the signals that end or
// crash a process, with handlers that call exit(). Programs which never use ofi:// get none of it,
// and the others get their signals back. All else of libfabric is reached through the objects that
// these functions make.
#ifndef VOF_BACKENDS_OFI_FABRIC_LIBRARY_H_
#define VOF_BACKENDS_OFI_FABRIC_LIBRARY_H_

#include <rdma/fabric.h>

#include "absl/status/statusor.h"

namespace vof {

struct FabricLibrary {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) open_fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  // Any thread. Loaded once for the process, and never unloaded: providers leave threads behind.
  // kUnavailable, with the reason, when it is not there or lacks something.
  static absl::StatusOr<const FabricLibrary*> Load();
  // Where something of libfabric is at hand already.
  static const FabricLibrary& Loaded();

  // Before there are threads: keeps libinfinipath from taking signals even while it is loaded.
  static void PrepareProcess();
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_FABRIC_LIBRARY_H_
