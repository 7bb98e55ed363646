// SPDX-License-Identifier: Apache-2.0
//
// Executes control commands: neutral command in, neutral completion out, for both dialects.
//
//   ControlServer control({.directory = &directory, .instance = instance, .self = link, ...});
//   Completion completion;
//   if (control.Execute(command, &completion)) Send(command.kind, completion);
//   // else the answer comes later, through link->queue->OnControlReply()
//   for (const ControlReply& reply : control.OnConfigChanged()) Send(reply.kind, reply.completion);
//
// Knows no wire and no stream. Connect, Disconnect and virtqueue commands are the stream's. One
// thread: that of its queue. Source: docs/protocol.md, both command tables and "Decisions where the
// draft is open".
#ifndef VOF_CORE_ENGINE_TARGET_CONTROL_H_
#define VOF_CORE_ENGINE_TARGET_CONTROL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/time.h"
#include "core/engine/queue_link.h"
#include "core/engine/target_directory.h"
#include "core/engine/target_instance.h"
#include "core/wire/command.h"

namespace vof {

struct ControlReply {
  CommandKind kind = CommandKind::kUnknown;
  Completion completion;
};

class ControlServer {
 public:
  struct Config {
    TargetDirectory* directory = nullptr;
    std::shared_ptr<TargetInstance> instance;
    std::shared_ptr<QueueLink> self;
    bool is_control_queue = true;
  };
  explicit ControlServer(Config config);

  // True: `completion` is the answer. False: it comes later, by OnControlReply on `self`.
  bool Execute(const Command& command, Completion* completion);
  // A later answer was sent.
  void OnLaterAnswered(uint16_t command_id);
  // Commands without an answer yet. In `v5` an id among them must not be used again.
  size_t num_pending() const { return pending_ids_.size() + waiting_for_change_.size(); }
  bool IsPending(uint16_t command_id) const;
  // Commands that keep the next one waiting where order matters (`ref`).
  bool has_blocking() const { return !pending_ids_.empty(); }

  // What a configuration change sets off: the event of `v5`, or answers to get_config_changed in
  // `ref`.
  std::vector<ControlReply> OnConfigChanged();

  // How long the initiator may be silent; kInfiniteFuture until it stated an interval.
  Nanoseconds silence_limit() const { return silence_limit_; }

 private:
  bool Answer(Cause cause, Completion* completion) {
    completion->cause = cause;
    return true;
  }
  bool AnswerValue(uint64_t value, Completion* completion) {
    completion->value = value;
    return true;
  }
  bool Keepalive(const Command& command, Completion* completion);
  bool GetFeature(const Command& command, Completion* completion);
  bool SetFeature(const Command& command, Completion* completion);
  bool SetInlineSizes(uint64_t sizes, Completion* completion);
  bool SetStatus(const Command& command, Completion* completion);
  bool Reset(const Command& command);
  bool SetDriverFeature(const Command& command, Completion* completion);
  bool GetVqSize(const Command& command, Completion* completion);
  bool GetConfig(const Command& command, Completion* completion);
  bool SetConfig(const Command& command, Completion* completion);
  bool GetNumQueues(Completion* completion);
  bool GetConfigChanged(const Command& command, Completion* completion);

  // Whether the status may become `status`; in `ref` it is corrected instead where virtio allows
  // it.
  Cause CheckStatus(const InstanceState& now, uint32_t* status) const;
  bool IsKeyed() const { return config_.instance->identity().transmission == Transmission::kKeyed; }
  uint64_t OfferedTransportFeatures() const;
  uint32_t ConfigGeneration() const;
  void Subscribe();
  // For commands that are answered later: what to run when the answer is due.
  TargetInstance::Done Later(CommandKind kind, uint16_t command_id);

  const Config config_;
  const bool is_v5_;
  std::vector<uint16_t> pending_ids_;
  std::vector<uint16_t> waiting_for_change_;  // `ref` get_config_changed
  Nanoseconds silence_limit_ = kInfiniteFuture;
  bool event_outstanding_ = false;
  bool change_unreported_ = false;  // `ref`: a change that no get_config_changed told yet
  uint32_t last_told_generation_ = 0;
  std::shared_ptr<void> subscription_;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_CONTROL_H_
