// SPDX-License-Identifier: Apache-2.0
//
// Memory of yours that a DeviceClient's fabric knows: requests whose pieces lie in it are not
// copied.
//
//   absl::StatusOr<MemoryRegistration> arena = client->RegisterMemory({data, size_bytes});
//   if (!arena.ok()) return arena.status();     // requests work all the same, by copying
//   ... requests with buffers anywhere in the arena ...
//   arena->End();                               // or its destructor
//
// From a request on that was submitted after RegisterMemory returned, each piece that lies in the
// arena as a whole is read and written there by the target; other pieces of the same request are
// copied. The target can reach the whole arena, with the keys that requests show it, from the first
// such request to the end of the registration: give it what it may see and change.
#ifndef VOF_CORE_RUNTIME_MEMORY_REGISTRATION_H_
#define VOF_CORE_RUNTIME_MEMORY_REGISTRATION_H_

#include <memory>
#include <utility>

#include "core/base/buffer.h"

namespace vof {

class ClientMemory;

// Move-only. Of one thread at a time; it may outlive its client.
class MemoryRegistration {
 public:
  MemoryRegistration() = default;
  // For ClientMemory.
  MemoryRegistration(std::shared_ptr<ClientMemory> memory, MutableBuffer bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  MemoryRegistration(MemoryRegistration&& other) noexcept
      : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, {})) {}
  MemoryRegistration& operator=(MemoryRegistration&& other) noexcept {
    if (this == &other) return *this;
    End();
    memory_ = std::move(other.memory_);
    bytes_ = std::exchange(other.bytes_, {});
    return *this;
  }
  ~MemoryRegistration() { End(); }

  // Requests that are sent from now on are copied. Waits for those in flight that were shown to the
  // target in this memory: until they have their answers, or their connection has ended and given
  // everything back. When it returns no key of the memory is valid any more, and it may be freed.
  // Blocks, as long as those requests take: not on a reactor's thread. After the client has
  // disconnected there is nothing to wait for. Idempotent.
  void End();

  MutableBuffer bytes() const { return bytes_; }  // empty when it has ended

 private:
  std::shared_ptr<ClientMemory> memory_;
  MutableBuffer bytes_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_MEMORY_REGISTRATION_H_
