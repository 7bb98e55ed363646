// SPDX-License-Identifier: Apache-2.0
#include "testing/sim/keyed_checker.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/wire/ref.h"
#include "core/wire/v5.h"
#include "core/wire/v5_inline.h"

namespace vof {
namespace {

HeaderIn HeaderOf(std::span<const std::byte> bytes) { return bytes.first<kHeaderBytes>(); }

}  // namespace

void KeyedChecker::OnSend(int from_side, std::span<const std::byte> message) {
  if (message.size() < kHeaderBytes) return rules_.Broken("a message without a header");
  // The descriptor of a Connect tells: `ref` has longer ones.
  const bool is_ref = rules_.connect_seen()
                          ? rules_.is_ref()
                          : message.size() == kHeaderBytes + Ref::kDescriptorBytes;
  if (from_side == SimWire::kInitiator) {
    is_ref ? FromInitiator<Ref>(message) : FromInitiator<V5>(message);
  } else {
    is_ref ? FromTarget<Ref>(message) : FromTarget<V5>(message);
  }
}

template <Codec C>
void KeyedChecker::FromInitiator(std::span<const std::byte> message) {
  Command command;
  if (C::DecodeCommand(HeaderOf(message), command) != WireError::kNone ||
      command.kind == CommandKind::kUnknown) {
    return rules_.Broken("the initiator sent a command that does not decode");
  }
  if (!rules_.connect_seen()) {
    rules_.OnConnect(command, C::kDialect == Dialect::kRef);
  } else {
    rules_.OnCommand(command);
  }
  const bool shows = command.kind == CommandKind::kVq || command.kind == CommandKind::kConnect;
  if (shows) shown_[command.command_id] = ShownBy<C>(command, message);
}

template <Codec C>
std::vector<KeyedChecker::Shown> KeyedChecker::ShownBy(const Command& command,
                                                       std::span<const std::byte> message) const {
  std::vector<Shown> shown;
  std::span<const std::byte> rest = message.subspan(kHeaderBytes);
  uint64_t readable =
      command.kind == CommandKind::kConnect ? kConnectBodyBytes : command.out_length;
  const bool may_be_inline = command.kind == CommandKind::kVq && rules_.session().inline_data;
  if (C::kDialect == Dialect::kV5 && may_be_inline) {
    const InlineFields fields = DecodeInlineFields(HeaderOf(message));
    readable -= fields.inline_bytes;
    rest = rest.first(rest.size() - fields.inline_bytes);
  }
  for (; rest.size() >= C::kDescriptorBytes; rest = rest.subspan(C::kDescriptorBytes)) {
    const Segment segment = C::DecodeSegment(rest.first(C::kDescriptorBytes));
    RemoteBuffer memory{segment.address, segment.length_bytes, segment.key};
    if constexpr (C::kDialect == Dialect::kRef) {
      shown.push_back({memory, segment.writable});
      continue;
    }
    // One range, the readable part first: a descriptor may span the border.
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(readable, memory.size_bytes));
    readable -= part;
    if (part > 0) shown.push_back({{memory.address, part, memory.key}, false});
    if (part == memory.size_bytes) continue;
    shown.push_back({{memory.address + part, memory.size_bytes - part, memory.key}, true});
  }
  return shown;
}

template <Codec C>
void KeyedChecker::FromTarget(std::span<const std::byte> message) {
  if (rules_.OnConnectAnswer()) return shown_.clear();
  if (rules_.is_control()) {
    const auto id = C::DecodeCompletion(CommandKind::kUnknown, HeaderOf(message)).command_id;
    const std::optional<Command> command = rules_.OnControlAnswer(id);
    if (!command) return;
    return rules_.OnControlResult(*command, C::DecodeCompletion(command->kind, HeaderOf(message)));
  }
  const Completion completion = C::DecodeCompletion(CommandKind::kVq, HeaderOf(message));
  if (rules_.OnVqAnswer(completion)) shown_.erase(completion.command_id);
  CheckReceives();
}

// The initiator may send now what it was granted.
void KeyedChecker::CheckReceives() {
  const int64_t expected = rules_.num_expected() + link_->num_sends_under_way(SimWire::kInitiator);
  const int64_t posted = link_->num_receives_posted(SimWire::kTarget);
  if (posted < expected + 1) {
    rules_.Broken("the target has " + std::to_string(posted) + " receives for " +
                  std::to_string(expected) + " commands that may come");
  }
}

void KeyedChecker::OnFetch(const RemoteBuffer& remote) {
  if (!IsShown(remote, /*writable=*/false)) {
    rules_.Broken("the target fetches what no request shows it");
  }
}

void KeyedChecker::OnStore(const RemoteBuffer& remote) {
  if (!IsShown(remote, /*writable=*/true)) {
    rules_.Broken("the target stores where no request lets it");
  }
}

// Pieces that lie next to each other may be reached for at once.
bool KeyedChecker::IsShown(RemoteBuffer wanted, bool writable) const {
  for (const auto& [id, pieces] : shown_) {
    for (const Shown& piece : pieces) {
      const uint64_t offset = wanted.address - piece.memory.address;
      const bool begins = piece.writable == writable && piece.memory.key == wanted.key &&
                          wanted.address >= piece.memory.address &&
                          offset < piece.memory.size_bytes;
      if (!begins) continue;
      const auto part = static_cast<uint32_t>(
          std::min<uint64_t>(wanted.size_bytes, piece.memory.size_bytes - offset));
      wanted.address += part;
      wanted.size_bytes -= part;
      if (wanted.size_bytes == 0) return true;
    }
  }
  return false;
}

}  // namespace vof
