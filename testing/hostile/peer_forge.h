// SPDX-License-Identifier: Apache-2.0
//
// Initiators that are killed in the middle of their work: a process of its own for each, made
// quickly, because the process that makes them has loaded what takes long.
//
//   PeerForge forge(RegisterAll, LoadLibraries);        // first thing in main: no threads yet
//   ASSERT_EQ(forge.Kill("ofi://127.0.0.1:9000/disk?provider=tcp", PeerWork::kReads, 300), "");
//
// The peers work on the first half of a block device, from several threads. One thread.
#ifndef VOF_TESTING_HOSTILE_PEER_FORGE_H_
#define VOF_TESTING_HOSTILE_PEER_FORGE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/runtime/backend.h"

namespace vof {

enum class PeerWork : uint8_t {
  kConnects,     // dies on its way to a session
  kNothing,      // has a session
  kSmallWrites,  // of 512 bytes: inside of messages where the dialect has that
  kWrites,       // of 64 KiB: the target fetches
  kReads,        // of 256 KiB: the target stores
  kFlushes,
  kResets,
  kDisconnects,
};
inline constexpr int kNumPeerWorks = 8;
const char* PeerWorkName(PeerWork work);

class PeerForge {
 public:
  // `registers` runs in each peer, `prepares` once in the process that makes them.
  PeerForge(std::function<void(BackendRegistry&)> registers, const std::function<void()>& prepares);
  ~PeerForge();
  PeerForge(const PeerForge&) = delete;
  PeerForge& operator=(const PeerForge&) = delete;

  // A peer connects, works, and is killed `delay_us` after it began to. Returns when it is dead.
  // Empty, or why it did not come that far.
  std::string Kill(const std::string& uri, PeerWork work, uint32_t delay_us);

 private:
  [[noreturn]] void Serve(int socket);

  const std::function<void(BackendRegistry&)> registers_;
  pid_t maker_ = -1;
  int socket_ = -1;
};

}  // namespace vof

#endif  // VOF_TESTING_HOSTILE_PEER_FORGE_H_
