// SPDX-License-Identifier: Apache-2.0
//
// An RDMA device, its connection manager and its network in memory: for tests on a machine without
// one. Data moves, keys are checked, messages wait for receives, and any call can be made to fail.
//
//   auto fake = std::make_shared<FakeVerbs>();
//   fake->FailCall("CreateCompletionQueue", /*nth=*/0, ENOMEM);
//   VerbsBackend backend({}, fake);                    // backend.Dial(...) says what failed
//   EXPECT_EQ(fake->LiveObjects(), "");                // nothing leaked
//   EXPECT_EQ(fake->Misuse(), "");                     // nothing was destroyed in the wrong order
//
// Every address reaches the one device, except those given to Silence. Any thread.
#ifndef VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_H_
#define VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/verbs/verbs_calls.h"

namespace vof {

class FakeVerbs final : public VerbsCalls {
 public:
  FakeVerbs();
  ~FakeVerbs() override;

  // --- For tests ---
  // What the device says it can do; before its first use.
  ibv_device_attr& device() { return attributes_; }
  uint32_t max_inline_bytes = 256;
  // The n-th call of that name (a method below), counted from now on, fails with `error`.
  void FailCall(const std::string& name, int nth, int error);
  int NumCalls(const std::string& name) const;
  // Nobody answers at that address (without port).
  void Silence(const std::string& address);
  // The next work request that takes effect fails with that status.
  void FailNextWorkRequest(ibv_wc_status status);
  // The listening side is not told that its next connection stands.
  void LoseNextEstablished();
  void RemoveDevice();
  // What the last connection was asked for, and accepted with.
  rdma_conn_param last_connect() const;
  rdma_conn_param last_accept() const;
  // In words, empty when there is none.
  std::string LiveObjects() const;
  std::string Misuse() const;
  uint64_t doorbells() const;
  uint64_t completions() const;  // that the device reported

  // --- VerbsCalls ---
  rdma_event_channel* CreateEventChannel() override;
  void DestroyEventChannel(rdma_event_channel* channel) override;
  int GetEvent(rdma_event_channel* channel, rdma_cm_event** event) override;
  int AckEvent(rdma_cm_event* event) override;
  int CreateId(rdma_event_channel* channel, rdma_cm_id** id) override;
  int DestroyId(rdma_cm_id* id) override;
  int MigrateId(rdma_cm_id* id, rdma_event_channel* channel) override;
  int SetOption(rdma_cm_id* id, int level, int name, void* value, size_t size_bytes) override;
  int BindAddress(rdma_cm_id* id, const sockaddr* address) override;
  int Listen(rdma_cm_id* id, int backlog) override;
  uint16_t SourcePort(rdma_cm_id* id) override;
  int ResolveAddress(rdma_cm_id* id, const sockaddr* address, int timeout_ms) override;
  int ResolveRoute(rdma_cm_id* id, int timeout_ms) override;
  int Connect(rdma_cm_id* id, rdma_conn_param* parameters) override;
  int Accept(rdma_cm_id* id, rdma_conn_param* parameters) override;
  int Reject(rdma_cm_id* id) override;
  int Disconnect(rdma_cm_id* id) override;
  int CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) override;
  void DestroyQueuePair(rdma_cm_id* id) override;
  int QueryDevice(ibv_context* context, ibv_device_attr* attributes) override;
  ibv_pd* AllocateDomain(ibv_context* context) override;
  int FreeDomain(ibv_pd* domain) override;
  ibv_mr* RegisterMemory(ibv_pd* domain, void* data, size_t size_bytes, int access) override;
  int DeregisterMemory(ibv_mr* region) override;
  ibv_comp_channel* CreateCompletionChannel(ibv_context* context) override;
  int DestroyCompletionChannel(ibv_comp_channel* channel) override;
  ibv_cq* CreateCompletionQueue(ibv_context* context, int entries,
                                ibv_comp_channel* channel) override;
  int DestroyCompletionQueue(ibv_cq* queue) override;
  int RequestNotification(ibv_cq* queue) override;
  int GetCompletionEvent(ibv_comp_channel* channel) override;
  void AckCompletionEvents(ibv_cq* queue, unsigned count) override;
  int Poll(ibv_cq* queue, int count, ibv_wc* completions) override;
  int ModifyQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) override;
  int PostSend(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** failed) override;
  int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** failed) override;
  ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes) override;
  int DestroySharedReceiveQueue(ibv_srq* queue) override;
  int PostSharedReceive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** failed) override;

 private:
  struct EventChannel;
  struct Id;
  struct CompletionQueue;
  struct QueuePair;
  struct SharedReceives;
  struct Receive {
    uint64_t work_request = 0;
    ibv_sge segment = {};
  };
  struct Send;

  // All with the mutex held.
  int Enter(const char* name);  // 0, or the error that the call has to return
  void Blame(const std::string& what) { misuse_.push_back(what); }
  void Emit(Id* id, rdma_cm_event_type type, int status, const rdma_conn_param* parameters,
            Id* listener);
  void EndConnection(Id* id);
  void DropEvents(Id* id);
  static void WriteDescriptor(int fd);
  static bool ReadDescriptor(int fd);
  void BreakQueuePair(QueuePair* pair);
  void Progress(QueuePair* pair);
  void ProgressAll();
  // IBV_WC_SUCCESS, an error, or -1: waits for a receive.
  int Execute(QueuePair* pair, const Send& send);
  int DeliverMessage(QueuePair* peer, const Send& send, const std::vector<std::byte>& bytes);
  bool CheckLocal(const std::vector<ibv_sge>& segments) const;
  bool CheckRemote(uint32_t key, uint64_t address, uint64_t size_bytes, int access) const;
  void Report(CompletionQueue* queue, const ibv_wc& completion);

  mutable std::mutex mutex_;
  ibv_device device_ = {};
  ibv_context context_ = {};
  ibv_device_attr attributes_ = {};
  std::map<std::string, std::map<int, int>> failures_;  // name -> nth call -> error
  std::map<std::string, int> calls_;
  std::set<std::string> silent_;
  std::vector<std::string> misuse_;
  int next_status_ = IBV_WC_SUCCESS;
  bool lose_established_ = false;
  int events_out_ = 0;
  rdma_conn_param last_connect_ = {};
  rdma_conn_param last_accept_ = {};
  uint64_t doorbells_ = 0;
  uint64_t completions_ = 0;
  uint16_t next_port_ = 40000;
  uint32_t next_key_ = 0x1000;

  std::set<EventChannel*> channels_;
  std::set<Id*> ids_;
  std::set<ibv_pd*> domains_;
  std::map<uint32_t, ibv_mr*> regions_;
  std::map<uint32_t, int> access_;
  std::set<ibv_comp_channel*> notifications_;
  std::set<CompletionQueue*> queues_;
  std::set<QueuePair*> pairs_;
  std::set<SharedReceives*> shared_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_VERBS_TESTING_FAKE_VERBS_H_
