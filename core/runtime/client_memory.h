// SPDX-License-Identifier: Apache-2.0
//
// The memory that the user of a DeviceClient has registered: once with each fabric, for all
// virtqueues.
//
//   auto memory = std::make_shared<ClientMemory>(signal);
//   memory->Open(virtqueues);
//   absl::StatusOr<MemoryRegistration> arena = memory->Register({data, size_bytes});
//   memory->Close();                           // before the reactors go
//
// Any thread. Registering happens on the caller's, what it made is given to the virtqueues on their
// reactors. For client*.cc only; users see MemoryRegistration.
#ifndef VOF_CORE_RUNTIME_CLIENT_MEMORY_H_
#define VOF_CORE_RUNTIME_CLIENT_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/buffer.h"
#include "core/runtime/client_signal.h"
#include "core/runtime/client_virtqueue.h"
#include "core/runtime/memory_registration.h"
#include "core/transport/domain.h"

namespace vof {

class ClientMemory : public std::enable_shared_from_this<ClientMemory> {
 public:
  using Virtqueues = std::vector<std::shared_ptr<ClientVirtqueue>>;

  explicit ClientMemory(std::shared_ptr<ClientSignal> signal) : signal_(std::move(signal)) {}

  // Once, when the virtqueues are attached.
  void Open(const Virtqueues& virtqueues);
  // kResourceExhausted: a limit of the fabric, with its value; kAlreadyExists: overlaps memory that
  // is registered; kInvalidArgument: empty; kCancelled: closed.
  absl::StatusOr<MemoryRegistration> Register(MutableBuffer bytes);
  // Blocks until the fabrics have forgotten it. For MemoryRegistration.
  void End(MutableBuffer bytes);
  // Nothing is posted to a reactor any more; what is registered ends with the virtqueues.
  void Close();

 private:
  // What one user registered, with all fabrics.
  struct Arena {
    MutableBuffer bytes;
    int alive = 0;  // registrations; under the signal's mutex
  };
  struct Registered;
  using ByDomain = std::map<const Domain*, std::shared_ptr<Registered>>;

  absl::StatusOr<std::shared_ptr<Arena>> Claim(MutableBuffer bytes);
  absl::Status RegisterEach(const std::shared_ptr<Arena>& arena, ByDomain* made);
  absl::Status HandOut(const ByDomain& made);
  void Forget(const std::shared_ptr<Arena>& arena);

  const std::shared_ptr<ClientSignal> signal_;
  std::mutex mutex_;
  Virtqueues virtqueues_;
  std::vector<std::shared_ptr<Arena>> arenas_;  // those that are ending, too
  bool closed_ = true;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_CLIENT_MEMORY_H_
