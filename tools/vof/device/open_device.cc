// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/device/open_device.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/initiator_status.h"

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
  if (const absl::Status fits = ApplyTo(context.flags, &uri->options); !fits.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(text, ": ", fits.message()));
  }
  return uri;
}

absl::StatusOr<std::unique_ptr<BlkClient>> OpenBlk(const std::string& text, VerbContext* context) {
  const absl::StatusOr<Uri> uri = ResolveUri(text, *context);
  if (!uri.ok()) return uri.status();
  auto disk = BlkClient::Connect(*uri, &context->backends, {});
  if (!disk.ok()) return Explained(*uri, disk.status());
  NoteFewerQueues((*disk)->device(), &context->output);
  return disk;
}

absl::StatusOr<std::unique_ptr<DeviceClient>> OpenDevice(const std::string& text,
                                                         VerbContext* context) {
  const absl::StatusOr<Uri> uri = ResolveUri(text, *context);
  if (!uri.ok()) return uri.status();
  auto device = DeviceClient::Connect(*uri, &context->backends, {});
  if (!device.ok()) return Explained(*uri, device.status());
  NoteFewerQueues(**device, &context->output);
  return device;
}

void NoteFewerQueues(const DeviceClient& device, Output* output) {
  const size_t wanted = device.uri().options.queues;
  if (wanted <= device.num_queues()) return;
  Uri bare = device.uri();
  bare.options = UriOptions{};
  output->Note(absl::StrCat(wanted, " virtqueues are wanted, ", FormatUri(bare), " has ",
                            device.num_queues(), ": using ", device.num_queues()));
}

std::string AddressOf(const DeviceClient& device) {
  std::string address = absl::StrCat(device.uri().scheme, "://", device.peer().address);
  if (device.peer().port != 0) absl::StrAppend(&address, ":", device.peer().port);
  return address;
}

}  // namespace vof
