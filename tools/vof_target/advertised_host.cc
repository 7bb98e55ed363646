// SPDX-License-Identifier: Apache-2.0
#include "tools/vof_target/advertised_host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace vof {
namespace {

struct FreeInterfaces {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

// The text of an interface's address when other hosts may reach it, else empty.
std::string ReachableAddress(const ifaddrs& interface, int family) {
  if (interface.ifa_addr == nullptr || interface.ifa_addr->sa_family != family) return "";
  if ((interface.ifa_flags & IFF_UP) == 0 || (interface.ifa_flags & IFF_LOOPBACK) != 0) return "";
  char text[INET6_ADDRSTRLEN] = "";
  if (family == AF_INET) {
    sockaddr_in address;
    std::memcpy(&address, interface.ifa_addr, sizeof(address));
    const bool link_local = (ntohl(address.sin_addr.s_addr) >> 16) == 0xa9fe;
    if (!link_local) inet_ntop(family, &address.sin_addr, text, sizeof(text));
  } else {
    sockaddr_in6 address;
    std::memcpy(&address, interface.ifa_addr, sizeof(address));
    const bool link_local = IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr);
    if (!link_local) inet_ntop(family, &address.sin6_addr, text, sizeof(text));
  }
  return text;
}

std::string FirstReachableAddress(int family) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, FreeInterfaces> owner(list);
  for (const ifaddrs* interface = list; interface != nullptr; interface = interface->ifa_next) {
    std::string address = ReachableAddress(*interface, family);
    if (!address.empty()) return address;
  }
  return "";
}

}  // namespace

std::string AdvertisedHost(const std::string& host) {
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    if (v4.s_addr != htonl(INADDR_ANY)) return host;
    const std::string address = FirstReachableAddress(AF_INET);
    return address.empty() ? "127.0.0.1" : address;
  }
  in6_addr v6;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6)) {
    const std::string address = FirstReachableAddress(AF_INET6);
    return address.empty() ? "::1" : address;
  }
  return host;
}

}  // namespace vof
