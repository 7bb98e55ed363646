// SPDX-License-Identifier: Apache-2.0
//
// The data path of one block virtqueue: parse each request, hand the batch to the store, answer.
//
//   BlkQueue queue({.config = config, ...}, std::move(store_queue));   // BlkDevice::OpenQueue does
//   this queue.Activate(driver_features); queue.Submit(batch);
//
// One thread. Every answer fills the whole writable part: data (zeros where there is none), then
// the status as its last byte.
#ifndef VOF_DEVICES_BLK_BLK_QUEUE_H_
#define VOF_DEVICES_BLK_BLK_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device.h"
#include "devices/blk/blk_config.h"
#include "devices/blk/blk_parse.h"
#include "devices/blk/block_store.h"
#include "devices/blk/zero_area.h"

namespace vof {

class BlkQueue final : public DeviceQueue {
 public:
  struct Setup {
    std::shared_ptr<const BlkConfig> config;
    std::shared_ptr<const ZeroArea> zeros;
    StoreTraits traits;
    uint64_t offered_features = 0;
    std::string serial;  // at most kBlkIdBytes
  };
  BlkQueue(Setup setup, std::unique_ptr<StoreQueue> store);

  QueueTraits traits() const override;
  void Activate(uint64_t driver_features) override;
  void Submit(std::span<DeviceRequest* const> batch) override;
  int Poll() override;
  int wait_fd() const override { return store_->wait_fd(); }
  void CancelAll() override { store_->CancelAll(); }

 private:
  // What a request needs while the store works on it. The pool grows to the deepest queue seen,
  // which the engine bounds, and is then reused.
  struct Slot {
    StoreOperation operation;
    BlkRanges* ranges = nullptr;
    Slot* next_free = nullptr;
  };
  struct SlotBlock {
    std::array<Slot, kStoreBatch> slots;
    std::array<BlkRanges, kStoreBatch> ranges;  // apart: most requests never touch theirs
  };

  void SubmitChunk(std::span<DeviceRequest* const> chunk);
  StoreOperation* Prepare(DeviceRequest* request, bool durable);
  void Fill(const BlkOperation& parsed, DeviceRequest* request, Slot* slot, bool durable) const;
  void Finish(StoreOperation* operation);
  // Completes with `data` (cut or padded with zeros to the room there is) and the status.
  void Answer(DeviceRequest* request, uint8_t status, std::string_view data) const;
  // Completes a read whose data is in place.
  void AnswerRead(DeviceRequest* request) const;

  Slot* AcquireSlot() {
    if (free_ == nullptr) AddSlots();
    Slot* slot = free_;
    free_ = slot->next_free;
    return slot;
  }
  void ReleaseSlot(Slot* slot) {
    slot->next_free = free_;
    free_ = slot;
  }
  void AddSlots();

  const Setup setup_;
  const std::unique_ptr<StoreQueue> store_;
  BlkParseLimits limits_;
  bool always_durable_ = true;  // FLUSH was offered and not negotiated (5.2.6.2)
  Slot* free_ = nullptr;
  std::vector<std::unique_ptr<SlotBlock>> blocks_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLK_QUEUE_H_
