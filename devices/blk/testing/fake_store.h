// SPDX-License-Identifier: Apache-2.0
//
// A store that misbehaves on purpose, for tests: finishes late and out of order, fails, moves only
// half of the bytes, loses what was not synced when the power goes.
//
//   auto store = std::make_shared<FakeStore>(FakeStore::Options{.size_bytes = 1 << 20, .seed = 7});
//   store->FailNext(StoreStatus::kNoSpace);
//   ... write ...
//   store->PowerCut();               // back to what was durable
//   EXPECT_EQ(store->num_syncs(), 1);
//
// Deterministic for a seed and a sequence of calls. Thread-safe by one mutex: queues on several
// threads work on the same bytes.
#ifndef VOF_DEVICES_BLK_TESTING_FAKE_STORE_H_
#define VOF_DEVICES_BLK_TESTING_FAKE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "devices/blk/block_store.h"

namespace vof {

class FakeStore final : public BlockStore {
 public:
  struct Options {
    uint64_t size_bytes = 1u << 20;
    uint32_t seed = 1;
    bool out_of_order = true;
    // Each operation stays for up to so many calls of Reap.
    uint32_t max_delay_reaps = 4;
    // Of 1000 operations, how many fail; half of those that move data have moved half of it then.
    uint32_t failures_per_mille = 0;
    bool can_discard = true;
    uint32_t alignment_bytes = 512;
  };

  explicit FakeStore(const Options& options);

  // The next operation (flushes included) ends like this. Calls queue up.
  void FailNext(StoreStatus status);
  // Nothing finishes until it is false again; CancelAll still cancels.
  void Hold(bool hold);
  // Forgets all that was not durable.
  void PowerCut();
  int num_syncs() const;       // fdatasync calls that a real store would have made
  int num_operations() const;  // that have finished
  int num_submitted() const;   // held ones included
  std::vector<std::byte> contents() const;

  StoreTraits traits() const override;
  uint64_t size_bytes() const override;
  uint64_t epoch() const override;
  absl::Status Resize(uint64_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override;

 private:
  friend class FakeStoreQueue;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_TESTING_FAKE_STORE_H_
