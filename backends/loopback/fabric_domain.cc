// SPDX-License-Identifier: Apache-2.0
#include "backends/loopback/fabric_domain.h"

#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vof {
namespace {

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

absl::Status LimitReached(size_t size_bytes, const FabricDomainOptions& options,
                          const FabricMemory::Usage& usage) {
  const std::string what =
      absl::StrCat("loopback fabric: cannot register ", size_bytes, " bytes: ");
  if (usage.regions >= options.max_regions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, "max_regions is ", options.max_regions,
                     " and that many are registered; end regions or raise max_regions"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      what, "max_pinned_bytes is ", options.max_pinned_bytes, " and ", usage.pinned_bytes,
      " are pinned already; end regions or raise max_pinned_bytes"));
}

// Deregisters when the last owner of the region ends.
struct Registration {
  Registration(std::shared_ptr<FabricMemory> m, uint32_t k) : memory(std::move(m)), key(k) {}
  ~Registration() { memory->Remove(key); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  const std::shared_ptr<FabricMemory> memory;
  const uint32_t key;
};

}  // namespace

FabricDomain::FabricDomain(const FabricDomainOptions& options)
    : options_(options),
      memory_(
          std::make_shared<FabricMemory>(options.key_seed != 0 ? options.key_seed : RandomSeed(),
                                         options.addressing == FabricAddressing::kZeroBased)) {}

absl::StatusOr<Region> FabricDomain::Register(MutableBuffer bytes, Access access) {
  if (bytes.data == nullptr || bytes.size_bytes == 0) {
    return absl::InvalidArgumentError("loopback fabric: cannot register an empty range of memory");
  }
  for (int left = failures_.load(); left > 0;) {
    if (failures_.compare_exchange_weak(left, left - 1)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("loopback fabric: cannot register ", bytes.size_bytes,
                       " bytes: a test asked for the failure (FailNextRegistrations)"));
    }
  }
  FabricMemory::Usage usage;
  const std::optional<Region::Keys> keys =
      memory_->Add(bytes, access, {options_.max_regions, options_.max_pinned_bytes}, &usage);
  if (!keys.has_value()) return LimitReached(bytes.size_bytes, options_, usage);
  return Region(bytes, *keys, std::make_shared<Registration>(memory_, keys->remote_key));
}

}  // namespace vof
