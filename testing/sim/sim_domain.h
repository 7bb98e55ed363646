// SPDX-License-Identifier: Apache-2.0
//
// The adapter of a side of the simulated fabric: registered memory, its keys, and the checks that a
// real one makes before it touches memory.
//
//   SimDomain domain(&context, "target");
//   absl::StatusOr<Region> region = domain.Register(arena, Access::kRemoteWrite);   // may fail
//   if (domain.Resolve(remote, Access::kRemoteWrite, &place) != SimKeyError::kNone) ...
//
// No key comes twice, so whoever uses one after its region ended is found out. One thread.
#ifndef VOF_TESTING_SIM_SIM_DOMAIN_H_
#define VOF_TESTING_SIM_SIM_DOMAIN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"
#include "testing/sim/sim_context.h"

namespace vof {

enum class SimKeyError : uint8_t { kNone, kNeverMade, kEnded, kOutOfRange, kNotAllowed };

constexpr std::string_view SimKeyErrorText(SimKeyError error) {
  constexpr std::string_view kTexts[] = {
      "nothing", "a key that was never made", "a key whose region has ended",
      "a range outside of its region", "an access that the region does not allow"};
  return kTexts[static_cast<int>(error)];
}

class SimDomain final : public Domain {
 public:
  SimDomain(SimContext* context, std::string name)
      : context_(context), name_(std::move(name)), regions_(std::make_shared<Regions>()) {
    regions_->next_key = static_cast<uint32_t>(context->fabric_random.Next());
    zero_based_ = context->fabric_random.Chance(500);
  }

  absl::StatusOr<Region> Register(MutableBuffer bytes, Access access) override {
    if (bytes.size_bytes == 0) return absl::InvalidArgumentError("an empty range");
    const bool fails =
        !context_->calm && context_->fabric_random.Chance(context_->plan.fabric.refusals_per_mille);
    if (fails) return absl::ResourceExhaustedError("no more regions at the " + name_);
    const uint32_t key = regions_->next_key += 0x9e3779b1;  // odd: comes round after all others
    ++regions_->num_made;
    const uint64_t base = zero_based_ ? 0 : reinterpret_cast<uintptr_t>(bytes.data);
    regions_->live[key] = {bytes, access, base};
    const Region::Keys keys{.local_key = LocalKey(key), .remote_key = key, .remote_address = base};
    auto registration = std::shared_ptr<void>(
        nullptr, [regions = regions_, key](void*) { regions->live.erase(key); });
    return Region(bytes, keys, std::move(registration));
  }

  size_t num_regions() const { return regions_->live.size(); }
  const std::string& name() const { return name_; }

  SimKeyError CheckLocal(const LocalBuffer& local) const {
    const auto key = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(local.local_key));
    const auto it = regions_->live.find(key);
    if (it == regions_->live.end()) return Missing(key);
    const MutableBuffer bytes = it->second.bytes;
    const bool inside = local.data >= bytes.data && local.size_bytes <= bytes.size_bytes &&
                        local.data + local.size_bytes <= bytes.data + bytes.size_bytes;
    return inside ? SimKeyError::kNone : SimKeyError::kOutOfRange;
  }

  // `place`: where the first byte of `remote` lies. `access`: kRemoteRead or kRemoteWrite.
  SimKeyError Resolve(const RemoteBuffer& remote, Access access, std::byte** place) const {
    const auto it = regions_->live.find(remote.key);
    if (it == regions_->live.end()) return Missing(remote.key);
    const Entry& entry = it->second;
    const uint64_t offset = remote.address - entry.base;
    const bool inside = remote.address >= entry.base && offset <= entry.bytes.size_bytes &&
                        remote.size_bytes <= entry.bytes.size_bytes - offset;
    if (!inside) return SimKeyError::kOutOfRange;
    const bool allowed = (static_cast<int>(entry.access) & static_cast<int>(access)) != 0;
    if (!allowed) return SimKeyError::kNotAllowed;
    *place = entry.bytes.data + offset;
    return SimKeyError::kNone;
  }

 private:
  struct Entry {
    MutableBuffer bytes;
    Access access = Access::kLocal;
    uint64_t base = 0;
  };
  struct Regions {
    std::unordered_map<uint32_t, Entry> live;
    uint32_t next_key = 0;
    uint32_t num_made = 0;
  };

  static const void* LocalKey(uint32_t key) {
    return reinterpret_cast<const void*>(uintptr_t{key} |
                                         kLocalKeyMark);  // NOLINT(performance-no-int-to-ptr)
  }
  static constexpr uintptr_t kLocalKeyMark = uintptr_t{1} << 32;  // no key is null

  // Keys go down from the last one in steps of a constant that has an inverse.
  SimKeyError Missing(uint32_t key) const {
    constexpr uint32_t kInverse = 0x0e8b2f51;
    static_assert(uint32_t{0x9e3779b1} * kInverse == 1, "of the step");
    const uint32_t steps_ago = (regions_->next_key - key) * kInverse;
    return steps_ago < regions_->num_made ? SimKeyError::kEnded : SimKeyError::kNeverMade;
  }

  SimContext* const context_;
  const std::string name_;
  bool zero_based_ = false;
  // Shared with the regions, so that they may end in any order.
  const std::shared_ptr<Regions> regions_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_DOMAIN_H_
