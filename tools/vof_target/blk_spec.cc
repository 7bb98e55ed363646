// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/blk_spec.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "devices/blk/blk_wire.h"
#include "tools/common/size.h"

namespace vof {
namespace {

using Problem = std::optional<DeviceOptionProblem>;

Problem ParseStore(const DeviceOption& option, BlkSpec* spec) {
  if (option.value == "memory") {
    spec->store = BlkStoreKind::kMemory;
  } else if (option.value == "null") {
    spec->store = BlkStoreKind::kNull;
  } else if (option.value == "file") {
    spec->store = BlkStoreKind::kFile;
  } else {
    return DeviceOptionProblem{option.key, absl::StrCat("unknown store \"", option.value,
                                                        "\"; known: memory, null, file")};
  }
  return std::nullopt;
}

Problem ParseBool(const DeviceOption& option, bool* to) {
  if (absl::SimpleAtob(option.value, to)) return std::nullopt;
  return DeviceOptionProblem{option.key,
                             absl::StrCat("\"", option.value, "\" is neither true nor false")};
}

Problem ParseHugePages(const DeviceOption& option, HugePages* to) {
  if (option.value == "off") {
    *to = HugePages::kOff;
  } else if (option.value == "transparent") {
    *to = HugePages::kTransparent;
  } else if (option.value == "reserved") {
    *to = HugePages::kReserved;
  } else {
    return DeviceOptionProblem{option.key, absl::StrCat("unknown value \"", option.value,
                                                        "\"; known: off, transparent, reserved")};
  }
  return std::nullopt;
}

Problem ParseFileIo(const DeviceOption& option, FileIo* to) {
  if (option.value == "auto") {
    *to = FileIo::kAuto;
  } else if (option.value == "uring") {
    *to = FileIo::kUring;
  } else if (option.value == "calls") {
    *to = FileIo::kCalls;
  } else {
    return DeviceOptionProblem{option.key, absl::StrCat("unknown value \"", option.value,
                                                        "\"; known: auto, uring, calls")};
  }
  return std::nullopt;
}

Problem ParseCount(const DeviceOption& option, uint32_t most, uint16_t* to) {
  uint32_t value = 0;
  if (absl::SimpleAtoi(option.value, &value) && value >= 1 && value <= most) {
    *to = static_cast<uint16_t>(value);
    return std::nullopt;
  }
  return DeviceOptionProblem{
      option.key, absl::StrCat("\"", option.value, "\" is not a number between 1 and ", most)};
}

Problem ParseBytes(const DeviceOption& option, std::optional<uint64_t>* to) {
  const absl::StatusOr<uint64_t> size = ParseSize(option.value);
  if (!size.ok()) return DeviceOptionProblem{option.key, std::string(size.status().message())};
  // File offsets are signed.
  if (*size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return DeviceOptionProblem{
        option.key, absl::StrCat(option.value, " is above the largest size, 2^63-1 bytes")};
  }
  *to = *size;
  return std::nullopt;
}

Problem ParseBlockSize(const DeviceOption& option, uint32_t* to) {
  const absl::StatusOr<uint64_t> size = ParseSize(option.value);
  if (!size.ok() || (*size != 512 && *size != 4096)) {
    return DeviceOptionProblem{option.key,
                               absl::StrCat("\"", option.value, "\" is neither 512 nor 4096")};
  }
  *to = static_cast<uint32_t>(*size);
  return std::nullopt;
}

Problem ParseOne(const DeviceOption& option, BlkSpec* spec) {
  BlkOptions& blk = spec->options;
  const std::string& key = option.key;
  if (key == "store") return ParseStore(option, spec);
  if (key == "size") return ParseBytes(option, &spec->size_bytes);
  if (key == "direct") return ParseBool(option, &spec->direct);
  if (key == "io") return ParseFileIo(option, &spec->io);
  if (key == "hugepages") return ParseHugePages(option, &spec->hugepages);
  if (key == "read_only") return ParseBool(option, &blk.read_only);
  if (key == "shared") return ParseBool(option, &blk.shareable);
  if (key == "write_cache") return ParseBool(option, &blk.write_cache);
  if (key == "block_size") return ParseBlockSize(option, &blk.block_size_bytes);
  if (key == "queues") return ParseCount(option, kMaxQueuesPerInstance, &blk.num_queues);
  if (key == "queue_size") return ParseCount(option, kMaxQueueSize, &blk.max_queue_size);
  if (key == "serial") {
    blk.serial = option.value;
    spec->has_serial = true;
  } else if (key == "path") {
    spec->path = option.value;
  }
  return std::nullopt;
}

const DeviceOption* Find(const DeviceOptionList& options, std::string_view key) {
  for (const DeviceOption& option : options) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

// Options that only one kind of store has.
Problem CheckStoreFits(const DeviceOptionList& options, const BlkSpec& spec) {
  const struct {
    std::string_view key;
    BlkStoreKind store;
    std::string_view store_name;
  } kOnly[] = {{"path", BlkStoreKind::kFile, "file"},
               {"direct", BlkStoreKind::kFile, "file"},
               {"io", BlkStoreKind::kFile, "file"},
               {"hugepages", BlkStoreKind::kMemory, "memory"}};
  for (const auto& only : kOnly) {
    if (spec.store == only.store || Find(options, only.key) == nullptr) continue;
    const std::string key(only.key);
    return DeviceOptionProblem{key, absl::StrCat("only a ", std::string(only.store_name),
                                                 " store has the option \"", key, "\"")};
  }
  if (spec.direct && spec.io == FileIo::kCalls) {
    return DeviceOptionProblem{"io", "\"calls\" are plain calls, and \"direct\" needs io_uring"};
  }
  return std::nullopt;
}

// Of the device as a whole: told when each option is right.
Problem CheckComplete(const DeviceOptionList& options, const BlkSpec& spec) {
  if (Find(options, "store") == nullptr) {
    return DeviceOptionProblem{"", "a block device needs a store: memory, null or file"};
  }
  if (spec.store == BlkStoreKind::kFile && spec.path.empty()) {
    return DeviceOptionProblem{"", "a file store needs a path, for example path=/srv/disk.img"};
  }
  if (spec.store != BlkStoreKind::kFile && !spec.size_bytes) {
    return DeviceOptionProblem{"", "a memory or null store needs a size, for example size=1G"};
  }
  return std::nullopt;
}

Problem CheckTogether(const DeviceOptionList& options, const BlkSpec& spec) {
  if (Find(options, "store") != nullptr) {
    if (Problem problem = CheckStoreFits(options, spec)) return problem;
  }
  if (spec.size_bytes) {
    const absl::Status size = ValidateBlkSize(*spec.size_bytes, spec.options.block_size_bytes);
    if (!size.ok()) return DeviceOptionProblem{"size", std::string(size.message())};
  }
  // What the text alone does not settle (alignment of the store) is checked when the device is
  // made.
  const absl::Status rest = ValidateBlkOptions(spec.options, {.read_only = spec.options.read_only},
                                               spec.size_bytes.value_or(4096));
  if (!rest.ok()) return DeviceOptionProblem{"serial", std::string(rest.message())};
  return CheckComplete(options, spec);
}

}  // namespace

std::vector<DeviceOptionHelp> BlkOptionHelp() {
  const BlkOptions blk;
  const auto if_true = [](bool value) { return value ? "true" : "false"; };
  return {
      {"store", "memory, null or file; required"},
      {"size", "1G, 64M, or bytes; a file that is not there is created only when it is given"},
      {"path", "file store: the file or block device; required"},
      {"direct", "file store: bypass the page cache (O_DIRECT); false"},
      {"io",
       "file store: uring, calls (plain ones, which hold up the reactor), or auto: uring where "
       "permitted; auto"},
      {"hugepages", "memory store: off, transparent, or reserved (from nr_hugepages); off"},
      {"read_only", absl::StrCat("refuse writes; ", if_true(blk.read_only))},
      {"shared", absl::StrCat("several initiators at a time; ", if_true(blk.shareable))},
      {"block_size", absl::StrCat("512 or 4096; ", blk.block_size_bytes)},
      {"queues",
       absl::StrCat("virtqueues offered, 1 to ", kMaxQueuesPerInstance, "; ", blk.num_queues)},
      {"queue_size",
       absl::StrCat("of each virtqueue, 1 to ", kMaxQueueSize, "; ", blk.max_queue_size)},
      {"serial", absl::StrCat("at most ", kBlkIdBytes, " ASCII characters; the name, if it fits")},
      {"write_cache", absl::StrCat("writes may wait for a flush; ", if_true(blk.write_cache))},
  };
}

std::optional<DeviceOptionProblem> ParseBlkSpec(const DeviceOptionList& options, BlkSpec* spec) {
  for (const DeviceOption& option : options) {
    if (Problem problem = ParseOne(option, spec)) return problem;
  }
  return CheckTogether(options, *spec);
}

std::string DefaultBlkSerial(std::string_view name) {
  BlkOptions named;
  named.serial = std::string(name);
  return ValidateBlkOptions(named, {}, 4096).ok() ? named.serial : BlkOptions().serial;
}

DeviceOptionList WithBlkDefaults(std::string_view name, const DeviceOptionList& options) {
  BlkSpec spec;
  (void)ParseBlkSpec(options, &spec);
  const BlkOptions& blk = spec.options;
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  DeviceOptionList defaults = {
      {"read_only", flag(blk.read_only)},
      {"shared", flag(blk.shareable)},
      {"block_size", absl::StrCat(blk.block_size_bytes)},
      {"queues", absl::StrCat(blk.num_queues)},
      {"queue_size", absl::StrCat(blk.max_queue_size)},
      {"serial", DefaultBlkSerial(name)},
      {"write_cache", flag(blk.write_cache)},
  };
  if (spec.store == BlkStoreKind::kFile) {
    defaults.push_back({"direct", flag(spec.direct)});
    defaults.push_back({"io", "auto"});
  }
  if (spec.store == BlkStoreKind::kMemory) defaults.push_back({"hugepages", "off"});
  DeviceOptionList all = options;
  for (DeviceOption& option : defaults) {
    if (Find(options, option.key) == nullptr) all.push_back(std::move(option));
  }
  return all;
}

}  // namespace vof
