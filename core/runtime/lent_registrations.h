// SPDX-License-Identifier: Apache-2.0
//
// What the devices of a target lend, registered with the fabrics that its queues come from.
//
//   LentRegistrations lent(/*most_bytes=*/1u << 30);
//   directory.AddDevice("disk0", lent.Serve(device));
//   LentRegistrations::Outcome outcome = lent.For(link->domain(), identity.device);
//   if (!outcome.regions.complete) ... results are copied; outcome.failure says why, once ...
//
// Once for each device and domain, whatever the number of queues and reactors, when the first queue
// asks; only for the target itself (Access::kLocal). It ends with the pointer that Serve returned,
// so when the directory and the last session have dropped the device. A device that has grown gets
// one region more.
//
// Any thread; whoever asks for the same device waits while its memory is being pinned.
#ifndef VOF_CORE_RUNTIME_LENT_REGISTRATIONS_H_
#define VOF_CORE_RUNTIME_LENT_REGISTRATIONS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "core/base/buffer.h"
#include "core/device/device.h"
#include "core/engine/lent_regions.h"
#include "core/transport/domain.h"

namespace vof {

class LentRegistrations {
 public:
  struct Outcome {
    LentRegions regions;
    absl::Status failure;  // the first one of this device and domain; OK from then on
  };

  // More than `most_bytes` are never registered, all devices and domains together.
  explicit LentRegistrations(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // The device, as what is registered for it hangs on. Several calls for one device share that.
  std::shared_ptr<Device> Serve(std::shared_ptr<Device> device);
  // `device` came from Serve, or nothing is registered.
  Outcome For(const std::shared_ptr<Domain>& domain, const std::shared_ptr<Device>& device);

 private:
  struct Lent;
  struct OfDomain {
    std::shared_ptr<Domain> domain;
    std::vector<std::shared_ptr<Region>> regions;
    bool told = false;
  };
  struct Served {
    std::shared_ptr<Device> device;
    std::mutex mutex;
    std::vector<OfDomain> domains;  // under the mutex; go before the device
  };

  std::shared_ptr<Served> Find(const std::shared_ptr<Device>& device);
  absl::Status Cover(MutableBuffer range, const LentMemory& memory, OfDomain* registered);

  const uint64_t most_bytes_;
  // Shared with what is registered, which may end later.
  const std::shared_ptr<std::atomic<uint64_t>> registered_bytes_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::mutex mutex_;
  std::vector<std::weak_ptr<Served>> served_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_LENT_REGISTRATIONS_H_
