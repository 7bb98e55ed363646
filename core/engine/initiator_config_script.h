// SPDX-License-Identifier: Apache-2.0
//
// Reading a device's configuration space.
//
//   auto script = std::make_unique<ConfigReadScript>(
//       Dialect::kV5, std::vector<ConfigField>{{.offset = 0, .bytes = 8}, {.offset = 20, .bytes =
//       4}},
//       [](absl::StatusOr<ConfigSnapshot> snapshot) { Use(snapshot->values[0]); });
//
// All values of one read show one generation, or the read starts over. See initiator_script.h.
#ifndef VOF_CORE_ENGINE_INITIATOR_CONFIG_SCRIPT_H_
#define VOF_CORE_ENGINE_INITIATOR_CONFIG_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/initiator_script.h"
#include "core/wire/command.h"

namespace vof {

struct ConfigField {
  uint16_t offset = 0;
  uint8_t bytes = 0;  // 1, 2, 4 or 8
};

// "a read of 4 bytes at offset 8 of the configuration space"
std::string DescribeConfigAccess(std::string_view access, const ConfigField& field);

// What a field of `bytes` holds of `value`.
uint64_t LowBytes(uint64_t value, uint8_t bytes);

struct ConfigSnapshot {
  uint32_t generation = 0;
  std::vector<uint64_t> values;  // one for each field asked for
};

// How often a read starts over before it gives up.
inline constexpr int kMaxConfigReads = 8;

class ConfigReadScript final : public InitiatorScript {
 public:
  using Callback = std::function<void(absl::StatusOr<ConfigSnapshot>)>;
  ConfigReadScript(Dialect dialect, std::vector<ConfigField> fields, Callback done)
      : dialect_(dialect), fields_(std::move(fields)), callback_(std::move(done)) {
    snapshot_.values.resize(fields_.size());
    done_ = fields_.empty();
  }

  bool Next(Command* command) override;
  absl::Status OnAnswer(const Command& command, const Completion& completion) override;
  bool done() const override { return done_; }
  void Finish(const absl::Status& status) override;

 private:
  // `ref` asks for the generation before the first field and after the last; in `v5` each answer
  // has it.
  bool asks_generation() const { return dialect_ == Dialect::kRef; }
  absl::Status OnGeneration(uint32_t generation, bool last);
  absl::Status StartOver();

  const Dialect dialect_;
  const std::vector<ConfigField> fields_;
  const Callback callback_;
  ConfigSnapshot snapshot_;
  size_t answered_ = 0;  // fields of this try
  bool have_generation_ = false;
  bool done_ = false;
  int tries_ = 1;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_CONFIG_SCRIPT_H_
