// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target_sessions.h"

#include <utility>

namespace vof {

std::optional<SessionKey> KeyOf(const Device* device, const ConnectBody& body) {
  if (!body.has_token()) return std::nullopt;
  return SessionKey{device, body.initiator_name, body.target_name, body.token};
}

void TargetSessions::Add(std::shared_ptr<TargetInstance> instance) {
  const InstanceIdentity& identity = instance->identity();
  if (auto key = KeyOf(identity.device.get(), identity.body)) {
    by_session_[*std::move(key)] = instance.get();
  }
  by_device_[identity.device.get()].insert(instance.get());
  by_id_[identity.id] = std::move(instance);
}

void TargetSessions::Remove(TargetInstance* instance) {
  const InstanceIdentity& identity = instance->identity();
  if (const auto key = KeyOf(identity.device.get(), identity.body)) by_session_.erase(*key);
  const auto users = by_device_.find(identity.device.get());
  users->second.erase(instance);
  if (users->second.empty()) by_device_.erase(users);
  by_id_.erase(identity.id);  // the last: it may hold the last reference
}

std::shared_ptr<TargetInstance> TargetSessions::FindId(uint16_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

TargetInstance* TargetSessions::Find(const SessionKey& key) const {
  const auto it = by_session_.find(key);
  return it == by_session_.end() ? nullptr : it->second;
}

const TargetSessions::Users* TargetSessions::UsersOf(const Device* device) const {
  const auto it = by_device_.find(device);
  return it == by_device_.end() ? nullptr : &it->second;
}

}  // namespace vof
