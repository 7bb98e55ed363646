// SPDX-License-Identifier: Apache-2.0
//
// Whether the bug of the plan did harm that an initiator could notice, found out where it was put
// in and without the checkers: every run with an effect must fail, and a run without one need not.
//
//   effect.OnWriteLost(first, count);                       // the store did not make it
//   ... effect.OnWriteOver(extents, WriteOutcome::kDone);   // the initiator was told otherwise
//   effect.OnRead(extent, effect.clock() when it was made, data);
//   if (effect.took_place()) ...
//
// A lost write has none when it is overwritten before anybody reads it, a byte that is changed when
// its session ends before it arrives, a connection that is not woken when something else soon wakes
// it, and a post for which the channel has no room.
#ifndef VOF_TESTING_SIM_BUG_EFFECT_H_
#define VOF_TESTING_SIM_BUG_EFFECT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "testing/sim/disk_model.h"

namespace vof {

class BugEffect {
 public:
  explicit BugEffect(uint64_t sectors) : sectors_(sectors) {}

  bool took_place() const { return took_place_; }
  void TookPlace() { took_place_ = true; }

  // --- A lost write ---
  // Every write and whatever else changes sectors, from when it is made. One whose outcome is
  // unknown counts as under way for ever.
  void OnWriteStarted(const std::vector<Extent>& extents);
  void OnWriteOver(const std::vector<Extent>& extents, WriteOutcome outcome);
  void OnCut(uint64_t first);
  // Only sectors that nobody else changes from its start to its end count: otherwise it may have
  // been overwritten.
  void OnWriteLost(uint64_t first, uint64_t count);

  // --- A changed byte ---
  void OnByteChanged(uint64_t sector, std::byte value) { changed_ = Changed{sector, value}; }

  // A read that the device says is fine. `clock`: when it was made.
  void OnRead(const Extent& extent, uint64_t clock, std::span<const std::byte> data);
  uint64_t clock() const { return clock_; }

 private:
  struct Sector {
    uint32_t writers = 0;
    bool contended = false;    // somebody else changed it since the first of the writers began
    bool lost = false;         // and the initiator has not been told yet
    uint64_t stale_since = 0;  // not 0: it was told then that the write is done
  };
  struct Changed {
    uint64_t sector;
    std::byte value;  // of its first byte
  };

  template <typename Visit>
  void ForEach(const Extent& extent, const Visit& visit) {
    for (uint64_t s = extent.first; s < extent.first + extent.count && s < sectors_.size(); ++s) {
      visit(sectors_[s]);
    }
  }

  std::vector<Sector> sectors_;
  std::optional<Changed> changed_;
  uint64_t clock_ = 0;
  bool took_place_ = false;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_BUG_EFFECT_H_
