// SPDX-License-Identifier: Apache-2.0
//
// The device seam: what a virtio device model implements, and all that an engine knows about it.
//
//   class Counter final : public Device { ... };            // shared, control only, thread-safe
//   class CounterQueue final : public DeviceQueue {         // one per virtqueue, on one reactor
//     void Submit(std::span<DeviceRequest* const> batch) override {
//       for (DeviceRequest* r : batch) {
//         uint64_t answer = Execute(r->readable);
//         r->AddResultBytes(AsBytes(answer));               // small results need no memory
//         r->Complete(sizeof(answer));                      // now or later, in any order
//       }
//     }
//   };
//
// A Device is control only; several reactors call it at once. It opens one DeviceQueue per
// virtqueue; that one is on the data path and is called from the one reactor that owns it. See
// docs/embedding.md.
#ifndef VOF_CORE_DEVICE_DEVICE_H_
#define VOF_CORE_DEVICE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/device/device_request.h"
#include "core/device/lent_memory.h"

namespace vof {

// What a queue needs from the engine, asked once when it opens.
struct QueueTraits {
  // Submit() is done with the readable bytes of every request before it returns, and mostly with
  // the request. They may then point into a receive buffer, which saves a copy.
  bool completes_inline = false;
  // Results come through AddResult / AddResultBytes (the device lends its own memory or returns few
  // bytes); `DeviceRequest::writable` stays empty. Otherwise the engine provides writable memory.
  bool lends_results = false;
  // Bytes of device header at the front of the readable part. The engine places gathered readable
  // bytes so that what follows the header is page-aligned (direct I/O needs it).
  uint32_t readable_header_bytes = 0;
};

// Virtio status and feature bits that the framework itself knows.
inline constexpr uint64_t kFeatureVersion1 = 1ull << 32;
// Ring layout and platform features: make no sense over a fabric, never offered (docs/protocol.md).
inline constexpr uint64_t kFeaturesNeverOffered = (1ull << 28) | (1ull << 29) | (1ull << 33) |
                                                  (1ull << 34) | (1ull << 35) | (1ull << 36) |
                                                  (1ull << 38) | (1ull << 40);

class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;  // only when no request is outstanding

  virtual QueueTraits traits() const = 0;
  // The driver's features are settled (DRIVER_OK, or the first request in `ref`). May be called
  // again after a reset, never with a request outstanding.
  virtual void Activate(uint64_t driver_features) = 0;
  // Takes a batch. Each request belongs to the device until it calls Complete on it, exactly once;
  // it may do so inside this call. Never blocks, never fails as a call: errors go into the result.
  virtual void Submit(std::span<DeviceRequest* const> batch) = 0;
  // Progress of asynchronous work; called in every turn while requests are outstanding. Returns how
  // many requests it completed.
  virtual int Poll() { return 0; }
  // A descriptor that becomes readable when Poll() has something to do, or -1 when Poll() must be
  // called again soon. Only asked while requests are outstanding and the reactor wants to sleep;
  // Poll() clears it.
  virtual int wait_fd() const { return -1; }
  // Asks outstanding requests to finish early (reset, time-out). Completion still comes through
  // Complete.
  virtual void CancelAll() {}
};

struct DeviceIdentity {
  uint32_t device_type = 0;         // virtio device id: 1 net, 2 block
  uint32_t vendor_id = 0x00464f56;  // "VOF": what our initiator recognises its own ends by
};

// One value of the configuration space, and the generation under which it was read.
struct ConfigValue {
  uint64_t value = 0;
  uint32_t generation = 0;
};

enum class ConfigError : uint8_t { kNone, kOffset, kBytes, kReadOnly };

class Device {
 public:
  virtual ~Device() = default;  // after all its queues

  virtual DeviceIdentity identity() const = 0;
  virtual uint64_t features()
      const = 0;  // offered; the framework adds VERSION_1 and masks what it must
  virtual uint16_t num_queues() const = 0;
  virtual uint16_t max_queue_size() const = 0;
  // Several initiators may have instances at a time. False: the second one is refused while the
  // first lives.
  virtual bool shareable() const { return false; }
  // Changes whenever acknowledged but unflushed writes may have been lost (docs/protocol.md,
  // "Epoch"). A device that keeps nothing has one epoch.
  virtual uint64_t epoch() const { return 0; }

  // The configuration space; without one, every offset is outside. `bytes` is 1, 2, 4 or 8, checked
  // by the engine; the device checks that the range is inside its space.
  virtual ConfigError ReadConfig(uint16_t offset, uint8_t bytes, ConfigValue* out) const {
    (void)offset, (void)bytes, (void)out;
    return ConfigError::kOffset;
  }
  virtual ConfigError WriteConfig(uint16_t offset, uint8_t bytes, uint64_t value) {
    (void)offset, (void)bytes, (void)value;
    return ConfigError::kOffset;
  }

  // Whether these driver features can be accepted (a subset of the offered ones, checked by the
  // engine).
  virtual bool AcceptsFeatures(uint64_t driver_features) const {
    (void)driver_features;
    return true;
  }
  // Called on the reactor that will own the queue. `index` < num_queues().
  virtual absl::StatusOr<std::unique_ptr<DeviceQueue>> OpenQueue(uint16_t index) = 0;

  // What its queues lend results from (QueueTraits::lends_results), as it is now; asked again when
  // a result lies elsewhere, as after a resize. Any thread. Results from memory that is not in it
  // are copied.
  virtual LentMemory LendMemory() { return {}; }

  // Calls `changed` (from any thread) after each change of the configuration that the device made
  // itself, a resize for example. Returns a token; destroying it unsubscribes and waits for a call
  // in progress. A configuration that never changes has nothing to tell (ConfigListeners helps the
  // others).
  using ConfigListener = std::function<void()>;
  // NOLINTNEXTLINE(performance-unnecessary-value-param): those who override it keep a copy
  virtual std::shared_ptr<void> SubscribeConfig(ConfigListener changed) {
    (void)changed;
    return nullptr;
  }
};

}  // namespace vof

#endif  // VOF_CORE_DEVICE_DEVICE_H_
