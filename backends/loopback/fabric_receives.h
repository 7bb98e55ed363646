// SPDX-License-Identifier: Apache-2.0
//
// The receives of a channel of the in-process fabric, or of several that share them.
//
//   auto receives = std::make_shared<SharedReceiveQueue>(&domain, ReceiveQueueOptions{});
//   FabricOptions options;
//   options.b.receives = receives;                       // for each pair of the same domain
//
// Depths that channels ask for (SetReceiveDepth) add up; a channel that ends takes its part back
// for the next one. Whoever needs a receive takes it, so a channel may use those of another: that
// is what is shared. Messages arrive in memory that is registered with the domain. Any thread.
#ifndef VOF_BACKENDS_LOOPBACK_FABRIC_RECEIVES_H_
#define VOF_BACKENDS_LOOPBACK_FABRIC_RECEIVES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "backends/loopback/fabric_domain.h"
#include "core/transport/domain.h"

namespace vof {

class FabricLink;

struct ReceiveQueueOptions {
  uint32_t receive_bytes = 16u << 10;  // of each receive
  int max_receives = 64 << 10;
};

class SharedReceiveQueue {
 public:
  // `domain` outlives the queue.
  SharedReceiveQueue(FabricDomain* domain, const ReceiveQueueOptions& options)
      : domain_(domain), options_(options) {}
  SharedReceiveQueue(const SharedReceiveQueue&) = delete;
  SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

  uint32_t receive_bytes() const { return options_.receive_bytes; }
  int receives() const;  // in all
  int posted() const;    // waiting for a message

  // --- For the channels ---

  // One receive: posted, or with a message for `owner`, or in the hands of the user.
  struct Receive {
    std::byte* data = nullptr;
    const void* owner = nullptr;  // the end that it arrived at; null while posted
    bool held = false;            // the user has it
    uint64_t index = 0;
    Receive* next = nullptr;  // among those posted, or those arrived at the same end
    uint32_t message_bytes = 0;
    bool has_immediate = false;
    uint32_t immediate = 0;
    uint64_t sequence = 0;    // of its completion
    uint64_t ready_turn = 0;  // reported from this turn on
  };
  // A side of a link with a message for which there was no receive.
  struct Waiter {
    std::weak_ptr<FabricLink> link;
    int side = 0;
  };

  // Adds to what the channels want together, and posts what is missing.
  absl::Status Want(int more);
  void WantLess(int less);
  // Null when none is posted; the side is then in line for the next one that is.
  Receive* Take(const void* owner, FabricLink* link, int side);
  void Post(Receive* receive);
  enum class Returned : uint8_t { kNotHeld, kPosted, kPostedAndAwaited };
  // kNotHeld: `owner` does not hold a receive of that number. kPostedAndAwaited: call ServeWaiters.
  Returned PostHeld(uint64_t index, const void* owner);
  void PostAllOf(const void* owner);
  // Lets waiting sides go on while receives are posted. Without any link's mutex held.
  void ServeWaiters();

 private:
  void PostLocked(Receive* receive);
  absl::Status Grow(int count);
  std::optional<Waiter> NextWaiter();

  FabricDomain* const domain_;
  const ReceiveQueueOptions options_;
  mutable std::mutex mutex_;
  int wanted_ = 0;
  int posted_ = 0;
  Receive* first_posted_ = nullptr;
  std::deque<Receive> receives_;  // addresses stay
  std::vector<Waiter> waiters_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Region> regions_;  // of memory_: end first
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_FABRIC_RECEIVES_H_
