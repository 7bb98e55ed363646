// SPDX-License-Identifier: Apache-2.0
//
// What the two ends of a side connection tell each other. An endpoint without connection
// (FI_EP_RDM) is reached by a name, and nobody says when it is gone; so each queue keeps a TCP
// connection beside it, over which the names are exchanged and whose end is the end of the queue.
//
//   dialer   -> listener   its hello
//   listener -> dialer     its hello, once it can be reached; or one with a reason, then the end
//   nothing more; the first end that closes ends the queue
//
// A hello, integers little-endian:
//
//   @0 "VOFS"   @4 u8 version (1)   @5 u8 answer   @6 le16 provider_bytes (1-64)
//   @8 le16 name_bytes (0-256)   @10 6 reserved   @16 provider, then name of the endpoint
//
//   SideHelloParser parser;
//   WriteHello(fd, {.provider = "shm", .name = name});
//   switch (ReadHello(fd, &parser)) { case SideRead::kComplete: Use(parser.hello()); ... }
//
// Bytes of a peer are not trusted: lengths have limits, anything else is malformed.
#ifndef VOF_BACKENDS_OFI_SIDE_HELLO_H_
#define VOF_BACKENDS_OFI_SIDE_HELLO_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vof {

inline constexpr size_t kSideHeaderBytes = 16;
inline constexpr size_t kMaxSideProviderBytes = 64;
inline constexpr size_t kMaxSideNameBytes = 256;
inline constexpr size_t kMaxSideHelloBytes =
    kSideHeaderBytes + kMaxSideProviderBytes + kMaxSideNameBytes;

enum class SideAnswer : uint8_t {
  kWelcome = 0,        // also in the hello of a dialer
  kOtherProvider = 1,  // `provider` is that of the listener
  kCannotServe = 2,    // out of memory or descriptors
  kNotReachable = 3,   // the name does not fit the connection
};

struct SideHello {
  SideAnswer answer = SideAnswer::kWelcome;
  std::string provider;         // of libfabric, as "tcp;ofi_rxm"
  std::vector<std::byte> name;  // fi_getname; empty unless kWelcome
};

// Fields within their limits.
std::vector<std::byte> EncodeHello(const SideHello& hello);

enum class HelloState : uint8_t { kMore, kComplete, kMalformed };

// Takes a hello in pieces, as it comes; never asks for more bytes than belong to it.
class SideHelloParser {
 public:
  // Where the next bytes go; not empty while it wants more.
  std::span<std::byte> Wanted() { return std::span(bytes_).subspan(have_, need_ - have_); }
  // That many of them are there now.
  HelloState Filled(size_t size_bytes);
  const SideHello& hello() const { return hello_; }      // kComplete
  std::string_view problem() const { return problem_; }  // kMalformed: which rule was broken

 private:
  HelloState Refuse(std::string_view problem);
  HelloState OnHeader();
  HelloState OnNames();

  std::array<std::byte, kMaxSideHelloBytes> bytes_{};
  size_t have_ = 0;
  size_t need_ = kSideHeaderBytes;
  SideHello hello_;
  std::string_view problem_;
};

enum class SideRead : uint8_t { kAgain, kComplete, kMalformed, kClosed };

// Reads what is there; `fd` does not block. kClosed: by the peer, or an error.
SideRead ReadHello(int fd, SideHelloParser* parser);
// All of it at once: a new connection has room for more than a hello. False: the peer is gone.
bool WriteHello(int fd, const SideHello& hello);

}  // namespace vof

#endif  // VOF_BACKENDS_OFI_SIDE_HELLO_H_
