// SPDX-License-Identifier: Apache-2.0
//
// Who else comes to the target of a simulated world (sim_world.h).
#include <utility>

#include "core/wire/connect_body.h"
#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "testing/sim/sim_keyed_stranger.h"
#include "testing/sim/sim_world.h"

namespace vof {
namespace {

// Strangers must not take all the steps there are.
constexpr size_t kMostConnections = 20;

SimStranger::Bytes BodyBytesOf(Dialect dialect, const ConnectBody& body) {
  SimStranger::Bytes bytes(kConnectBodyBytes);
  (void)EncodeConnectBody(dialect, body, std::span(bytes).first<kConnectBodyBytes>());
  return bytes;
}

// The header and, where there is one, the descriptor of a Connect.
template <Codec C>
SimStranger::Bytes ConnectOf(Command command, Transmission transmission, const Segment& body) {
  command.kind = CommandKind::kConnect;
  command.transmission = transmission;
  command.body_length = kConnectBodyBytes;
  command.ndesc = C::kSegmentedStreams ? 1 : 0;
  const bool describes = C::kSegmentedStreams || transmission == Transmission::kKeyed;
  SimStranger::Bytes bytes(kHeaderBytes + (describes ? C::kDescriptorBytes : 0));
  C::EncodeCommand(command, HeaderOut(bytes.data(), kHeaderBytes));
  if (describes) {
    C::EncodeSegment(body, {bytes.data() + kHeaderBytes, size_t{C::kDescriptorBytes}});
  }
  return bytes;
}

SimStranger::Bytes ConnectOf(Dialect dialect, const Command& command, Transmission transmission,
                             const Segment& body) {
  return dialect == Dialect::kV5 ? ConnectOf<V5>(command, transmission, body)
                                 : ConnectOf<Ref>(command, transmission, body);
}

}  // namespace

void SimWorld::SendStranger() {
  if (initiators_.num_connections() >= kMostConnections) return;
  if (any_keyed() && context_.fabric_random.Chance(700)) return SendKeyedStranger();
  Stranger stranger = MakeStranger();
  SimStranger::Bytes bytes = StreamBytesOf(stranger);
  SimLink link = MakeSimLink(&context_, nullptr, "stranger");
  auto engine = std::make_unique<SimStranger>(std::move(bytes), stranger.leave_at,
                                              std::move(stranger.on_end));
  initiators_.Add(std::make_unique<SimConnection>(std::move(link.initiator), std::move(engine)),
                  link.pipe, SimWire::kInitiator, nullptr);
  target_.Accept(&link, "stranger", SimPeer::kStranger);
}

SimWorld::Stranger SimWorld::MakeStranger() {
  FaultRandom& random = context_.random;
  const SimSession& victim = *sessions_[random.Below(sessions_.size())];
  Stranger stranger;
  stranger.leave_at = context_.now + Milliseconds(1 + random.Below(300));
  stranger.body = victim.body();
  stranger.connect.instance_id = kControlInstanceId;
  stranger.dialect = random.Chance(600) ? Dialect::kV5 : Dialect::kRef;
  stranger.kind = static_cast<StrangerKind>(random.Below(5));
  if (stranger.kind == StrangerKind::kVirtqueue) {
    stranger.connect.instance_id = victim.ready() ? victim.instance_id() : 0x1234;
    stranger.body.token.fill(std::byte{0});
  } else if (stranger.kind == StrangerKind::kNoDevice) {
    stranger.body.target_name = "no such disk";
  } else {
    stranger.body.token.fill(std::byte{0x77});
  }
  const bool victim_was_ready = victim.ready();
  const uint16_t instance_id = victim.instance_id();
  stranger.on_end = [=, this, &victim, kind = stranger.kind](const SimStranger::Bytes& answer) {
    const bool victim_stayed =
        victim_was_ready && victim.ready() && victim.instance_id() == instance_id;
    const bool may_enter =
        kind == StrangerKind::kNamesake && (context_.plan.shareable || !victim_stayed);
    if (!may_enter) CheckRefused(answer);
  };
  return stranger;
}

SimStranger::Bytes SimWorld::StreamBytesOf(const Stranger& stranger) {
  FaultRandom& random = context_.random;
  if (stranger.kind == StrangerKind::kNoise) {
    SimStranger::Bytes noise(1 + random.Below(2000));
    for (std::byte& b : noise) b = static_cast<std::byte>(random.Next());
    noise[0] = std::byte{0xff};
    return noise;
  }
  SimStranger::Bytes bytes = ConnectOf(stranger.dialect, stranger.connect, Transmission::kStream,
                                       Segment{.length_bytes = kConnectBodyBytes});
  const SimStranger::Bytes body = BodyBytesOf(stranger.dialect, stranger.body);
  bytes.insert(bytes.end(), body.begin(), body.end());
  if (stranger.kind == StrangerKind::kHalf) bytes.resize(random.Below(bytes.size()));
  return bytes;
}

// It may show memory that does not exist, that is too short, or that may not be read.
void SimWorld::SendKeyedStranger() {
  FaultRandom& random = context_.fabric_random;
  Stranger stranger = MakeStranger();
  SimKeyedStranger::Shown shown{BodyBytesOf(stranger.dialect, stranger.body), {}};
  // How its Connect cannot be completed, if so.
  enum class Flaw : uint8_t { kShort, kNotReadable, kOtherKey, kOtherPlace, kNone };
  const Flaw flaw =
      stranger.kind == StrangerKind::kHalf ? static_cast<Flaw>(random.Below(4)) : Flaw::kNone;
  auto region = fabric_.initiator_domain().Register(
      {shown.bytes.data(), flaw == Flaw::kShort ? kConnectBodyBytes / 2 : kConnectBodyBytes},
      flaw == Flaw::kNotReadable ? Access::kRemoteWrite : Access::kRemoteRead);
  if (!region.ok()) return;
  shown.region = *std::move(region);
  Segment segment{.address = shown.region.RemoteAddress(shown.bytes.data()),
                  .length_bytes = kConnectBodyBytes,
                  .key = shown.region.remote_key()};
  if (flaw == Flaw::kOtherKey) segment.key ^= 1u << random.Below(32);
  if (flaw == Flaw::kOtherPlace) segment.address ^= uint64_t{1} << random.Below(64);
  SimStranger::Bytes message =
      ConnectOf(stranger.dialect, stranger.connect, Transmission::kKeyed, segment);
  if (stranger.kind == StrangerKind::kNoise) {
    message.resize(random.Below(kMinInlineBytes + 1));
    for (std::byte& b : message) b = static_cast<std::byte>(random.Next());
    if (!message.empty()) message[0] = std::byte{0xff};
  }
  const int times = random.Chance(200) ? static_cast<int>(1 + random.Below(50)) : 1;
  SimFabric::Pair pair = fabric_.Connect(nullptr, "stranger", /*hostile=*/true);
  auto engine = std::make_unique<SimKeyedStranger>(message, times, std::move(shown),
                                                   stranger.leave_at, std::move(stranger.on_end));
  initiators_.Add(
      std::make_unique<SimMessageConnection>(std::move(pair.initiator), std::move(engine)),
      pair.link, SimWire::kInitiator, nullptr);
  target_.Accept(&pair, "stranger", SimPeer::kStranger);
}

void SimWorld::CheckRefused(const SimStranger::Bytes& answer) {
  if (answer.size() < 2) return;  // closed without one
  if (answer[0] == std::byte{0} && answer[1] == std::byte{0}) {
    context_.Fail("a stranger was let in");
  }
}

}  // namespace vof
