// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/blk_factory.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "devices/blk/blk_device.h"
#include "devices/blk/blk_wire.h"
#include "devices/blk/store_file.h"
#include "devices/blk/store_memory.h"
#include "devices/blk/store_null.h"
#include "tools/common/size.h"
#include "tools/vof_target/blk_spec.h"

namespace vof {
namespace {

using StoreOr = absl::StatusOr<std::shared_ptr<BlockStore>>;

// Of a file that is there.
absl::Status CheckFileSize(const BlkSpec& spec, uint64_t actual_bytes) {
  const std::string has = absl::StrCat(spec.path, ": has ", ExactSize(actual_bytes), ", which is ");
  if (spec.size_bytes && actual_bytes != *spec.size_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(has, actual_bytes < *spec.size_bytes ? "smaller" : "larger",
                     " than the size that was asked for, ", ExactSize(*spec.size_bytes),
                     "; leave size out to serve the file as it is"));
  }
  const uint32_t block_bytes = spec.options.block_size_bytes;
  if (block_bytes == 0 || actual_bytes % block_bytes == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(has, "not a multiple of the block size of ", block_bytes,
                   " bytes; make a file longer with truncate -s %", block_bytes, " ", spec.path,
                   actual_bytes % kSectorBytes == 0 ? ", or serve it with block_size=512" : ""));
}

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
  if (!store.ok()) return store;
  const absl::Status fits = CheckFileSize(spec, (*store)->size_bytes());
  return fits.ok() ? std::move(store) : StoreOr(fits);
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
