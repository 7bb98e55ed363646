// SPDX-License-Identifier: Apache-2.0
//
// Connects to an `ofi://` address: with a connection of the provider, or by a side connection and
// the exchange of names.
//
//   absl::StatusOr<std::unique_ptr<Link>> link = DialOfi(uri, &domains, SystemResolver(),
//   deadline);
#ifndef VOF_BACKENDS_OFI_OFI_DIALER_H_
#define VOF_BACKENDS_OFI_OFI_DIALER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "backends/common/resolver.h"
#include "backends/ofi/ofi_domain.h"
#include "core/base/time.h"
#include "core/runtime/backend.h"
#include "core/runtime/uri.h"

namespace vof {

// Blocks until `deadline` at most. Errors name the provider and every address that was tried.
absl::StatusOr<std::unique_ptr<Link>> DialOfi(const Uri& uri, OfiDomains* domains,
                                              const Resolver& resolver, MonotonicTime deadline);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_OFI_DIALER_H_
