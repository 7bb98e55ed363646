// SPDX-License-Identifier: Apache-2.0
//
// Every call of librdmacm and libibverbs that this backend makes, so that tests can let each of
// them fail on a machine without an RDMA device (backends/verbs/testing/fake_verbs.h).
//
//   std::shared_ptr<VerbsCalls> calls = RealVerbsCalls();
//   rdma_event_channel* channel = calls->CreateEventChannel();      // null: errno says why
//   if (const int error = calls->Listen(id, backlog); error != 0) ...
//
// Arguments and threads are those of the library's call of the same name. The results are made
// alike: an int is 0 or a positive errno, a null pointer comes with errno.
#ifndef VOF_BACKENDS_VERBS_VERBS_CALLS_H_
#define VOF_BACKENDS_VERBS_VERBS_CALLS_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace vof {

class VerbsCalls {
 public:
  virtual ~VerbsCalls() = default;

  // --- Connections (librdmacm) ---
  virtual rdma_event_channel* CreateEventChannel() = 0;
  virtual void DestroyEventChannel(rdma_event_channel* channel) = 0;
  virtual int GetEvent(rdma_event_channel* channel, rdma_cm_event** event) = 0;
  virtual int AckEvent(rdma_cm_event* event) = 0;
  virtual int CreateId(rdma_event_channel* channel, rdma_cm_id** id) = 0;  // RC, port space TCP
  virtual int DestroyId(rdma_cm_id* id) = 0;
  virtual int MigrateId(rdma_cm_id* id, rdma_event_channel* channel) = 0;
  virtual int SetOption(rdma_cm_id* id, int level, int name, void* value, size_t size_bytes) = 0;
  virtual int BindAddress(rdma_cm_id* id, const sockaddr* address) = 0;
  virtual int Listen(rdma_cm_id* id, int backlog) = 0;
  virtual uint16_t SourcePort(rdma_cm_id* id) = 0;  // in host order
  virtual int ResolveAddress(rdma_cm_id* id, const sockaddr* address, int timeout_ms) = 0;
  virtual int ResolveRoute(rdma_cm_id* id, int timeout_ms) = 0;
  virtual int Connect(rdma_cm_id* id, rdma_conn_param* parameters) = 0;
  virtual int Accept(rdma_cm_id* id, rdma_conn_param* parameters) = 0;
  virtual int Reject(rdma_cm_id* id) = 0;
  virtual int Disconnect(rdma_cm_id* id) = 0;
  virtual int CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) = 0;
  virtual void DestroyQueuePair(rdma_cm_id* id) = 0;

  // --- Devices and memory (libibverbs) ---
  virtual int QueryDevice(ibv_context* context, ibv_device_attr* attributes) = 0;
  virtual ibv_pd* AllocateDomain(ibv_context* context) = 0;
  virtual int FreeDomain(ibv_pd* domain) = 0;
  virtual ibv_mr* RegisterMemory(ibv_pd* domain, void* data, size_t size_bytes, int access) = 0;
  virtual int DeregisterMemory(ibv_mr* region) = 0;

  // --- Queues (libibverbs) ---
  virtual ibv_comp_channel* CreateCompletionChannel(ibv_context* context) = 0;
  virtual int DestroyCompletionChannel(ibv_comp_channel* channel) = 0;
  virtual ibv_cq* CreateCompletionQueue(ibv_context* context, int entries,
                                        ibv_comp_channel* channel) = 0;
  virtual int DestroyCompletionQueue(ibv_cq* queue) = 0;
  virtual int RequestNotification(ibv_cq* queue) = 0;
  virtual int GetCompletionEvent(ibv_comp_channel* channel) = 0;
  virtual void AckCompletionEvents(ibv_cq* queue, unsigned count) = 0;
  virtual int Poll(ibv_cq* queue, int count, ibv_wc* completions) = 0;  // negative: broken
  virtual int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) = 0;
  virtual int PostSend(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** failed) = 0;
  virtual int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** failed) = 0;
  virtual ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) = 0;
  virtual int DestroySharedReceiveQueue(ibv_srq* queue) = 0;
  virtual int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** failed) = 0;
};

// The libraries themselves.
std::shared_ptr<VerbsCalls> RealVerbsCalls();

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_VERBS_CALLS_H_
