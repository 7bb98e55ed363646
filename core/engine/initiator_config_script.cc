// SPDX-License-Identifier: Apache-2.0
#include "core/engine/initiator_config_script.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/engine/initiator_status.h"

namespace vof {
std::string DescribeConfigAccess(std::string_view access, const ConfigField& field) {
  return absl::StrCat(absl::string_view(access.data(), access.size()), " of ", field.bytes,
                      " bytes at offset ", field.offset, " of the configuration space");
}

uint64_t LowBytes(uint64_t value, uint8_t bytes) {
  return bytes >= 8 ? value : value & ((uint64_t{1} << (8 * bytes)) - 1);
}

bool ConfigReadScript::Next(Command* command) {
  if (done_) return false;
  *command = Command{};
  if (asks_generation() && (!have_generation_ || answered_ == fields_.size())) {
    command->kind = CommandKind::kGetGeneration;
    return true;
  }
  command->kind = CommandKind::kGetConfig;
  command->offset = fields_[answered_].offset;
  command->bytes = fields_[answered_].bytes;
  return true;
}

absl::Status ConfigReadScript::OnAnswer(const Command& command, const Completion& completion) {
  if (command.kind == CommandKind::kGetGeneration) {
    if (!completion.ok()) return RefusedStatus(dialect_, "get_generation", completion);
    return OnGeneration(static_cast<uint32_t>(completion.value), answered_ == fields_.size());
  }
  const ConfigField& field = fields_[answered_];
  if (!completion.ok())
    return RefusedStatus(dialect_, DescribeConfigAccess("a read", field), completion);
  snapshot_.values[answered_++] = LowBytes(completion.value, field.bytes);
  if (asks_generation()) return absl::OkStatus();
  return OnGeneration(completion.generation, answered_ == fields_.size());
}

absl::Status ConfigReadScript::OnGeneration(uint32_t generation, bool last) {
  if (have_generation_ && generation != snapshot_.generation) return StartOver();
  snapshot_.generation = generation;
  have_generation_ = true;
  done_ = last;
  return absl::OkStatus();
}

absl::Status ConfigReadScript::StartOver() {
  if (++tries_ > kMaxConfigReads) {
    return absl::AbortedError(
        absl::StrCat("the configuration changed during each of ", kMaxConfigReads, " reads of it"));
  }
  answered_ = 0;
  have_generation_ = false;
  return absl::OkStatus();
}

void ConfigReadScript::Finish(const absl::Status& status) {
  if (!callback_) return;
  if (status.ok()) {
    callback_(std::move(snapshot_));
  } else {
    callback_(status);
  }
}

}  // namespace vof
