// SPDX-License-Identifier: Apache-2.0
//
// Around any store: one that may refuse to let go of its operations when it is asked to, and that
// has the bugs of the plan.
//
//   auto store = std::make_shared<StubbornStore>(&context, inner);
//   store->set_stubborn(true);       // CancelAll does nothing; a reset runs into its time-out
#ifndef VOF_TESTING_SIM_SIM_STORE_H_
#define VOF_TESTING_SIM_SIM_STORE_H_

#include <memory>
#include <utility>

#include "devices/blk/block_store.h"
#include "testing/sim/sim_context.h"

namespace vof {

class StubbornStore final : public BlockStore {
 public:
  StubbornStore(SimContext* context, std::shared_ptr<BlockStore> inner)
      : context_(context), inner_(std::move(inner)), stubborn_(std::make_shared<bool>(false)) {}

  void set_stubborn(bool stubborn) { *stubborn_ = stubborn; }

  StoreTraits traits() const override { return inner_->traits(); }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  uint64_t epoch() const override { return inner_->epoch(); }
  absl::Status Resize(uint64_t size_bytes) override { return inner_->Resize(size_bytes); }
  absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() override {
    auto queue = inner_->OpenQueue();
    if (!queue.ok()) return queue.status();
    return std::make_unique<Queue>(context_, *std::move(queue), stubborn_);
  }

 private:
  class Queue final : public StoreQueue {
   public:
    Queue(SimContext* context, std::unique_ptr<StoreQueue> inner, std::shared_ptr<bool> stubborn)
        : context_(context), inner_(std::move(inner)), stubborn_(std::move(stubborn)) {}
    void Submit(std::span<StoreOperation* const> batch) override {
      for (StoreOperation* operation : batch) {
        const bool loses = operation->verb == StoreVerb::kWrite && operation->length_bytes > 0 &&
                           context_->Sabotage(SimBug::kLostWrite);
        if (loses) {
          context_->effect.OnWriteLost(operation->offset_bytes / kSectorBytes,
                                       operation->length_bytes / kSectorBytes);
          operation->source = BufferReader();
          operation->length_bytes = 0;
        }
      }
      inner_->Submit(batch);
    }
    size_t Reap(std::span<StoreOperation*> done) override {
      size_t count = inner_->Reap(done);
      for (size_t i = 0; i < count; ++i) {
        if (context_->Sabotage(SimBug::kLostCompletion)) {
          lost_ = done[i];
          done[i] = done[--count];
          break;
        }
        if (done[i]->verb == StoreVerb::kRead && done[i]->status == StoreStatus::kOk &&
            context_->Sabotage(SimBug::kCorruptedByte)) {
          ChangeFirstByte(done[i]);
        }
      }
      // It has been noticed: engines are not destroyed before their requests are over.
      if (context_->failed() && lost_ != nullptr && count < done.size()) {
        done[count++] = std::exchange(lost_, nullptr);
      }
      return count;
    }
    void CancelAll() override {
      if (!*stubborn_) inner_->CancelAll();
    }

   private:
    void ChangeFirstByte(StoreOperation* read) {
      size_t piece = 0;
      while (read->request->writable[piece].size_bytes == 0) ++piece;
      const uint64_t sector = read->offset_bytes / kSectorBytes;
      const std::byte value = context_->model.NeverFirstIn(sector);
      *read->request->writable[piece].data = value;
      context_->effect.OnByteChanged(sector, value);
    }

    SimContext* const context_;
    StoreOperation* lost_ = nullptr;
    const std::unique_ptr<StoreQueue> inner_;
    const std::shared_ptr<bool> stubborn_;
  };

  SimContext* const context_;
  const std::shared_ptr<BlockStore> inner_;
  const std::shared_ptr<bool> stubborn_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_STORE_H_
