// SPDX-License-Identifier: Apache-2.0
//
// The instances of a target, found by what control connections ask for: by id, by the session they
// belong to, by the device they use. No question costs more with more sessions of others.
//
//   TargetSessions sessions;
//   sessions.Add(instance);
//   if (TargetInstance* older = sessions.Find(KeyOf(device, body))) older->Close();
//   const bool free = sessions.UsersOf(device) == nullptr;
//
// Knows no rules: who may connect is the directory's business, under whose mutex all this is.
#ifndef VOF_CORE_ENGINE_TARGET_SESSIONS_H_
#define VOF_CORE_ENGINE_TARGET_SESSIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/engine/target_instance.h"
#include "core/wire/command.h"

namespace vof {

// Two control connections with equal keys are lives of one session: the later one fences the
// earlier one.
struct SessionKey {
  const Device* device = nullptr;  // a name may have got another device meanwhile
  std::string initiator_name, target_name;
  SessionToken token{};

  bool operator==(const SessionKey& other) const {
    return device == other.device && EqualTokens(token, other.token) &&
           initiator_name == other.initiator_name && target_name == other.target_name;
  }
  template <typename H>
  friend H AbslHashValue(H hash, const SessionKey& key) {
    return H::combine(std::move(hash), key.device, key.initiator_name, key.target_name, key.token);
  }
};

// Without a token a session has no later lives, and no key.
std::optional<SessionKey> KeyOf(const Device* device, const ConnectBody& body);

class TargetSessions {
 public:
  using ById = std::map<uint16_t, std::shared_ptr<TargetInstance>>;
  using Users = std::set<TargetInstance*>;

  // `instance` has an id of its own, and no other one of its session is here.
  void Add(std::shared_ptr<TargetInstance> instance);
  void Remove(TargetInstance* instance);

  const ById& all() const { return by_id_; }
  size_t size() const { return by_id_.size(); }
  bool HasId(uint16_t id) const { return by_id_.count(id) > 0; }
  // Null: there is none.
  std::shared_ptr<TargetInstance> FindId(uint16_t id) const;
  TargetInstance* Find(const SessionKey& key) const;
  // Null: nobody uses it.
  const Users* UsersOf(const Device* device) const;

 private:
  ById by_id_;
  absl::flat_hash_map<SessionKey, TargetInstance*> by_session_;
  std::map<const Device*, Users> by_device_;  // without empty sets
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_SESSIONS_H_
