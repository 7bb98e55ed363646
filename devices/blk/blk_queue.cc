// SPDX-License-Identifier: Apache-2.0
#include "devices/blk/blk_queue.h"

#include <algorithm>
#include <utility>

#include "devices/blk/blk_wire.h"

namespace vof {
namespace {

StoreVerb StoreVerbFor(BlkVerb verb) {
  switch (verb) {
    case BlkVerb::kRead:
      return StoreVerb::kRead;
    case BlkVerb::kWrite:
      return StoreVerb::kWrite;
    case BlkVerb::kDiscard:
      return StoreVerb::kDiscard;
    case BlkVerb::kWriteZeroes:
      return StoreVerb::kWriteZeroes;
    default:
      return StoreVerb::kFlush;
  }
}

}  // namespace

BlkQueue::BlkQueue(Setup setup, std::unique_ptr<StoreQueue> store)
    : setup_(std::move(setup)), store_(std::move(store)) {
  limits_.alignment_sectors = std::max(setup_.traits.alignment_bytes / kSectorBytes, 1u);
  limits_.read_only = (setup_.offered_features & kBlkFeatureReadOnly) != 0;
  AddSlots();
}

QueueTraits BlkQueue::traits() const {
  return {.completes_inline = setup_.traits.synchronous,
          .lends_results = setup_.traits.lends,
          .readable_header_bytes = sizeof(BlkRequestHeader)};
}

void BlkQueue::Activate(uint64_t driver_features) {
  const uint64_t negotiated = driver_features & setup_.offered_features;
  limits_.allow_flush = (negotiated & kBlkFeatureFlush) != 0;
  limits_.allow_discard = (negotiated & kBlkFeatureDiscard) != 0;
  limits_.allow_write_zeroes = (negotiated & kBlkFeatureWriteZeroes) != 0;
  always_durable_ = !limits_.allow_flush;
}

void BlkQueue::Submit(std::span<DeviceRequest* const> batch) {
  while (!batch.empty()) {
    const size_t count = std::min(batch.size(), kStoreBatch);
    SubmitChunk(batch.first(count));
    batch = batch.subspan(count);
  }
}

void BlkQueue::SubmitChunk(std::span<DeviceRequest* const> chunk) {
  limits_.capacity_sectors = setup_.config->capacity_sectors();
  const bool durable = always_durable_ || !setup_.config->writeback();
  std::array<StoreOperation*, kStoreBatch> operations;
  size_t count = 0;
  for (DeviceRequest* request : chunk) {
    StoreOperation* operation = Prepare(request, durable);
    if (operation != nullptr) operations[count++] = operation;
  }
  if (count == 0) return;
  store_->Submit({operations.data(), count});
  if (!setup_.traits.synchronous) return;
  for (size_t i = 0; i < count; ++i) {
    if (operations[i]->status != StoreStatus::kPending) Finish(operations[i]);
  }
}

// The store operation of a request, or null when it has been answered already.
StoreOperation* BlkQueue::Prepare(DeviceRequest* request, bool durable) {
  Slot* slot = AcquireSlot();
  BlkOperation parsed;
  const BlkRule rule =
      ParseBlk(request->readable, request->writable_bytes, limits_, &parsed, slot->ranges);
  if (rule == BlkRule::kNone && parsed.verb != BlkVerb::kGetId) {
    Fill(parsed, request, slot, durable);
    return &slot->operation;
  }
  ReleaseSlot(slot);
  if (rule == BlkRule::kNoRoomForStatus) {
    request->Fail();
  } else if (rule == BlkRule::kNone) {
    Answer(request, kBlkStatusOk, setup_.serial);
  } else {
    Answer(request, BlkStatusFor(rule), {});
  }
  return nullptr;
}

void BlkQueue::Fill(const BlkOperation& parsed, DeviceRequest* request, Slot* slot,
                    bool durable) const {
  StoreOperation& operation = slot->operation;
  operation.verb = StoreVerbFor(parsed.verb);
  operation.durable = durable;
  operation.request = request;
  request->device_word = reinterpret_cast<uintptr_t>(slot);
  switch (parsed.verb) {
    case BlkVerb::kRead:
      operation.offset_bytes = parsed.offset_bytes;
      operation.length_bytes = parsed.length_bytes;
      if (!setup_.traits.lends) {
        operation.destination = BufferWriter(request->writable);
        operation.destination.Truncate(parsed.length_bytes);
      }
      break;
    case BlkVerb::kWrite:
      operation.offset_bytes = parsed.offset_bytes;
      operation.length_bytes = parsed.length_bytes;
      operation.source = parsed.data;
      break;
    case BlkVerb::kDiscard:
    case BlkVerb::kWriteZeroes:
      operation.ranges = {slot->ranges->data(), parsed.num_ranges};
      break;
    default:
      break;
  }
}

int BlkQueue::Poll() {
  std::array<StoreOperation*, kStoreBatch> done;
  int completed = 0;
  while (true) {
    const size_t count = store_->Reap(done);
    for (size_t i = 0; i < count; ++i) Finish(done[i]);
    completed += static_cast<int>(count);
    if (count < done.size()) return completed;
  }
}

void BlkQueue::Finish(StoreOperation* operation) {
  DeviceRequest* request = operation->request;
  const bool ok = operation->status == StoreStatus::kOk;
  const bool is_read = operation->verb == StoreVerb::kRead;
  ReleaseSlot(reinterpret_cast<Slot*>(static_cast<uintptr_t>(request->device_word)));
  if (ok && is_read) {
    AnswerRead(request);
  } else {
    Answer(request, ok ? kBlkStatusOk : kBlkStatusIoError, {});
  }
}

void BlkQueue::AnswerRead(DeviceRequest* request) const {
  if (setup_.traits.lends) {
    const std::byte status{kBlkStatusOk};
    request->AddResultBytes({&status, 1});
  } else {
    BufferWriter out(request->writable);
    out.Skip(request->writable_bytes - 1);
    out.Write(&kBlkStatusOk, 1);
  }
  request->Complete(request->writable_bytes);
}

void BlkQueue::Answer(DeviceRequest* request, uint8_t status, std::string_view data) const {
  const uint32_t room_bytes = request->writable_bytes - 1;
  data = data.substr(0, room_bytes);
  const uint64_t zero_bytes = room_bytes - data.size();
  if (!setup_.traits.lends) {
    BufferWriter out(request->writable);
    out.Write(data.data(), data.size());
    out.Zero(zero_bytes);
    out.Write(&status, 1);
    request->Complete(request->writable_bytes);
    return;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(data.data());
  if (request->AddResultBytes({bytes, data.size()}) && setup_.zeros->LendTo(request, zero_bytes) &&
      request->AddResultBytes({reinterpret_cast<const std::byte*>(&status), 1})) {
    request->Complete(request->writable_bytes);
  } else {
    request->Fail();  // only beyond kMaxRequestBytes, which no engine lets through
  }
}

void BlkQueue::AddSlots() {
  blocks_.push_back(std::make_unique<SlotBlock>());
  SlotBlock& block = *blocks_.back();
  for (size_t i = block.slots.size(); i-- > 0;) {
    block.slots[i].ranges = &block.ranges[i];
    ReleaseSlot(&block.slots[i]);
  }
}

}  // namespace vof
