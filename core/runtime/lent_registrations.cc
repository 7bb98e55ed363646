// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/lent_registrations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace vof {

// One registered range, and what keeps its pages in place meanwhile.
struct LentRegistrations::Lent {
  ~Lent() { *total_bytes -= region.bytes().size_bytes; }

  std::shared_ptr<std::atomic<uint64_t>> total_bytes;
  std::vector<std::shared_ptr<const void>> keep;
  std::shared_ptr<Domain> domain;
  Region region;  // goes first
};

std::shared_ptr<Device> LentRegistrations::Serve(std::shared_ptr<Device> device) {
  std::shared_ptr<Served> served = Find(device);
  if (served == nullptr) {
    served = std::make_shared<Served>();
    served->device = std::move(device);
    const std::lock_guard<std::mutex> lock(mutex_);
    served_.push_back(served);
  }
  Device* const raw = served->device.get();
  return {std::move(served), raw};
}

std::shared_ptr<LentRegistrations::Served> LentRegistrations::Find(
    const std::shared_ptr<Device>& device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  served_.erase(std::remove_if(served_.begin(), served_.end(),
                               [](const auto& served) { return served.expired(); }),
                served_.end());
  for (const std::weak_ptr<Served>& candidate : served_) {
    std::shared_ptr<Served> served = candidate.lock();
    if (served != nullptr && served->device == device) return served;
  }
  return nullptr;
}

LentRegistrations::Outcome LentRegistrations::For(const std::shared_ptr<Domain>& domain,
                                                  const std::shared_ptr<Device>& device) {
  Outcome outcome;
  const std::shared_ptr<Served> served = Find(device);
  if (served == nullptr || most_bytes_ == 0) return outcome;
  const LentMemory memory = device->LendMemory();
  const std::lock_guard<std::mutex> lock(served->mutex);
  auto it = std::find_if(served->domains.begin(), served->domains.end(),
                         [&](const OfDomain& known) { return known.domain == domain; });
  if (it == served->domains.end()) it = served->domains.insert(it, OfDomain{domain, {}, false});
  absl::Status status = absl::OkStatus();
  for (const MutableBuffer& range : memory.ranges) {
    if (status.ok()) status = Cover(range, memory, &*it);
  }
  outcome.regions = {it->regions, status.ok() && !memory.ranges.empty()};
  if (!status.ok() && !std::exchange(it->told, true)) outcome.failure = std::move(status);
  return outcome;
}

// Registers what of `range` is not covered yet: ranges grow at their end.
absl::Status LentRegistrations::Cover(MutableBuffer range, const LentMemory& memory,
                                      OfDomain* registered) {
  for (bool found = true; found && range.size_bytes > 0;) {
    found = false;
    for (const std::shared_ptr<Region>& region : registered->regions) {
      if (!region->Covers(range.data, 1)) continue;
      const size_t covered = std::min(range.size_bytes, region->BytesFrom(range.data));
      range = MutableBuffer(range.data + covered, range.size_bytes - covered);
      found = true;
    }
  }
  if (range.size_bytes == 0) return absl::OkStatus();
  const uint64_t total_bytes = registered_bytes_->load();
  if (range.size_bytes > most_bytes_ - std::min(most_bytes_, total_bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(range.size_bytes,
                     " bytes are needed, the limit of device memory to be "
                     "registered is ",
                     most_bytes_, " bytes and ", total_bytes, " are registered already"));
  }
  absl::StatusOr<Region> region = registered->domain->Register(range, Access::kLocal);
  if (!region.ok()) return region.status();
  auto lent = std::make_shared<Lent>();
  lent->total_bytes = registered_bytes_;
  lent->keep = memory.keep;
  lent->domain = registered->domain;
  lent->region = *std::move(region);
  *registered_bytes_ += range.size_bytes;
  registered->regions.emplace_back(lent, &lent->region);
  return absl::OkStatus();
}

}  // namespace vof
