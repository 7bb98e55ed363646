// SPDX-License-Identifier: Apache-2.0
//
// The listeners behind Device::SubscribeConfig, for device models to own one of.
//
//   std::shared_ptr<void> SubscribeConfig(ConfigListener f) override { return
//   listeners_.Add(std::move(f)); }
//   ...
//   ChangeCapacity();        // with the device's own lock released:
//   listeners_.Notify();     // each listener once
//
// Thread-safe. A listener may drop its own token from inside its call; any other thread that drops
// it waits until the call has returned. Tokens may outlive the ConfigListeners.
#ifndef VOF_CORE_DEVICE_CONFIG_LISTENERS_H_
#define VOF_CORE_DEVICE_CONFIG_LISTENERS_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace vof {

class ConfigListeners {
 public:
  std::shared_ptr<void> Add(std::function<void()> changed) {
    auto entry = std::make_shared<Entry>();
    entry->changed = std::move(changed);
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const std::weak_ptr<Entry>& e) { return e.expired(); });
    entries_.push_back(entry);
    // A token apart from the entry: Notify holds entries alive without delaying anybody's
    // unsubscription.
    return std::shared_ptr<void>(entry.get(), [entry](void*) { entry->Stop(); });
  }

  void Notify() {
    std::vector<std::shared_ptr<Entry>> live;
    {
      const std::lock_guard lock(mutex_);
      for (const std::weak_ptr<Entry>& e : entries_) {
        if (std::shared_ptr<Entry> entry = e.lock()) live.push_back(std::move(entry));
      }
    }
    for (const std::shared_ptr<Entry>& entry : live) entry->Call();
  }

 private:
  struct Entry {
    void Call() {
      const std::lock_guard lock(mutex);
      if (!stopped) changed();
    }
    void Stop() {
      const std::lock_guard lock(mutex);
      stopped = true;
    }

    std::recursive_mutex
        mutex;  // held during the call; recursive so that a listener may unsubscribe itself
    std::function<void()> changed;
    bool stopped = false;
  };

  std::mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_;
};

}  // namespace vof

#endif  // VOF_CORE_DEVICE_CONFIG_LISTENERS_H_
