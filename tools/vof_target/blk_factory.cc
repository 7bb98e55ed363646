// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/blk_factory.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "tools/common/size.h"
#include "tools/vof_target/blk_spec.h"

namespace vof {
namespace {

using StoreOr = absl::StatusOr<std::shared_ptr<BlockStore>>;

StoreOr OpenFileStore(const BlkSpec& spec, std::string_view name, const BlkHooks& hooks) {
  FileStoreOptions options;
  options.path = spec.path;
  options.read_only = spec.options.read_only;
  options.direct = spec.direct;
  options.io = spec.io;
  options.create_size_bytes = spec.size_bytes.value_or(0);
  options.on_created = hooks.on_created;
  if (hooks.on_error) {
    options.on_error = [report = hooks.on_error,
                        name = std::string(name)](const StoreError& error) { report(name, error); };
  }
  if (hooks.on_plain_calls) {
    options.on_plain_calls = [report = hooks.on_plain_calls, name](const absl::Status& why) {
      report(name, why);
    };
  }
  StoreOr store = MakeFileStore(options);
  if (absl::IsNotFound(store.status()) && !spec.size_bytes) {
    return absl::NotFoundError(
        absl::StrCat(std::string(store.status().message()), "; give a size to have it created"));
  }
  if (!store.ok() || !spec.size_bytes || (*store)->size_bytes() == *spec.size_bytes) return store;
  const uint64_t actual_bytes = (*store)->size_bytes();
  return absl::FailedPreconditionError(absl::StrCat(
      spec.path, ": has ", FormatSize(actual_bytes), ", which is ",
      actual_bytes < *spec.size_bytes ? "smaller" : "larger", " than the size that was asked for, ",
      FormatSize(*spec.size_bytes), "; leave size out to serve the file as it is"));
}

StoreOr OpenStore(const BlkSpec& spec, std::string_view name, const BlkHooks& hooks) {
  switch (spec.store) {
    case BlkStoreKind::kMemory:
      return MakeMemoryStore({.size_bytes = *spec.size_bytes, .huge_pages = spec.hugepages});
    case BlkStoreKind::kNull:
      return MakeNullStore(*spec.size_bytes);
    case BlkStoreKind::kFile:
      break;
  }
  return OpenFileStore(spec, name, hooks);
}

}  // namespace

std::vector<DeviceOptionHelp> BlkFactory::options() const { return BlkOptionHelp(); }

std::optional<DeviceOptionProblem> BlkFactory::Check(const DeviceOptionList& options) const {
  BlkSpec spec;
  return ParseBlkSpec(options, &spec);
}

absl::StatusOr<std::shared_ptr<Device>> BlkFactory::Make(std::string_view name,
                                                         const DeviceOptionList& options) const {
  BlkSpec spec;
  if (const auto problem = ParseBlkSpec(options, &spec)) {
    return absl::InvalidArgumentError(absl::StrCat(problem->key, ": ", problem->message));
  }
  if (!spec.has_serial) spec.options.serial = DefaultBlkSerial(name);
  StoreOr store = OpenStore(spec, name, hooks_);
  if (!store.ok()) return store.status();
  auto device = MakeBlkDevice(spec.options, *std::move(store));
  if (!device.ok()) return device.status();
  return std::shared_ptr<Device>(*std::move(device));
}

DeviceOptionList BlkFactory::WithDefaults(std::string_view name,
                                          const DeviceOptionList& options) const {
  return WithBlkDefaults(name, options);
}

}  // namespace vof
