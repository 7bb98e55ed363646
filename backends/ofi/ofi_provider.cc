// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/ofi_provider.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "backends/ofi/ofi_error.h"

namespace vof {
namespace {

const uint32_t kApiVersion = FI_VERSION(1, 15);
constexpr uint64_t kOrder = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_WAW | FI_ORDER_RAW;
// Without virtual addresses first: with them a provider may access memory without a look at the
// key (shm does). Real adapters insist on them, and look.
constexpr std::array<int, 2> kMemoryModes = {
    FI_MR_LOCAL | FI_MR_ALLOCATED,
    FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY};

// Its connected endpoints corrupt the heap when the description of a request is freed (1.17).
constexpr std::string_view kWithoutConnections = "sockets";

// "tcp;ofi_rxm": what gives a provider endpoints of another type registers memory for reading and
// writing from afar, whatever was asked for.
bool IsLayered(std::string_view name) { return name.find(';') != std::string_view::npos; }

InfoPtr MakeHints(std::string_view provider, fi_ep_type type, int memory_mode, uint64_t order) {
  InfoPtr hints(FabricLibrary::Loaded().dupinfo(nullptr));
  if (hints == nullptr) return nullptr;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = type;
  hints->domain_attr->mr_mode = memory_mode;
  // Reactors share a domain: its regions are for all of them.
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = order;
  hints->rx_attr->msg_order = order;
  if (!provider.empty()) {
    // fi_freeinfo frees it.
    hints->fabric_attr->prov_name = strndup(provider.data(), provider.size());
  }
  return hints;
}

// A list; null when the provider has nothing of the kind.
InfoPtr GetInfo(std::string_view provider, fi_ep_type type, const ProviderQuery& query,
                int* result) {
  const char* node = query.node.empty() ? nullptr : query.node.c_str();
  const char* service = query.service.empty() ? nullptr : query.service.c_str();
  uint64_t flags = node != nullptr ? FI_NUMERICHOST : 0;
  if (query.is_source) flags |= FI_SOURCE;
  for (const uint64_t order : {kOrder, uint64_t{FI_ORDER_SAS}}) {
    for (const int memory_mode : kMemoryModes) {
      const InfoPtr hints = MakeHints(provider, type, memory_mode, order);
      fi_info* found = nullptr;
      *result = hints == nullptr ? -FI_ENOMEM
                                 : FabricLibrary::Loaded().getinfo(kApiVersion, node, service,
                                                                   flags, hints.get(), &found);
      if (*result == 0) return InfoPtr(found);
    }
  }
  return nullptr;
}

// "tcp" asks for "tcp;ofi_rxm" too: only that very provider is meant.
const fi_info* FirstNamed(const fi_info* list, std::string_view name) {
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    const std::string_view found = info->fabric_attr->prov_name;
    if (name.empty() ? !IsLayered(found) : name == found) return info;
  }
  return nullptr;
}

std::string UsableProviders() {
  std::set<std::string> names;
  for (const fi_ep_type type : {FI_EP_MSG, FI_EP_RDM}) {
    for (const int memory_mode : kMemoryModes) {
      const InfoPtr hints = MakeHints("", type, memory_mode, FI_ORDER_SAS);
      fi_info* found = nullptr;
      if (FabricLibrary::Loaded().getinfo(kApiVersion, nullptr, nullptr, 0, hints.get(), &found) !=
          0)
        continue;
      const InfoPtr list(found);
      for (const fi_info* info = found; info != nullptr; info = info->next) {
        if (!IsLayered(info->fabric_attr->prov_name)) names.insert(info->fabric_attr->prov_name);
      }
    }
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

}  // namespace

// Programs that speak over sockets of the kernel and believe what the peer's program says (tried
// with tcp, libfabric 1.17). An adapter compares lengths; shm has no protection from its peers.
bool BelievesShortFetches(std::string_view name) {
  return name == "tcp" || name == "net" || name == "sockets";
}

absl::StatusOr<OfiProvider> FindProvider(std::string_view name) {
  if (const auto library = FabricLibrary::Load(); !library.ok()) return library.status();
  if (IsLayered(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "provider '", absl::string_view(name.data(), name.size()),
        "' opens regions to accesses that they do not allow; there are: ", UsableProviders()));
  }
  int result = 0;
  for (const fi_ep_type type : {FI_EP_MSG, FI_EP_RDM}) {
    if (type == FI_EP_MSG && name == kWithoutConnections) continue;
    const InfoPtr list = GetInfo(name, type, {}, &result);
    const fi_info* info = FirstNamed(list.get(), name);
    if (info == nullptr) continue;
    return OfiProvider{.name = info->fabric_attr->prov_name,
                       .type = type,
                       .has_network_address = info->addr_format != FI_ADDR_STR};
  }
  if (name.empty()) {
    return absl::UnavailableError(
        "libfabric has no provider with messages and remote memory access here; see `fi_info`");
  }
  return absl::InvalidArgumentError(absl::StrCat("libfabric has no usable provider '",
                                                 absl::string_view(name.data(), name.size()),
                                                 "' here; there are: ", UsableProviders()));
}

absl::StatusOr<InfoPtr> QueryProvider(const OfiProvider& provider, const ProviderQuery& query) {
  if (const auto library = FabricLibrary::Load(); !library.ok()) return library.status();
  int result = 0;
  const InfoPtr list = GetInfo(provider.name, provider.type, query, &result);
  const fi_info* info = FirstNamed(list.get(), provider.name);
  if (info == nullptr) {
    return OfiError(result == 0 ? -FI_ENODATA : result,
                    absl::StrCat("provider '", provider.name, "' of libfabric cannot use ",
                                 query.node.empty() ? "this machine" : query.node));
  }
  InfoPtr copy(FabricLibrary::Loaded().dupinfo(info));
  if (copy == nullptr) return absl::ResourceExhaustedError("no memory for a fabric's description");
  return copy;
}

}  // namespace vof

// libfabric 1.17 keeps 24 bytes of each endpoint for good; LeakSanitizer would fail every program,
// or say on standard error what it left out.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so\n"; }
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
// NOLINTEND(bugprone-reserved-identifier)
#endif
#endif
