// SPDX-License-Identifier: Apache-2.0
//
// The protection domain of one RDMA device: where memory is registered.
//
//   VerbsDomains domains(RealVerbsCalls());
//   absl::StatusOr<std::shared_ptr<VerbsDomain>> domain = domains.Of(id);
//   absl::StatusOr<Region> region = (*domain)->Register(arena, Access::kRemoteReadWrite);
//
// All channels over a device share one domain, so memory registered once serves each of them.
#ifndef VOF_BACKENDS_VERBS_VERBS_DOMAIN_H_
#define VOF_BACKENDS_VERBS_VERBS_DOMAIN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "backends/verbs/verbs_calls.h"
#include "core/base/buffer.h"
#include "core/transport/domain.h"

namespace vof {

class VerbsDomain final : public Domain {
 public:
  // Of the device of a connection, which stays open as long as the domain and its regions live.
  static absl::StatusOr<std::shared_ptr<VerbsDomain>> Open(std::shared_ptr<VerbsCalls> calls,
                                                           rdma_cm_id* connection);

  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override;

  VerbsCalls& calls() const;
  ibv_context* context() const;
  ibv_pd* get() const;
  const ibv_device_attr& attributes() const;
  const std::string& device_name() const;

 private:
  struct State;
  explicit VerbsDomain(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // Regions share it, so that one that outlives the domain stays harmless.
  const std::shared_ptr<State> state_;
};

// The domains in use, one for each device. Any thread.
class VerbsDomains {
 public:
  explicit VerbsDomains(std::shared_ptr<VerbsCalls> calls) : calls_(std::move(calls)) {}
  // That of the connection's device; opened by its first user, closed by its last.
  absl::StatusOr<std::shared_ptr<VerbsDomain>> Of(rdma_cm_id* connection);

 private:
  const std::shared_ptr<VerbsCalls> calls_;
  std::mutex mutex_;
  std::map<ibv_context*, std::weak_ptr<VerbsDomain>> domains_;
};

// Region::local_key() of a region of verbs, and back. A key is a number in the place of a pointer,
// never null and never followed: one of a region that has ended is refused by the device.
inline const void* LocalKeyFrom(uint32_t lkey) {
  return reinterpret_cast<const void*>(uintptr_t{lkey} | uintptr_t{1} << 32);
}
inline uint32_t LocalKeyOf(const void* local_key) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(local_key));
}
static_assert(sizeof(void*) == 8, "a key and a bit fit a pointer");

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_DOMAIN_H_
