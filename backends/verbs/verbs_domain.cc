// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_domain.h"

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/common/socket_address.h"
#include "backends/verbs/memory_limit.h"
#include "backends/verbs/verbs_connection.h"
#include "backends/verbs/verbs_error.h"

namespace vof {

struct VerbsDomain::State {
  State(std::shared_ptr<VerbsCalls> c, ibv_context* device)
      : calls(std::move(c)), context(device) {}
  ~State() {
    if (domain != nullptr) calls->FreeDomain(domain);
  }
  absl::Status KeepDevice(rdma_cm_id* connection);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const std::shared_ptr<VerbsCalls> calls;
  ibv_context* const context;
  ibv_pd* domain = nullptr;
  ibv_device_attr attributes = {};
  std::string device_name;
  std::atomic<int> regions{0};
  VerbsEvents anchor_events;
  VerbsId anchor;
};

namespace {

int AccessFlags(Access access) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  const auto bits = static_cast<uint8_t>(access);
  if ((bits & static_cast<uint8_t>(Access::kRemoteRead)) != 0) flags |= IBV_ACCESS_REMOTE_READ;
  if ((bits & static_cast<uint8_t>(Access::kRemoteWrite)) != 0) flags |= IBV_ACCESS_REMOTE_WRITE;
  return flags;
}

}  // namespace

absl::StatusOr<std::shared_ptr<VerbsDomain>> VerbsDomain::Open(std::shared_ptr<VerbsCalls> calls,
                                                               rdma_cm_id* connection) {
  ibv_context* const context = connection->verbs;
  auto state = std::make_shared<State>(std::move(calls), context);
  state->device_name = context->device == nullptr ? "RDMA device" : context->device->name;
  if (const int error = state->calls->QueryDevice(context, &state->attributes); error != 0) {
    return VerbsError(absl::StrCat("cannot ask ", state->device_name, " what it can do"), error);
  }
  if (absl::Status s = state->KeepDevice(connection); !s.ok()) return s;
  state->domain = state->calls->AllocateDomain(context);
  if (state->domain == nullptr) {
    return VerbsError(absl::StrCat("cannot make a protection domain on ", state->device_name),
                      errno);
  }
  return std::shared_ptr<VerbsDomain>(new VerbsDomain(std::move(state)));
}

// librdmacm closes a device that was removed with the last id on it, under the feet of regions that
// still have to be deregistered. So the domain has an id of its own there.
absl::Status VerbsDomain::State::KeepDevice(rdma_cm_id* connection) {
  absl::StatusOr<VerbsEvents> events = VerbsEvents::Open(calls);
  if (!events.ok()) return events.status();
  absl::StatusOr<VerbsId> id = VerbsId::Create(calls, *events);
  if (!id.ok()) return id.status();
  SocketAddress local(rdma_get_local_addr(connection), sizeof(sockaddr_storage));
  local.set_port(0);
  if (const int error = calls->BindAddress(id->get(), local.get()); error != 0) {
    return VerbsError(absl::StrCat("cannot use ", local.HostText(), " of ", device_name), error);
  }
  anchor_events = *std::move(events);
  anchor = *std::move(id);
  return absl::OkStatus();
}

absl::StatusOr<Region> VerbsDomain::Register(MutableBuffer bytes, Access access) {
  // Deregisters when the last owner of the region ends.
  struct Registration {
    Registration(std::shared_ptr<State> s, ibv_mr* r) : state(std::move(s)), region(r) {}
    ~Registration() {
      state->calls->DeregisterMemory(region);
      --state->regions;
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    const std::shared_ptr<State> state;
    ibv_mr* const region;
  };

  const std::string what =
      absl::StrCat("cannot register ", bytes.size_bytes, " bytes with ", state_->device_name);
  if (bytes.data == nullptr || bytes.size_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the range is empty"));
  }
  const ibv_device_attr& device = state_->attributes;
  if (bytes.size_bytes > device.max_mr_size) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": max_mr_size of the device is ", device.max_mr_size,
                     " bytes; register the memory in smaller pieces"));
  }
  ibv_mr* region = state_->calls->RegisterMemory(state_->domain, bytes.data, bytes.size_bytes,
                                                 AccessFlags(access));
  if (region != nullptr) {
    ++state_->regions;
    const Region::Keys keys{.local_key = LocalKeyFrom(region->lkey),
                            .remote_key = region->rkey,
                            .remote_address = reinterpret_cast<uintptr_t>(bytes.data)};
    return Region(bytes, keys, std::make_shared<Registration>(state_, region));
  }
  const int error = errno;
  const int regions = state_->regions;
  if (error == ENOMEM || error == ENOSPC || error == EAGAIN) {
    if (regions >= device.max_mr) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": max_mr of the device is ", device.max_mr, " regions and ", regions,
                       " are registered here; end some, or register fewer and larger ones"));
    }
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": ", DescribeMemoryShortage(ReadMemoryLimit(), bytes.size_bytes)));
  }
  if (error == EFAULT) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the range is not all mapped and writable"));
  }
  return VerbsError(what, error);
}

VerbsCalls& VerbsDomain::calls() const { return *state_->calls; }
ibv_context* VerbsDomain::context() const { return state_->context; }
ibv_pd* VerbsDomain::get() const { return state_->domain; }
const ibv_device_attr& VerbsDomain::attributes() const { return state_->attributes; }
const std::string& VerbsDomain::device_name() const { return state_->device_name; }

absl::StatusOr<std::shared_ptr<VerbsDomain>> VerbsDomains::Of(rdma_cm_id* connection) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::weak_ptr<VerbsDomain>& known = domains_[connection->verbs];
  if (std::shared_ptr<VerbsDomain> domain = known.lock(); domain != nullptr) return domain;
  absl::StatusOr<std::shared_ptr<VerbsDomain>> opened = VerbsDomain::Open(calls_, connection);
  if (opened.ok()) known = *opened;
  return opened;
}

}  // namespace vof
