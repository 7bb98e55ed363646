// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/side_hello.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/little_endian.h"

namespace vof {
namespace {

constexpr std::array<char, 4> kMagic = {'V', 'O', 'F', 'S'};
constexpr uint8_t kVersion = 1;

struct HelloHeader {
  std::array<char, 4> magic = kMagic;
  uint8_t version = kVersion;
  uint8_t answer = 0;
  Le16 provider_bytes;
  Le16 name_bytes;
  std::array<uint8_t, 6> reserved = {};
};
static_assert(sizeof(HelloHeader) == kSideHeaderBytes);

bool IsPrintable(char c) { return c > ' ' && c <= '~'; }

}  // namespace

std::vector<std::byte> EncodeHello(const SideHello& hello) {
  HelloHeader header;
  header.answer = static_cast<uint8_t>(hello.answer);
  header.provider_bytes = static_cast<uint16_t>(hello.provider.size());
  header.name_bytes = static_cast<uint16_t>(hello.name.size());
  std::vector<std::byte> bytes(sizeof(header) + hello.provider.size() + hello.name.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), hello.provider.data(), hello.provider.size());
  std::copy(hello.name.begin(), hello.name.end(),
            bytes.end() - static_cast<ptrdiff_t>(hello.name.size()));
  return bytes;
}

HelloState SideHelloParser::Filled(size_t size_bytes) {
  have_ += size_bytes;
  if (have_ < need_) return HelloState::kMore;
  return need_ == kSideHeaderBytes ? OnHeader() : OnNames();
}

HelloState SideHelloParser::Refuse(std::string_view problem) {
  problem_ = problem;
  return HelloState::kMalformed;
}

HelloState SideHelloParser::OnHeader() {
  const auto header = ReadStruct<HelloHeader>(bytes_);
  if (header.magic != kMagic) return Refuse("it does not begin with VOFS");
  if (header.version != kVersion) return Refuse("its version is not 1");
  if (header.answer > static_cast<uint8_t>(SideAnswer::kNotReachable)) {
    return Refuse("its answer is unknown");
  }
  hello_.answer = static_cast<SideAnswer>(header.answer);
  if (header.provider_bytes == 0 || header.provider_bytes > kMaxSideProviderBytes) {
    return Refuse("its provider has not 1 to 64 bytes");
  }
  if (header.name_bytes > kMaxSideNameBytes) return Refuse("its name has more than 256 bytes");
  if ((header.name_bytes == 0) != (hello_.answer != SideAnswer::kWelcome)) {
    return Refuse("a name comes with a welcome, and only then");
  }
  hello_.name.resize(header.name_bytes);
  need_ += header.provider_bytes + hello_.name.size();
  return HelloState::kMore;
}

HelloState SideHelloParser::OnNames() {
  const auto* text = reinterpret_cast<const char*>(bytes_.data()) + kSideHeaderBytes;
  hello_.provider.assign(text, need_ - kSideHeaderBytes - hello_.name.size());
  if (!std::all_of(hello_.provider.begin(), hello_.provider.end(), IsPrintable)) {
    return Refuse("its provider is not printable");
  }
  std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(need_ - hello_.name.size()),
              hello_.name.size(), hello_.name.begin());
  return HelloState::kComplete;
}

SideRead ReadHello(int fd, SideHelloParser* parser) {
  for (;;) {
    const std::span<std::byte> wanted = parser->Wanted();
    const ssize_t got = recv(fd, wanted.data(), wanted.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return SideRead::kAgain;
    if (got <= 0) return SideRead::kClosed;
    switch (parser->Filled(static_cast<size_t>(got))) {
      case HelloState::kMore:
        break;
      case HelloState::kComplete:
        return SideRead::kComplete;
      case HelloState::kMalformed:
        return SideRead::kMalformed;
    }
  }
}

bool WriteHello(int fd, const SideHello& hello) {
  const std::vector<std::byte> bytes = EncodeHello(hello);
  ssize_t sent = -1;
  do {
    sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

}  // namespace vof
