// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/client_memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/base/time.h"
#include "core/engine/initiator_status.h"

namespace vof {
namespace {

bool Overlap(MutableBuffer a, MutableBuffer b) {
  return std::less<>{}(a.data, b.data + b.size_bytes) &&
         std::less<>{}(b.data, a.data + a.size_bytes);
}

std::string Describe(MutableBuffer bytes) {
  return absl::StrFormat("%u bytes of memory at %p", bytes.size_bytes,
                         static_cast<const void*>(bytes.data));
}

}  // namespace

// One registration with one fabric. Virtqueues and requests in flight share it; the last of them
// ends it, on its own thread.
struct ClientMemory::Registered {
  Registered(std::shared_ptr<ClientSignal> s, std::shared_ptr<Arena> a, std::shared_ptr<Domain> d,
             Region r)
      : signal(std::move(s)), arena(std::move(a)), domain(std::move(d)), region(std::move(r)) {
    signal->Change([&] { ++arena->alive; });
  }
  ~Registered() {
    region = Region();
    signal->Change([&] { --arena->alive; });
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  const std::shared_ptr<ClientSignal> signal;
  const std::shared_ptr<Arena> arena;
  const std::shared_ptr<Domain> domain;  // outlives the region
  Region region;
};

void ClientMemory::Open(const Virtqueues& virtqueues) {
  const std::lock_guard<std::mutex> lock(mutex_);
  virtqueues_ = virtqueues;
  closed_ = false;
}

void ClientMemory::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

absl::StatusOr<MemoryRegistration> ClientMemory::Register(MutableBuffer bytes) {
  absl::StatusOr<std::shared_ptr<Arena>> arena = Claim(bytes);
  if (!arena.ok()) return arena.status();
  ByDomain made;
  absl::Status status = RegisterEach(*arena, &made);
  if (status.ok()) status = HandOut(made);
  if (!status.ok()) {
    Forget(*arena);
    return WithContext(absl::StrCat("cannot register ", Describe(bytes), " for the session"),
                       status);
  }
  return MemoryRegistration(shared_from_this(), bytes);
}

absl::StatusOr<std::shared_ptr<ClientMemory::Arena>> ClientMemory::Claim(MutableBuffer bytes) {
  if (bytes.data == nullptr || bytes.size_bytes == 0) {
    return absl::InvalidArgumentError("cannot register an empty range of memory");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return ClosedStatus();
  for (const std::shared_ptr<Arena>& other : arenas_) {
    if (Overlap(other->bytes, bytes)) {
      return absl::AlreadyExistsError(absl::StrCat(
          "cannot register ", Describe(bytes), ": they overlap ", Describe(other->bytes),
          " that this client has registered already; end that "
          "registration first, or register the whole range at once"));
    }
  }
  arenas_.push_back(std::make_shared<Arena>(Arena{bytes}));
  return arenas_.back();
}

absl::Status ClientMemory::RegisterEach(const std::shared_ptr<Arena>& arena, ByDomain* made) {
  for (const std::shared_ptr<ClientVirtqueue>& virtqueue : virtqueues_) {
    const std::shared_ptr<Domain>& domain = virtqueue->domain();
    if (domain == nullptr || made->contains(domain.get())) continue;
    absl::StatusOr<Region> region = domain->Register(arena->bytes, Access::kRemoteReadWrite);
    if (!region.ok()) return region.status();
    (*made)[domain.get()] =
        std::make_shared<Registered>(signal_, arena, domain, *std::move(region));
  }
  return absl::OkStatus();
}

absl::Status ClientMemory::HandOut(const ByDomain& made) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return ClosedStatus();
  for (const std::shared_ptr<ClientVirtqueue>& virtqueue : virtqueues_) {
    const auto it = made.find(virtqueue->domain().get());
    if (it == made.end()) continue;
    virtqueue->AddRegion(Region::Share(std::shared_ptr<Region>(it->second, &it->second->region)));
  }
  return absl::OkStatus();
}

void ClientMemory::End(MutableBuffer bytes) {
  std::shared_ptr<Arena> arena;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = std::find_if(arenas_.begin(), arenas_.end(),
                                 [&](const auto& a) { return a->bytes.data == bytes.data; });
    arena = *it;
    if (!closed_) {
      for (const std::shared_ptr<ClientVirtqueue>& virtqueue : virtqueues_) {
        if (virtqueue->domain() == nullptr) continue;
        DebugCheck(!virtqueue->reactor()->InOwnThread(),
                   "a registration ends on another thread than the reactors'");
        virtqueue->EndRegion(bytes.data);
      }
    }
  }
  signal_->WaitUntil(kInfiniteFuture,
                     [&] { return signal_->Read([&] { return arena->alive == 0; }); });
  Forget(arena);
}

void ClientMemory::Forget(const std::shared_ptr<Arena>& arena) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arenas_.erase(std::remove(arenas_.begin(), arenas_.end(), arena), arenas_.end());
}

void MemoryRegistration::End() {
  const std::shared_ptr<ClientMemory> memory = std::move(memory_);
  if (memory != nullptr) memory->End(std::exchange(bytes_, {}));
}

}  // namespace vof
