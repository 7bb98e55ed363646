// SPDX-License-Identifier: Apache-2.0
//
// Calls of the libraries that count what is posted and what comes back.
//
//   auto calls = std::make_shared<CountingVerbs>(RealVerbsCalls());
//   VerbsBackend backend({}, calls);
//   ...
//   EXPECT_EQ(calls->counts().sends, 2);
//
// Any thread.
#ifndef VOF_BACKENDS_VERBS_TESTING_COUNTING_VERBS_H_
#define VOF_BACKENDS_VERBS_TESTING_COUNTING_VERBS_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "backends/verbs/verbs_calls.h"

namespace vof {

// Of all queue pairs together.
struct VerbsCounts {
  int64_t sends = 0;
  int64_t fetches = 0;      // remote reads
  int64_t stores = 0;       // remote writes
  int64_t doorbells = 0;    // chains of requests that were posted
  int64_t completions = 0;  // of receives, and of what was posted and signalled

  bool operator==(const VerbsCounts&) const = default;
  VerbsCounts operator-(const VerbsCounts& other) const {
    return {sends - other.sends, fetches - other.fetches, stores - other.stores,
            doorbells - other.doorbells, completions - other.completions};
  }
};

class CountingVerbs final : public VerbsCalls {
 public:
  explicit CountingVerbs(std::shared_ptr<VerbsCalls> real) : real_(std::move(real)) {}

  VerbsCounts counts() const {
    return {sends_.load(), fetches_.load(), stores_.load(), doorbells_.load(), completions_.load()};
  }

  int PostSend(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** failed) override {
    ++doorbells_;
    for (const ibv_send_wr* request = first; request != nullptr; request = request->next) {
      switch (request->opcode) {
        case IBV_WR_RDMA_READ:
          ++fetches_;
          break;
        case IBV_WR_RDMA_WRITE:
        case IBV_WR_RDMA_WRITE_WITH_IMM:
          ++stores_;
          break;
        default:
          ++sends_;
          break;
      }
    }
    return real_->PostSend(queue_pair, first, failed);
  }
  int Poll(ibv_cq* queue, int count, ibv_wc* completions) override {
    const int found = real_->Poll(queue, count, completions);
    if (found > 0) completions_ += found;
    return found;
  }

  rdma_event_channel* CreateEventChannel() override { return real_->CreateEventChannel(); }
  void DestroyEventChannel(rdma_event_channel* channel) override {
    real_->DestroyEventChannel(channel);
  }
  int GetEvent(rdma_event_channel* channel, rdma_cm_event** event) override {
    return real_->GetEvent(channel, event);
  }
  int AckEvent(rdma_cm_event* event) override { return real_->AckEvent(event); }
  int CreateId(rdma_event_channel* channel, rdma_cm_id** id) override {
    return real_->CreateId(channel, id);
  }
  int DestroyId(rdma_cm_id* id) override { return real_->DestroyId(id); }
  int MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override {
    return real_->MigrateId(id, channel);
  }
  int SetOption(rdma_cm_id* id, int level, int name, void* value, size_t size_bytes) override {
    return real_->SetOption(id, level, name, value, size_bytes);
  }
  int BindAddress(rdma_cm_id* id, const sockaddr* address) override {
    return real_->BindAddress(id, address);
  }
  int Listen(rdma_cm_id* id, int backlog) override { return real_->Listen(id, backlog); }
  uint16_t SourcePort(rdma_cm_id* id) override { return real_->SourcePort(id); }
  int ResolveAddress(rdma_cm_id* id, const sockaddr* address, int timeout_ms) override {
    return real_->ResolveAddress(id, address, timeout_ms);
  }
  int ResolveRoute(rdma_cm_id* id, int timeout_ms) override {
    return real_->ResolveRoute(id, timeout_ms);
  }
  int Connect(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return real_->Connect(id, parameters);
  }
  int Accept(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return real_->Accept(id, parameters);
  }
  int Reject(rdma_cm_id* id) override { return real_->Reject(id); }
  int Disconnect(rdma_cm_id* id) override { return real_->Disconnect(id); }
  int CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) override {
    return real_->CreateQueuePair(id, domain, attributes);
  }
  void DestroyQueuePair(rdma_cm_id* id) override { real_->DestroyQueuePair(id); }
  int QueryDevice(ibv_context* context, ibv_device_attr* attributes) override {
    return real_->QueryDevice(context, attributes);
  }
  ibv_pd* AllocateDomain(ibv_context* context) override { return real_->AllocateDomain(context); }
  int FreeDomain(ibv_pd* domain) override { return real_->FreeDomain(domain); }
  ibv_mr* RegisterMemory(ibv_pd* domain, void* data, size_t size_bytes, int access) override {
    return real_->RegisterMemory(domain, data, size_bytes, access);
  }
  int DeregisterMemory(ibv_mr* region) override { return real_->DeregisterMemory(region); }
  ibv_comp_channel* CreateCompletionChannel(ibv_context* context) override {
    return real_->CreateCompletionChannel(context);
  }
  int DestroyCompletionChannel(ibv_comp_channel* channel) override {
    return real_->DestroyCompletionChannel(channel);
  }
  ibv_cq* CreateCompletionQueue(ibv_context* context, int entries,
                                ibv_comp_channel* channel) override {
    return real_->CreateCompletionQueue(context, entries, channel);
  }
  int DestroyCompletionQueue(ibv_cq* queue) override {
    return real_->DestroyCompletionQueue(queue);
  }
  int RequestNotification(ibv_cq* queue) override { return real_->RequestNotification(queue); }
  int GetCompletionEvent(ibv_comp_channel* channel) override {
    return real_->GetCompletionEvent(channel);
  }
  void AckCompletionEvents(ibv_cq* queue, unsigned count) override {
    real_->AckCompletionEvents(queue, count);
  }
  int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) override {
    return real_->ModifyQueuePair(queue_pair, attributes, mask);
  }
  int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** failed) override {
    return real_->PostReceive(queue_pair, first, failed);
  }
  ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) override {
    return real_->CreateSharedReceiveQueue(domain, attributes);
  }
  int DestroySharedReceiveQueue(ibv_srq* queue) override {
    return real_->DestroySharedReceiveQueue(queue);
  }
  int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** failed) override {
    return real_->PostSharedReceive(queue, first, failed);
  }

 private:
  const std::shared_ptr<VerbsCalls> real_;
  std::atomic<int64_t> sends_{0}, fetches_{0}, stores_{0}, doorbells_{0}, completions_{0};
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_TESTING_COUNTING_VERBS_H_
