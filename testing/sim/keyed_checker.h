// SPDX-License-Identifier: Apache-2.0
//
// Watches the messages of one connection of a session and holds both ends to the protocol
// (queue_rules.h) and to what is particular of keyed transmission: the target reaches only for
// memory that a request shows and that it has not answered, reads what is readable and writes what
// is writable; and it has a receive for every command that may come, and one more.
//
//   auto checker = std::make_shared<KeyedChecker>(session, fail);
//   auto link = std::make_shared<SimFabricLink>(context, domains, checker, /*hostile=*/false);
//   checker->Watch(link.get());
#ifndef VOF_TESTING_SIM_KEYED_CHECKER_H_
#define VOF_TESTING_SIM_KEYED_CHECKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/wire/codec.h"
#include "testing/sim/queue_rules.h"
#include "testing/sim/sim_fabric_link.h"

namespace vof {

class KeyedChecker final : public FabricObserver {
 public:
  KeyedChecker(std::shared_ptr<WireSession> session, QueueRules::Fail fail)
      : rules_(std::move(session), std::move(fail)) {}

  // The link that this watches.
  void Watch(const SimFabricLink* link) { link_ = link; }

  // --- FabricObserver ---
  void OnSend(int from_side, std::span<const std::byte> message) override;
  void OnFetch(const RemoteBuffer& remote) override;
  void OnStore(const RemoteBuffer& remote) override;
  bool is_virtqueue() const override { return rules_.connect_seen() && !rules_.is_control(); }

 private:
  // A piece of memory that a request shows.
  struct Shown {
    RemoteBuffer memory;
    bool writable = false;
  };

  template <Codec C>
  void FromInitiator(std::span<const std::byte> message);
  template <Codec C>
  void FromTarget(std::span<const std::byte> message);
  template <Codec C>
  std::vector<Shown> ShownBy(const Command& command, std::span<const std::byte> message) const;
  bool IsShown(RemoteBuffer wanted, bool writable) const;
  void CheckReceives();

  QueueRules rules_;
  const SimFabricLink* link_ = nullptr;
  // By command id, until the answer is sent. Connect counts as command 0.
  std::map<uint16_t, std::vector<Shown>> shown_;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_KEYED_CHECKER_H_
