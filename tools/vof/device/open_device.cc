// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/device/open_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/engine/initiator_status.h"
#include "tools/vof/transfer/same_store.h"

namespace vof {
namespace {

// The program has no listener of its own, but that of one verb.
absl::Status Explained(const Uri& uri, const absl::Status& status) {
  if (uri.scheme != "loop" || FailureKindOf(status) != FailureKind::kCannotConnect) return status;
  return WithHint(
      "loop: lives within one process, and of the verbs only bench serves one there: a memory "
      "disk for its own use, as in \"vof bench loop:///memory\". A device of a target is "
      "tcp://HOST[:PORT]/NAME",
      status);
}

}  // namespace

absl::StatusOr<Uri> ResolveUri(const std::string& text, const VerbContext& context) {
  absl::StatusOr<Uri> uri = ParseUri(text);
  if (!uri.ok()) return uri;
  if (uri->name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " names no device: write scheme://HOST[:PORT]/NAME"));
  }
  if (uri->port == 0 && uri->scheme != "loop") {
    return absl::InvalidArgumentError(absl::StrCat(
        text, ": port 0 cannot be connected to; vof-target prints the port that it got"));
  }
  if (const absl::Status fits = ApplyTo(context.flags, &uri->options); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": ", fits.message()));
  }
  return uri;
}

absl::Status CheckTwoDevices(std::string_view verb, const std::string& a, const std::string& b) {
  const absl::StatusOr<Uri> first = ParseUri(a), second = ParseUri(b);
  if (!first.ok() || !second.ok()) return absl::OkStatus();
  const bool same_target = first->scheme == second->scheme && first->port == second->port &&
                           absl::EqualsIgnoreCase(first->host, second->host);
  if (!same_target || first->name != second->name) return absl::OkStatus();
  return SameDeviceError(verb, a, b);
}

absl::StatusOr<std::unique_ptr<BlkClient>> OpenBlk(const std::string& text, VerbContext* context) {
  const absl::StatusOr<Uri> uri = ResolveUri(text, *context);
  if (!uri.ok()) return uri.status();
  auto disk = BlkClient::Connect(*uri, &context->backends, {});
  if (!disk.ok()) return Explained(*uri, disk.status());
  NoteShortfalls((*disk)->device(), &context->output);
  return disk;
}

absl::StatusOr<std::unique_ptr<DeviceClient>> OpenDevice(const std::string& text,
                                                         VerbContext* context) {
  const absl::StatusOr<Uri> uri = ResolveUri(text, *context);
  if (!uri.ok()) return uri.status();
  auto device = DeviceClient::Connect(*uri, &context->backends, {});
  if (!device.ok()) return Explained(*uri, device.status());
  NoteShortfalls(**device, &context->output);
  return device;
}

void NoteShortfalls(const DeviceClient& device, Output* output) {
  const std::string name = FormatUriBare(device.uri());
  const UriOptions& wanted = device.uri().options;
  if (wanted.queues > device.num_queues()) {
    // By the URI or by a flag.
    output->Note(absl::StrCat(wanted.queues, " virtqueues are asked for: ", name, " has ",
                              device.num_queues(), ", all of them are used"));
  }
  const std::vector<uint16_t>& sizes = device.info().queue_sizes;
  const uint16_t size = *std::min_element(sizes.begin(), sizes.end());
  if (wanted.queue_size > size) {
    output->Note(absl::StrCat("?queue_size=", wanted.queue_size, ": ", name, " offers ", size,
                              " at most, which is used"));
  }
}

std::string AddressOf(const DeviceClient& device) {
  const std::string& provider = device.uri().options.provider;
  return absl::StrCat(device.uri().scheme, "://", device.peer().Text(),
                      provider.empty() ? "" : "?provider=", provider);
}

}  // namespace vof
