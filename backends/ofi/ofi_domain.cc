// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_domain.h"

#include <rdma/fi_errno.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "backends/ofi/ofi_error.h"
#include "core/base/random.h"

namespace vof {
namespace {

// A collision is improbable below millions of regions.
constexpr int kKeyAttempts = 16;

uint64_t AccessFlags(Access access) {
  uint64_t flags = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
  const auto bits = static_cast<unsigned>(access);
  if ((bits & static_cast<unsigned>(Access::kRemoteRead)) != 0) flags |= FI_REMOTE_READ;
  if ((bits & static_cast<unsigned>(Access::kRemoteWrite)) != 0) flags |= FI_REMOTE_WRITE;
  return flags;
}

// Never 0, which a peer may send by mistake.
absl::StatusOr<uint32_t> RandomKey() {
  uint32_t key = 0;
  while (key == 0) {
    if (!FillRandom(std::as_writable_bytes(std::span(&key, 1)))) {
      return absl::ErrnoToStatus(errno, "cannot make a key for a memory region");
    }
  }
  return key;
}

std::string PinLimitText() {
  rlimit limit = {};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return "RLIMIT_MEMLOCK of this process is unlimited";
  return absl::StrCat(
      "RLIMIT_MEMLOCK of this process is ", limit.rlim_cur,
      " bytes; raise it (`ulimit -l`, LimitMEMLOCK= of systemd) or use less memory");
}

// A domain of sockets has 128 places for what is under way, and connections that end leave some of
// them taken: after as many sessions nothing of it moves any more (1.17).
int MostEndpoints(const fi_info& info) {
  constexpr std::string_view kWearsOut = "sockets";
  return info.fabric_attr->prov_name == kWearsOut ? 64 : std::numeric_limits<int>::max();
}

bool IsShortage(int error) {
  return error == FI_ENOMEM || error == FI_EAGAIN || error == FI_ENOSPC || error == FI_EPERM;
}

}  // namespace

absl::StatusOr<std::shared_ptr<OfiDomain>> OfiDomain::Open(const fi_info& info,
                                                           const OfiOptions& options) {
  const std::string provider = info.fabric_attr->prov_name;
  fid_fabric* fabric = nullptr;
  if (const int result = FabricLibrary::Loaded().open_fabric(info.fabric_attr, &fabric, nullptr);
      result != 0) {
    return OfiError(result, absl::StrCat("cannot open the fabric of provider '", provider, "'"));
  }
  std::shared_ptr<fid_fabric> owned_fabric(fabric, FidCloser());
  fi_info copy = info;
  fid_domain* domain = nullptr;
  if (const int result = fi_domain(fabric, &copy, &domain, nullptr); result != 0) {
    return OfiError(result, absl::StrCat("cannot open domain '", info.domain_attr->name,
                                         "' of provider '", provider, "'"));
  }
  std::shared_ptr<fid_domain> owned_domain(
      domain, [owned_fabric](fid_domain* opened) { fi_close(&opened->fid); });
  return std::shared_ptr<OfiDomain>(
      new OfiDomain(info, options, std::move(owned_fabric), std::move(owned_domain)));
}

OfiDomain::OfiDomain(const fi_info& info, const OfiOptions& options,
                     std::shared_ptr<fid_fabric> fabric, std::shared_ptr<fid_domain> domain)
    : options_(options),
      provider_(info.fabric_attr->prov_name),
      memory_mode_(info.domain_attr->mr_mode),
      fabric_(std::move(fabric)),
      domain_(std::move(domain)) {}

absl::StatusOr<Region> OfiDomain::Register(MutableBuffer bytes, Access access) {
  if (bytes.size_bytes == 0) {
    return absl::InvalidArgumentError("cannot register an empty range of memory");
  }
  fid_mr* opened = nullptr;
  int result = -FI_ENOKEY;
  for (int i = 0; i < kKeyAttempts && result == -FI_ENOKEY; ++i) {
    absl::StatusOr<uint32_t> key = RandomKey();
    if (!key.ok()) return key.status();
    result = fi_mr_reg(domain_.get(), bytes.data, bytes.size_bytes, AccessFlags(access), 0, *key, 0,
                       &opened, nullptr);
  }
  if (result != 0) {
    const std::string text = absl::StrCat("cannot register ", bytes.size_bytes,
                                          " bytes with provider '", provider_, "'");
    if (!IsShortage(-result)) return OfiError(result, text);
    return absl::ResourceExhaustedError(
        absl::StrCat(text, ": ", OfiErrorText(result), "; ", PinLimitText()));
  }
  FidPtr<fid_mr> mr(opened);
  const uint64_t key = fi_mr_key(opened);
  if (key > std::numeric_limits<uint32_t>::max()) {
    return absl::FailedPreconditionError(
        absl::StrCat("provider '", provider_, "' makes keys of more than 32 bits (", key,
                     "), which do not fit the protocol; choose another provider"));
  }
  const bool is_virtual = (memory_mode_ & FI_MR_VIRT_ADDR) != 0;
  auto registration = std::make_shared<OfiRegistration>(domain_, std::move(mr), bytes);
  const Region::Keys keys{
      .local_key = registration.get(),
      .remote_key = static_cast<uint32_t>(key),
      .remote_address = is_virtual ? reinterpret_cast<uintptr_t>(bytes.data) : 0};
  return Region(bytes, keys, std::move(registration));
}

void OfiDomain::Bury(std::shared_ptr<void> remains, FileDescriptor side, MonotonicTime until) {
  const std::lock_guard<std::mutex> lock(graves_mutex_);
  graves_.push_back({std::move(remains), std::move(side), until});
  // The end of one may be what another one of this process waits for.
  const auto is_over = [now = MonotonicNow()](const Grave& grave) {
    char byte = 0;
    const ssize_t got = recv(grave.side.get(), &byte, 1, MSG_DONTWAIT);
    return got >= 0 || errno != EAGAIN || now >= grave.until;
  };
  size_t before = 0;
  do {
    before = graves_.size();
    graves_.erase(std::remove_if(graves_.begin(), graves_.end(), is_over), graves_.end());
  } while (graves_.size() < before);
}

absl::StatusOr<std::shared_ptr<OfiDomain>> OfiDomains::Get(const fi_info& info) {
  const std::string name = absl::StrCat(info.fabric_attr->prov_name, "/", info.fabric_attr->name,
                                        "/", info.domain_attr->name);
  const std::lock_guard<std::mutex> lock(mutex_);
  Known& known = domains_[name];
  std::shared_ptr<OfiDomain> domain = known.domain.lock();
  if (domain != nullptr && known.endpoints < MostEndpoints(info)) {
    ++known.endpoints;
    return domain;
  }
  absl::StatusOr<std::shared_ptr<OfiDomain>> opened = OfiDomain::Open(info, options_);
  if (opened.ok()) known = {*opened, 1};
  return opened;
}

}  // namespace vof
