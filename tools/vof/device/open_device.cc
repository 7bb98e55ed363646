// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/device/open_device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace vof {

absl::StatusOr<Uri> ResolveUri(const std::string& text, const VerbContext& context) {
  absl::StatusOr<Uri> uri = ParseUri(text);
  if (!uri.ok()) return uri;
  if (uri->name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " names no device: write scheme://HOST[:PORT]/NAME"));
  }
  if (const absl::Status fits = ApplyTo(context.flags, &uri->options); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": ", fits.message()));
  }
  return uri;
}

absl::StatusOr<std::unique_ptr<BlkClient>> OpenBlk(const std::string& text, VerbContext* context,
                                                   DeviceClientOptions options) {
  const absl::StatusOr<Uri> uri = ResolveUri(text, *context);
  if (!uri.ok()) return uri.status();
  return BlkClient::Connect(*uri, &context->backends, std::move(options));
}

std::string AddressOf(const DeviceClient& device) {
  std::string address = absl::StrCat(device.uri().scheme, "://", device.peer().address);
  if (device.peer().port != 0) absl::StrAppend(&address, ":", device.peer().port);
  return address;
}

}  // namespace vof
