// SPDX-License-Identifier: Apache-2.0
#include "backends/common/resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace vof {
namespace {

using Addresses = absl::StatusOr<std::vector<SocketAddress>>;

absl::Status LookUpError(const std::string& host, int error, int system_error) {
  const char* cause = error == EAI_SYSTEM ? strerrordesc_np(system_error) : gai_strerror(error);
  const std::string text = absl::StrCat("cannot find the address of '", host, "': ", cause);
  switch (error) {
    case EAI_NONAME:
    case EAI_NODATA:
      return absl::NotFoundError(absl::StrCat(text, "; check the name, or give an address"));
    default:
      return absl::UnavailableError(text);
  }
}

// "::ffff:192.0.2.1" as the IPv4 address that it stands for: a socket of IPv6 alone, as listeners
// are, cannot be bound to it.
SocketAddress WithoutMapping(const SocketAddress& address) {
  if (address.family() != AF_INET6) return address;
  sockaddr_in6 mapped{};
  std::memcpy(&mapped, address.get(), sizeof(mapped));
  if (!IN6_IS_ADDR_V4MAPPED(&mapped.sin6_addr)) return address;
  sockaddr_in plain{};
  plain.sin_family = AF_INET;
  plain.sin_port = mapped.sin6_port;
  std::memcpy(&plain.sin_addr, &mapped.sin6_addr.s6_addr[12], sizeof(plain.sin_addr));
  return {reinterpret_cast<const sockaddr*>(&plain), sizeof(plain)};
}

// `flags` AI_NUMERICHOST: answers at once.
Addresses LookUp(const ResolveQuery& query, int flags, int* error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV | (query.listening ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const char* host = query.host.empty() ? nullptr : query.host.c_str();
  *error = getaddrinfo(host, std::to_string(query.port).c_str(), &hints, &found);
  if (*error != 0) return LookUpError(query.host, *error, errno);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
    addresses.push_back(WithoutMapping({a->ai_addr, a->ai_addrlen}));
  }
  if (addresses.empty()) return LookUpError(query.host, EAI_NONAME, 0);
  return addresses;
}

Addresses LookUpWithin(const ResolveQuery& query) {
  auto promise = std::make_shared<std::promise<Addresses>>();
  std::future<Addresses> answer = promise->get_future();
  std::thread([promise, query] {
    int error = 0;
    promise->set_value(LookUp(query, 0, &error));
  }).detach();
  const Nanoseconds left = query.deadline - MonotonicNow();
  if (query.deadline == kInfiniteFuture ||
      answer.wait_for(std::chrono::nanoseconds(left > 0 ? left : 0)) == std::future_status::ready) {
    return answer.get();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("no name server answered for '", query.host, "' in time"));
}

}  // namespace

Resolver SystemResolver() {
  return [](const ResolveQuery& query) -> Addresses {
    int error = 0;
    Addresses numeric = LookUp(query, AI_NUMERICHOST, &error);
    if (error != EAI_NONAME || query.host.empty()) return numeric;
    return LookUpWithin(query);
  };
}

}  // namespace vof
