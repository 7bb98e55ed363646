// SPDX-License-Identifier: Apache-2.0
//
// How channels over libfabric are made.
//
//   OfiBackend backend(SystemResolver(), nullptr, {.shared_receives = true});
#ifndef VOF_BACKENDS_OFI_OFI_OPTIONS_H_
#define VOF_BACKENDS_OFI_OFI_OPTIONS_H_

namespace vof {

struct OfiOptions {
  // One receive context for all connected channels of a domain, where the provider has such
  // contexts (tcp, net and verbs do). It saves memory when many queues are open and few are busy;
  // a peer that ignores its credits then takes receives of other channels.
  bool shared_receives = false;
  int max_shared_receives = 16384;
};

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_OPTIONS_H_
