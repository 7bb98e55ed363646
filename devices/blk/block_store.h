// SPDX-License-Identifier: Apache-2.0
//
// The store seam: where the blocks of a disk are kept. A block device validates requests, a store
// moves bytes.
//
//   class TapeStore final : public BlockStore { ... };       // shared, control only, thread-safe
//   class TapeQueue final : public StoreQueue {              // one per virtqueue, on one reactor
//     void Submit(std::span<StoreOperation* const> batch) override { ... start each ... }
//     size_t Reap(std::span<StoreOperation*> done) override { ... those that have finished ... }
//   };
//
// Calls are per batch, never per operation. Nothing allocates per operation after warm-up.
#ifndef VOF_DEVICES_BLK_BLOCK_STORE_H_
#define VOF_DEVICES_BLK_BLOCK_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/device/buffer_cursor.h"
#include "core/device/device_request.h"
#include "core/device/lent_memory.h"

namespace vof {

enum class StoreVerb : uint8_t { kRead, kWrite, kFlush, kDiscard, kWriteZeroes };
// kPending: of a synchronous store, when Submit returns: the operation comes through Reap after
// all.
enum class StoreStatus : uint8_t { kOk, kIoError, kNoSpace, kCancelled, kPending };

// One piece of a discard or write-zeroes.
struct StoreRange {
  uint64_t offset_bytes;
  uint64_t length_bytes;
  bool may_unmap;  // write-zeroes: space may be given back
};

// One operation, validated: ranges lie inside the size that the store had when it was submitted,
// and are multiples of StoreTraits::alignment_bytes. Owned by the block queue; the store holds it
// from Submit until it has finished. What it points to stays valid as long.
struct StoreOperation {
  StoreVerb verb = StoreVerb::kFlush;
  // Result. After anything but kOk the bytes of `destination` mean nothing.
  StoreStatus status = StoreStatus::kOk;
  // For what changes data: on stable storage before it finishes. Stores that are volatile ignore
  // it.
  bool durable = false;
  uint64_t offset_bytes = 0;  // kRead, kWrite
  uint64_t length_bytes = 0;  // kRead, kWrite; may be 0
  BufferReader source;        // kWrite: length_bytes of data
  BufferWriter destination;   // kRead, stores that do not lend: length_bytes of room
  // The request that this serves. kRead, stores that lend: they add exactly length_bytes to its
  // result, or none at all if they fail. Otherwise not for the store.
  DeviceRequest* request = nullptr;
  std::span<const StoreRange> ranges;  // kDiscard, kWriteZeroes; may overlap each other
  uint64_t store_word = 0;             // for the store to keep its own state in
};

struct StoreTraits {
  // An operation has finished when Submit returns, but for those that it leaves kPending. `source`
  // is not used after Submit in any case.
  bool synchronous = false;
  // Reads lend the store's own memory, mapped until the queue is destroyed. Needs `synchronous`.
  bool lends = false;
  // Contents are gone when the process ends.
  bool is_volatile = false;
  // The store cannot be written; it sees no writes, discards or write-zeroes.
  bool read_only = false;
  bool can_discard = true;
  // Offsets and lengths of all operations must be multiples of this: 512, or more with direct I/O.
  uint32_t alignment_bytes = 512;
  // Hints for the topology of the disk; 0 is unknown.
  uint32_t physical_block_bytes = 0;
  uint32_t optimal_io_bytes = 0;
};

// The data path of one virtqueue. One thread: the reactor of the queue.
class StoreQueue {
 public:
  virtual ~StoreQueue() = default;  // only when no operation is outstanding

  // Takes a batch (at most kStoreBatch). Never blocks for long, never fails as a call.
  virtual void Submit(std::span<StoreOperation* const> batch) = 0;
  // Hands back finished operations in any order; as many as fit into `done`. Makes progress.
  virtual size_t Reap(std::span<StoreOperation*> done) {
    (void)done;
    return 0;
  }
  // Readable when Reap has something to do; -1 when Reap must be called again soon.
  virtual int wait_fd() const { return -1; }
  // Asks what is outstanding to finish early; it still comes through Reap.
  virtual void CancelAll() {}
};
inline constexpr size_t kStoreBatch = 64;

// The control side. Thread-safe, but for Resize, whose calls the device serialises.
class BlockStore {
 public:
  virtual ~BlockStore() = default;  // queues may outlive it

  virtual StoreTraits traits() const = 0;
  virtual uint64_t size_bytes() const = 0;
  // Changes whenever finished but unflushed writes may have been lost: a volatile store draws it
  // when it is created, a persistent one whenever it is opened.
  virtual uint64_t epoch() const = 0;
  // Makes the store hold `size_bytes`. Memory that was lent stays mapped; data below stays as it
  // is; data beyond is lost, and zeroes when the store grows again (unless the store only follows
  // somebody else's changes), whatever was under way meanwhile. It may block for changes under way.
  // An error leaves the size as it was.
  virtual absl::Status Resize(uint64_t size_bytes) = 0;
  // Called on the reactor that will own the queue.
  virtual absl::StatusOr<std::unique_ptr<StoreQueue>> OpenQueue() = 0;
  // What it lends, if it does (StoreTraits::lends). See Device::LendMemory.
  virtual LentMemory LendMemory() { return {}; }
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_BLOCK_STORE_H_
