// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/bug_effect.h"

#include <utility>

namespace vof {

void BugEffect::OnWriteStarted(const std::vector<Extent>& extents) {
  for (const Extent& extent : extents) {
    ForEach(extent, [](Sector& sector) {
      sector.contended = sector.writers > 0;  // also while fewer are left of them
      ++sector.writers;
      sector.lost = false;
      sector.stale_since = 0;
    });
  }
}

void BugEffect::OnWriteOver(const std::vector<Extent>& extents, WriteOutcome outcome) {
  ++clock_;
  for (const Extent& extent : extents) {
    ForEach(extent, [&](Sector& sector) {
      if (outcome != WriteOutcome::kUnknown) --sector.writers;
      const bool lost = std::exchange(sector.lost, false);
      sector.stale_since = lost && outcome == WriteOutcome::kDone ? clock_ : 0;
    });
  }
}

void BugEffect::OnCut(uint64_t first) {
  if (first >= sectors_.size()) return;
  ForEach({first, sectors_.size() - first}, [](Sector& sector) {
    sector.contended = sector.writers > 0;
    sector.lost = false;
    sector.stale_since = 0;
  });
}

void BugEffect::OnWriteLost(uint64_t first, uint64_t count) {
  ForEach({first, count},
          [](Sector& sector) { sector.lost = sector.writers == 1 && !sector.contended; });
}

void BugEffect::OnRead(const Extent& extent, uint64_t clock, std::span<const std::byte> data) {
  ForEach(extent, [&](const Sector& sector) {
    if (sector.stale_since != 0 && sector.stale_since <= clock) TookPlace();
  });
  const bool arrived =
      changed_.has_value() && changed_->sector == extent.first && changed_->value == data[0];
  if (arrived) TookPlace();
}

}  // namespace vof
