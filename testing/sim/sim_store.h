// SPDX-License-Identifier: Apache-2.0
//
// Around any store: one that may refuse to let go of its operations when it is asked to.
//
//   auto store = std::make_shared<StubbornStore>(inner);
//   store->set_stubborn(true);       // CancelAll does nothing; a reset runs into its time-out
#ifndef VOF_TESTING_SIM_SIM_STORE_H_
#define VOF_TESTING_SIM_SIM_STORE_H_

#include <memory>
#include <utility>

#include "devices/blk/block_store.h"

namespace vof {

class StubbornStore final : public BlockStore {
 public:
  explicit StubbornStore(std::shared_ptr<BlockStore> inner)
      : inner_(std::move(inner)), stubborn_(std::make_shared<bool>(false)) {}

  void set_stubborn(bool stubborn) { *stubborn_ = stubborn; }

  StoreTraits traits() const override { return inner_->traits(); }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  uint64_t epoch() const override { return inner_->epoch(); }
  absl::Status Resize(uint64_t size_bytes) override { return inner_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    auto queue = inner_->OpenQueue();
    if (!queue.ok()) return queue.status();
    return std::make_unique<Queue>(*std::move(queue), stubborn_);
  }

 private:
  class Queue final : public StoreQueue {
   public:
    Queue(std::unique_ptr<StoreQueue> inner, std::shared_ptr<bool> stubborn)
        : inner_(std::move(inner)), stubborn_(std::move(stubborn)) {}
    void Submit(std::span<StoreOperation* const> batch) override { inner_->Submit(batch); }
    size_t Reap(std::span<StoreOperation*> done) override { return inner_->Reap(done); }
    void CancelAll() override {
      if (!*stubborn_) inner_->CancelAll();
    }

   private:
    const std::unique_ptr<StoreQueue> inner_;
    const std::shared_ptr<bool> stubborn_;
  };

  const std::shared_ptr<BlockStore> inner_;
  const std::shared_ptr<bool> stubborn_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_STORE_H_
