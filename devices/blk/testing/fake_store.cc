// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/testing/fake_store.h"

#include <algorithm>
#include <utility>

namespace vof {

struct FakeStore::State {
  explicit State(const Options& o)
      : options(o), random(o.seed), cached(o.size_bytes), durable(o.size_bytes) {}

  StoreStatus DrawStatus() {
    if (!fail_next.empty()) {
      const StoreStatus status = fail_next.front();
      fail_next.pop_front();
      return status;
    }
    if (random() % 1000 >= options.failures_per_mille) return StoreStatus::kOk;
    return random() % 2 == 0 ? StoreStatus::kIoError : StoreStatus::kNoSpace;
  }
  void Execute(StoreOperation* op);
  void Transfer(StoreOperation* op, uint64_t length_bytes);
  void Zero(const StoreOperation& op);
  void Sync(uint64_t offset_bytes, uint64_t length_bytes) {
    std::copy_n(cached.begin() + static_cast<ptrdiff_t>(offset_bytes), length_bytes,
                durable.begin() + static_cast<ptrdiff_t>(offset_bytes));
  }

  std::mutex mutex;
  const Options options;
  std::mt19937 random;
  std::vector<std::byte> cached;
  std::vector<std::byte> durable;
  std::deque<StoreStatus> fail_next;
  bool hold = false;
  int num_syncs = 0;
  int num_operations = 0;
  int num_submitted = 0;
  uint64_t epoch = 1;
};

class FakeStoreQueue final : public StoreQueue {
 public:
  explicit FakeStoreQueue(std::shared_ptr<FakeStore::State> state) : state_(std::move(state)) {}

  void Submit(std::span<StoreOperation* const> batch) override {
    const std::lock_guard lock(state_->mutex);
    for (StoreOperation* op : batch) {
      const uint32_t delay = state_->random() % (state_->options.max_delay_reaps + 1);
      waiting_.push_back({op, delay});
      ++state_->num_submitted;
    }
  }

  size_t Reap(std::span<StoreOperation*> done) override {
    const std::lock_guard lock(state_->mutex);
    for (Waiting& w : waiting_) w.delay_reaps -= w.delay_reaps > 0 ? 1 : 0;
    if (state_->options.out_of_order)
      std::shuffle(waiting_.begin(), waiting_.end(), state_->random);
    size_t count = 0;
    for (size_t i = 0; i < waiting_.size() && count < done.size();) {
      const bool may_finish =
          waiting_[i].cancelled || (!state_->hold && waiting_[i].delay_reaps == 0);
      if (!may_finish) {
        if (!state_->options.out_of_order) break;
        ++i;
        continue;
      }
      StoreOperation* op = waiting_[i].operation;
      if (waiting_[i].cancelled) {
        op->status = StoreStatus::kCancelled;
      } else {
        state_->Execute(op);
      }
      done[count++] = op;
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    }
    return count;
  }

  void CancelAll() override {
    for (Waiting& w : waiting_) w.cancelled = true;
  }

 private:
  struct Waiting {
    StoreOperation* operation;
    uint32_t delay_reaps;
    bool cancelled = false;
  };

  const std::shared_ptr<FakeStore::State> state_;
  std::deque<Waiting> waiting_;
};

void FakeStore::State::Transfer(StoreOperation* op, uint64_t length_bytes) {
  std::byte* const at = cached.data() + op->offset_bytes;
  if (op->verb == StoreVerb::kRead) {
    op->destination.Write(at, length_bytes);
  } else {
    op->source.Read(at, length_bytes);
  }
}

void FakeStore::State::Zero(const StoreOperation& op) {
  for (const StoreRange& range : op.ranges) {
    std::fill_n(cached.begin() + static_cast<ptrdiff_t>(range.offset_bytes), range.length_bytes,
                std::byte{0});
    if (op.durable) Sync(range.offset_bytes, range.length_bytes);
  }
}

void FakeStore::State::Execute(StoreOperation* op) {
  ++num_operations;
  op->status = DrawStatus();
  const bool ok = op->status == StoreStatus::kOk;
  if (ok && (op->verb == StoreVerb::kFlush || (op->durable && op->verb != StoreVerb::kRead)))
    ++num_syncs;
  switch (op->verb) {
    case StoreVerb::kRead:
    case StoreVerb::kWrite:
      if (op->offset_bytes + op->length_bytes > cached.size()) {
        op->status = StoreStatus::kIoError;
      } else if (ok) {
        Transfer(op, op->length_bytes);
        if (op->durable && op->verb == StoreVerb::kWrite) Sync(op->offset_bytes, op->length_bytes);
      } else if (random() % 2 == 0) {
        Transfer(op, op->length_bytes / 2);
      }
      break;
    case StoreVerb::kFlush:
      if (ok) durable = cached;
      break;
    case StoreVerb::kDiscard:
    case StoreVerb::kWriteZeroes:
      if (ok) Zero(*op);
      break;
  }
}

FakeStore::FakeStore(const Options& options) : state_(std::make_shared<State>(options)) {}

void FakeStore::FailNext(StoreStatus status) {
  const std::lock_guard lock(state_->mutex);
  state_->fail_next.push_back(status);
}

void FakeStore::Hold(bool hold) {
  const std::lock_guard lock(state_->mutex);
  state_->hold = hold;
}

void FakeStore::PowerCut() {
  const std::lock_guard lock(state_->mutex);
  state_->cached = state_->durable;
  ++state_->epoch;
}

int FakeStore::num_syncs() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_syncs;
}

int FakeStore::num_submitted() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_submitted;
}
int FakeStore::num_operations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->num_operations;
}

std::vector<std::byte> FakeStore::contents() const {
  const std::lock_guard lock(state_->mutex);
  return state_->cached;
}

StoreTraits FakeStore::traits() const {
  return {.can_discard = state_->options.can_discard,
          .alignment_bytes = state_->options.alignment_bytes};
}

uint64_t FakeStore::size_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->cached.size();
}

uint64_t FakeStore::epoch() const {
  const std::lock_guard lock(state_->mutex);
  return state_->epoch;
}

absl::Status FakeStore::Resize(uint64_t size_bytes) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->fail_next.empty()) {
    state_->fail_next.pop_front();
    return absl::ResourceExhaustedError("the fake store was told to fail");
  }
  state_->cached.resize(size_bytes);
  state_->durable.resize(size_bytes);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StoreQueue>> FakeStore::OpenQueue() {
  return std::make_unique<FakeStoreQueue>(state_);
}

}  // namespace vof
