// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/bench/bench_worker.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/vof/bench/block_stamp.h"

namespace vof {
namespace {

constexpr size_t kPageBytes = 4096;

// The share of queue `index`: the first ones take what does not divide evenly.
uint64_t OperationsOf(const BenchOptions& options, uint64_t index) {
  if (!options.operations) return UINT64_MAX;
  return *options.operations / options.queues + (index < *options.operations % options.queues);
}

// Nothing that a store could compress.
void FillRandom(SplitMix64* random, std::span<std::byte> data) {
  for (size_t at = 0; at + 8 <= data.size(); at += 8) {
    const uint64_t word = random->Next();
    std::memcpy(data.data() + at, &word, sizeof(word));
  }
}

bool LosesQueue(BlkError error) {
  return error == BlkError::kTimedOut || error == BlkError::kLost || error == BlkError::kCancelled;
}

}  // namespace

BenchWorker::BenchWorker(BlkClientQueue* queue, const BenchOptions& options, const BenchPlan& plan,
                         uint64_t index)
    : queue_(queue),
      options_(options),
      first_block_(plan.FirstBlock(index)),
      num_blocks_(plan.blocks_per_queue),
      operations_limit_(OperationsOf(options, index)),
      workload_({.random = options.access.random,
                 .read_percent = options.access.read_percent,
                 .num_blocks = num_blocks_,
                 .seed = options.seed * 1000 + index}),
      slots_(options.depth) {
  if (options.verify) ledger_.emplace(num_blocks_);
  const size_t total_bytes = options.depth * options.block_bytes;
  memory_ = static_cast<std::byte*>(::operator new (total_bytes, std::align_val_t{kPageBytes}));
  SplitMix64 random(options.seed ^ (index << 32));
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].worker = this;
    slots_[i].data = {memory_ + i * options.block_bytes, options.block_bytes};
    slots_[i].io.context = &slots_[i];
    slots_[i].io.done = &BenchWorker::OnDone;
    FillRandom(&random, slots_[i].data);
  }
  // So that counting what goes wrong does not allocate, either.
  result_.error_samples.reserve(BenchResult::kMaxSamples);
  result_.mismatch_samples.reserve(BenchResult::kMaxSamples);
}

BenchWorker::~BenchWorker() { ::operator delete (memory_, std::align_val_t{kPageBytes}); }

void BenchWorker::Start(std::function<void()> on_end) { Begin(Phase::kLoad, std::move(on_end)); }

void BenchWorker::StartChecking(std::function<void()> on_end) {
  next_check_ = 0;
  Begin(Phase::kCheck, std::move(on_end));
}

void BenchWorker::Begin(Phase phase, std::function<void()> on_end) {
  phase_ = phase;
  on_end_ = std::move(on_end);
  stopping_ = false;
  const MonotonicTime now = MonotonicNow();
  measuring_ = options_.warmup == 0;
  if (phase == Phase::kLoad) measuring_since_ = now;
  for (Slot& slot : slots_) Advance(&slot, now);
  EndIfIdle();
}

void BenchWorker::BeginMeasuring() {
  // What went wrong while warming up went wrong all the same.
  result_.reads = LatencyHistogram();
  result_.writes = LatencyHistogram();
  submitted_ = 0;
  measuring_ = true;
  measuring_since_ = MonotonicNow();
}

void BenchWorker::Stop() {
  stopping_ = true;
  EndIfIdle();
}

std::unique_ptr<BenchResult> BenchWorker::ResultSoFar() const {
  auto so_far = std::make_unique<BenchResult>(result_);
  if (phase_ == Phase::kLoad) so_far->elapsed = MonotonicNow() - measuring_since_;
  return so_far;
}

void BenchWorker::OnDone(BlkIo* io) {
  Slot* slot = static_cast<Slot*>(io->context);
  slot->worker->Finish(slot);
}

void BenchWorker::Finish(Slot* slot) {
  const MonotonicTime now = MonotonicNow();
  --in_flight_;
  operations_.store(operations_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (slot->io.error == BlkError::kNone) {
    // What the warm-up left in flight belongs to neither.
    if (phase_ == Phase::kLoad && slot->is_measured == measuring_) Count(*slot, now);
    if (ledger_ && !slot->operation.is_write) Check(*slot);
  } else {
    CountError(*slot);
  }
  if (ledger_) Release(*slot);
  Advance(slot, now);
  EndIfIdle();
}

void BenchWorker::Advance(Slot* slot, MonotonicTime now) {
  if (stopping_) return;
  const bool more = phase_ == Phase::kLoad ? Choose(slot) : ChooseForCheck(slot);
  if (more) Submit(slot, now);
}

bool BenchWorker::Choose(Slot* slot) {
  if (measuring_ && submitted_ == operations_limit_) return false;
  ++submitted_;
  slot->operation = workload_.Next();
  if (ledger_) slot->operation.block = ledger_->Claim(slot->operation.block);
  return true;
}

bool BenchWorker::ChooseForCheck(Slot* slot) {
  while (next_check_ < num_blocks_ && !ledger_->known(next_check_)) ++next_check_;
  if (next_check_ == num_blocks_) return false;
  slot->operation = {.block = ledger_->Claim(next_check_++), .is_write = false};
  return true;
}

void BenchWorker::Submit(Slot* slot, MonotonicTime now) {
  const uint64_t block = slot->operation.block;
  slot->started = now;
  slot->is_measured = measuring_;
  ++in_flight_;
  if (!slot->operation.is_write) {
    queue_->Read(&slot->io, OffsetOf(block), MutableBuffer(slot->data.data(), slot->data.size()));
    return;
  }
  if (ledger_) {
    StampBlock({.run = options_.seed,
                .offset_bytes = OffsetOf(block),
                .sequence = ledger_->next_sequence(block)},
               slot->data);
  }
  queue_->Write(&slot->io, OffsetOf(block), ConstBuffer(slot->data.data(), slot->data.size()));
}

void BenchWorker::EndIfIdle() {
  if (in_flight_ > 0 || !on_end_) return;
  if (phase_ == Phase::kLoad) result_.elapsed = MonotonicNow() - measuring_since_;
  phase_ = Phase::kIdle;
  std::exchange(on_end_, nullptr)();
}

void BenchWorker::Count(const Slot& slot, MonotonicTime now) {
  LatencyHistogram& latencies = slot.operation.is_write ? result_.writes : result_.reads;
  latencies.Record(now - slot.started);
}

void BenchWorker::CountError(const Slot& slot) {
  ++result_.errors;
  // Without its connection every further operation would fail at once.
  if (LosesQueue(slot.io.error)) stopping_ = true;
  if (result_.error_samples.size() == BenchResult::kMaxSamples) return;
  result_.error_samples.push_back(absl::StrCat(
      slot.operation.is_write ? "write" : "read", " of ", options_.block_bytes, " bytes at offset ",
      OffsetOf(slot.operation.block), ": ", std::string(BlkErrorText(slot.io.error))));
}

void BenchWorker::Check(const Slot& slot) {
  const uint64_t block = slot.operation.block;
  const uint64_t offset_bytes = OffsetOf(block);
  StampError error = StampError::kNone;
  if (ledger_->known(block)) {
    error = CheckStamp(
        {.run = options_.seed, .offset_bytes = offset_bytes, .sequence = ledger_->sequence(block)},
        slot.data);
  } else if (!options_.access.writes()) {
    error = CheckStampOfAnyRun(offset_bytes, slot.data);
  } else {
    return;  // not written yet: nobody knows what should be there
  }
  ++result_.checked_blocks;
  if (error == StampError::kNone) return;
  ++result_.mismatches;
  // More writes would only cover up what went wrong.
  stopping_ = true;
  found_wrong_.store(true, std::memory_order_relaxed);
  if (result_.mismatch_samples.size() == BenchResult::kMaxSamples) return;
  result_.mismatch_samples.push_back(absl::StrCat("offset ", offset_bytes, " ",
                                                  std::string(StampErrorText(error)), " (",
                                                  DescribeStamp(slot.data), ")"));
}

void BenchWorker::Release(const Slot& slot) {
  if (slot.operation.is_write) {
    ledger_->ReleaseAfterWrite(slot.operation.block, slot.io.error == BlkError::kNone);
  } else {
    ledger_->ReleaseAfterRead(slot.operation.block);
  }
}

}  // namespace vof
