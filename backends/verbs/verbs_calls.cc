// SPDX-License-Identifier: Apache-2.0
#include "backends/verbs/verbs_calls.h"

#include <arpa/inet.h>

#include <cerrno>
#include <memory>

namespace vof {
namespace {

// Of a call that returns -1 and sets errno.
int Result(int returned) { return returned == 0 ? 0 : errno; }

class LibraryCalls final : public VerbsCalls {
 public:
  rdma_event_channel* CreateEventChannel() override { return rdma_create_event_channel(); }
  void DestroyEventChannel(rdma_event_channel* channel) override {
    rdma_destroy_event_channel(channel);
  }
  int GetEvent(rdma_event_channel* channel, rdma_cm_event** event) override {
    return Result(rdma_get_cm_event(channel, event));
  }
  int AckEvent(rdma_cm_event* event) override { return Result(rdma_ack_cm_event(event)); }
  int CreateId(rdma_event_channel* channel, rdma_cm_id** id) override {
    return Result(rdma_create_id(channel, id, nullptr, RDMA_PS_TCP));
  }
  int DestroyId(rdma_cm_id* id) override { return Result(rdma_destroy_id(id)); }
  int MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override {
    return Result(rdma_migrate_id(id, channel));
  }
  int SetOption(rdma_cm_id* id, int level, int name, void* value, size_t size_bytes) override {
    return Result(rdma_set_option(id, level, name, value, size_bytes));
  }
  // The library takes addresses as writable and does not write.
  int BindAddress(rdma_cm_id* id, const sockaddr* address) override {
    return Result(rdma_bind_addr(id, const_cast<sockaddr*>(address)));
  }
  int Listen(rdma_cm_id* id, int backlog) override { return Result(rdma_listen(id, backlog)); }
  uint16_t SourcePort(rdma_cm_id* id) override { return ntohs(rdma_get_src_port(id)); }
  int ResolveAddress(rdma_cm_id* id, const sockaddr* address, int timeout_ms) override {
    return Result(rdma_resolve_addr(id, nullptr, const_cast<sockaddr*>(address), timeout_ms));
  }
  int ResolveRoute(rdma_cm_id* id, int timeout_ms) override {
    return Result(rdma_resolve_route(id, timeout_ms));
  }
  int Connect(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return Result(rdma_connect(id, parameters));
  }
  int Accept(rdma_cm_id* id, rdma_conn_param* parameters) override {
    return Result(rdma_accept(id, parameters));
  }
  int Reject(rdma_cm_id* id) override { return Result(rdma_reject(id, nullptr, 0)); }
  int Disconnect(rdma_cm_id* id) override { return Result(rdma_disconnect(id)); }
  int CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) override {
    return Result(rdma_create_qp(id, domain, attributes));
  }
  void DestroyQueuePair(rdma_cm_id* id) override { rdma_destroy_qp(id); }

  int QueryDevice(ibv_context* context, ibv_device_attr* attributes) override {
    return ibv_query_device(context, attributes);
  }
  ibv_pd* AllocateDomain(ibv_context* context) override { return ibv_alloc_pd(context); }
  int FreeDomain(ibv_pd* domain) override { return ibv_dealloc_pd(domain); }
  ibv_mr* RegisterMemory(ibv_pd* domain, void* data, size_t size_bytes, int access) override {
    return ibv_reg_mr(domain, data, size_bytes, access);
  }
  int DeregisterMemory(ibv_mr* region) override { return ibv_dereg_mr(region); }

  ibv_comp_channel* CreateCompletionChannel(ibv_context* context) override {
    return ibv_create_comp_channel(context);
  }
  int DestroyCompletionChannel(ibv_comp_channel* channel) override {
    return ibv_destroy_comp_channel(channel);
  }
  ibv_cq* CreateCompletionQueue(ibv_context* context, int entries,
                                ibv_comp_channel* channel) override {
    return ibv_create_cq(context, entries, nullptr, channel, 0);
  }
  int DestroyCompletionQueue(ibv_cq* queue) override { return ibv_destroy_cq(queue); }
  int RequestNotification(ibv_cq* queue) override { return ibv_req_notify_cq(queue, 0); }
  int GetCompletionEvent(ibv_comp_channel* channel) override {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    return Result(ibv_get_cq_event(channel, &queue, &context));
  }
  void AckCompletionEvents(ibv_cq* queue, unsigned count) override {
    ibv_ack_cq_events(queue, count);
  }
  int Poll(ibv_cq* queue, int count, ibv_wc* completions) override {
    return ibv_poll_cq(queue, count, completions);
  }
  int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) override {
    return ibv_modify_qp(queue_pair, attributes, mask);
  }
  int PostSend(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** failed) override {
    return ibv_post_send(queue_pair, first, failed);
  }
  int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** failed) override {
    return ibv_post_recv(queue_pair, first, failed);
  }
  ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) override {
    return ibv_create_srq(domain, attributes);
  }
  int DestroySharedReceiveQueue(ibv_srq* queue) override { return ibv_destroy_srq(queue); }
  int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** failed) override {
    return ibv_post_srq_recv(queue, first, failed);
  }
};

}  // namespace

std::shared_ptr<VerbsCalls> RealVerbsCalls() { return std::make_shared<LibraryCalls>(); }

}  // namespace vof
