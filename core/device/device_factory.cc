// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_factory.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace vof {

absl::Status DeviceFactoryRegistry::Add(std::unique_ptr<DeviceFactory> factory) {
  std::string type(factory->type());
  const auto [position, added] = factories_.try_emplace(type, std::move(factory));
  if (added) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("device type \"", position->first, "\" is registered twice"));
}

absl::StatusOr<const DeviceFactory*> DeviceFactoryRegistry::Find(std::string_view type) const {
  const auto found = factories_.find(type);
  if (found != factories_.end()) return found->second.get();
  return absl::NotFoundError(absl::StrCat("unknown device type \"", std::string(type),
                                          "\"; known: ", absl::StrJoin(Types(), ", ")));
}

std::vector<std::string> DeviceFactoryRegistry::Types() const {
  std::vector<std::string> types;
  for (const auto& [type, factory] : factories_) types.push_back(type);
  return types;
}

std::optional<DeviceOptionProblem> CheckDeviceOptions(const DeviceFactory& factory,
                                                      const DeviceOptionList& options) {
  std::map<std::string_view, bool> seen;
  const std::vector<DeviceOptionHelp> known = factory.options();
  for (const DeviceOptionHelp& option : known) seen[option.key] = false;
  for (const DeviceOption& option : options) {
    const auto found = seen.find(option.key);
    if (found == seen.end()) {
      return DeviceOptionProblem{
          option.key,
          absl::StrCat(
              "device type \"", std::string(factory.type()), "\" has no option \"", option.key,
              "\"; known: ",
              absl::StrJoin(known, ", ", [](std::string* out, const DeviceOptionHelp& help) {
                out->append(help.key);
              }))};
    }
    if (found->second) {
      return DeviceOptionProblem{option.key, absl::StrCat("\"", option.key, "\" is given twice")};
    }
    found->second = true;
  }
  return factory.Check(options);
}

}  // namespace vof
