// SPDX-License-Identifier: Apache-2.0
//
// Device types by name: how a program makes the devices that its configuration asks for.
//
//   DeviceFactoryRegistry registry;
//   registry.Add(std::make_unique<CounterFactory>());       // from main(), or by a plugin
//   (device_plugin.h) const DeviceFactory* factory = *registry.Find("counter"); DeviceOptionList
//   options = {{"step", "2"}}; if (auto problem = CheckDeviceOptions(*factory, options)) ...  //
//   opens nothing absl::StatusOr<std::shared_ptr<Device>> device = factory->Make("counter-0",
//   options);
//
// A program that links its device in needs none of this: it hands the device to the target. Control
// threads only; a registry is filled before it is shared.
#ifndef VOF_CORE_DEVICE_DEVICE_FACTORY_H_
#define VOF_CORE_DEVICE_DEVICE_FACTORY_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/device/device.h"

namespace vof {

struct DeviceOption {
  std::string key;
  std::string value;
};
using DeviceOptionList = std::vector<DeviceOption>;

// What is wrong, and with which option; `key` is empty when it is no single one's fault.
struct DeviceOptionProblem {
  std::string key;
  std::string message;
};

// One option that a type understands, for messages and help.
struct DeviceOptionHelp {
  std::string key;
  std::string help;  // what it does, with its default: "bytes, as 1G or 64M"
};

class DeviceFactory {
 public:
  virtual ~DeviceFactory() = default;

  virtual std::string_view type() const = 0;  // "blk"
  virtual std::vector<DeviceOptionHelp> options() const = 0;
  // Whether the values can be used, without opening or creating anything. Keys are known and occur
  // once (CheckDeviceOptions has seen to that).
  virtual std::optional<DeviceOptionProblem> Check(const DeviceOptionList& options) const = 0;
  // Makes the device; opens files, takes memory. `options` passed Check. Errors say what to do.
  virtual absl::StatusOr<std::shared_ptr<Device>> Make(std::string_view name,
                                                       const DeviceOptionList& options) const = 0;
  // `options`, and for those that are missing what Make would take, in the order of options(). What
  // has no default that can be written down stays missing.
  virtual DeviceOptionList WithDefaults(std::string_view name,
                                        const DeviceOptionList& options) const {
    (void)name;
    return options;
  }
};

class DeviceFactoryRegistry {
 public:
  // kAlreadyExists when the type is taken.
  absl::Status Add(std::unique_ptr<DeviceFactory> factory);
  // kNotFound with the list of known types.
  absl::StatusOr<const DeviceFactory*> Find(std::string_view type) const;
  std::vector<std::string> Types() const;

 private:
  std::map<std::string, std::unique_ptr<DeviceFactory>, std::less<>> factories_;
};

// Unknown keys (the message lists the known ones), keys given twice, then factory.Check().
std::optional<DeviceOptionProblem> CheckDeviceOptions(const DeviceFactory& factory,
                                                      const DeviceOptionList& options);

}  // namespace vof

#endif  // VOF_CORE_DEVICE_DEVICE_FACTORY_H_
