// SPDX-License-Identifier: Apache-2.0
//
// The objects of FakeVerbs: those of the libraries with what a device would know. Inside this
// folder only.
//
//   auto* pair = static_cast<FakeVerbs::QueuePair*>(queue_pair);
#ifndef VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_TYPES_H_
#define VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "backends/verbs/testing/fake_verbs.h"

namespace vof {

struct FakeVerbs::EventChannel : rdma_event_channel {
  std::deque<rdma_cm_event*> events;
};

struct FakeVerbs::Id : rdma_cm_id {
  uint16_t port = 0;  // bound to it
  bool listening = false;
  bool connected = false;
  Id* peer = nullptr;      // once connecting
  Id* listener = nullptr;  // of a connection request that was not answered
  int events_out = 0;
};

struct FakeVerbs::CompletionQueue : ibv_cq {
  std::deque<ibv_wc> completions;
  size_t entries = 0;
  bool armed = false;
  unsigned events_out = 0;  // fetched and not acknowledged
};

struct FakeVerbs::SharedReceives : ibv_srq {
  std::deque<Receive> receives;
};

struct FakeVerbs::Send {
  ibv_send_wr work_request = {};
  std::vector<ibv_sge> segments;
  std::vector<std::byte> copied;  // IBV_SEND_INLINE
};

struct FakeVerbs::QueuePair : ibv_qp {
  Id* owner = nullptr;
  CompletionQueue* queue = nullptr;
  SharedReceives* shared = nullptr;
  std::deque<Send> sends;
  std::deque<Receive> receives;
  uint32_t max_sends = 0;
  uint32_t max_receives = 0;
  uint32_t max_inline_bytes = 0;
  bool broken = false;

  std::deque<Receive>& available() { return shared != nullptr ? shared->receives : receives; }
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_TYPES_H_
