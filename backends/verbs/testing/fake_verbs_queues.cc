// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/verbs/testing/fake_verbs.h"
#include "backends/verbs/testing/fake_verbs_types.h"

namespace vof {
namespace {

constexpr int kWaits = -1;

std::byte* At(uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
}

std::vector<std::byte> Gather(const std::vector<ibv_sge>& segments) {
  std::vector<std::byte> bytes;
  for (const ibv_sge& s : segments) bytes.insert(bytes.end(), At(s.addr), At(s.addr) + s.length);
  return bytes;
}

ibv_wc_opcode CompletionOf(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
      return IBV_WC_SEND;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    default:
      return IBV_WC_RDMA_WRITE;
  }
}

}  // namespace

ibv_comp_channel* FakeVerbs::CreateCompletionChannel(ibv_context* context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("CreateCompletionChannel")) != 0) return nullptr;
  auto* channel = new ibv_comp_channel{};
  channel->context = context;
  channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  notifications_.insert(channel);
  return channel;
}

int FakeVerbs::DestroyCompletionChannel(ibv_comp_channel* channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const CompletionQueue* queue : queues_) {
    if (queue->channel == channel) Blame("a completion channel ended before a queue of it");
  }
  close(channel->fd);
  notifications_.erase(channel);
  delete channel;
  return 0;
}

ibv_cq* FakeVerbs::CreateCompletionQueue(ibv_context* context, int entries,
                                         ibv_comp_channel* channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("CreateCompletionQueue")) != 0) return nullptr;
  auto* queue = new CompletionQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->entries = static_cast<size_t>(entries);
  queues_.insert(queue);
  return queue;
}

int FakeVerbs::DestroyCompletionQueue(ibv_cq* queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto* mine = static_cast<CompletionQueue*>(queue);
  if (mine->events_out > 0) Blame("a completion queue ended with events out: that blocks");
  for (const QueuePair* pair : pairs_) {
    if (pair->queue == mine) Blame("a completion queue ended before a queue pair of it");
  }
  queues_.erase(mine);
  delete mine;
  return 0;
}

int FakeVerbs::RequestNotification(ibv_cq* queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("RequestNotification"); error != 0) return error;
  static_cast<CompletionQueue*>(queue)->armed = true;
  return 0;
}

int FakeVerbs::GetCompletionEvent(ibv_comp_channel* channel) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("GetCompletionEvent"); error != 0) return error;
  if (!ReadDescriptor(channel->fd)) return EAGAIN;
  for (CompletionQueue* queue : queues_) {
    if (queue->channel == channel) ++queue->events_out;
  }
  return 0;
}

void FakeVerbs::AckCompletionEvents(ibv_cq* queue, unsigned count) {
  std::lock_guard<std::mutex> lock(mutex_);
  static_cast<CompletionQueue*>(queue)->events_out -= count;
}

int FakeVerbs::Poll(ibv_cq* queue, int count, ibv_wc* completions) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("Poll"); error != 0) return -error;
  auto& waiting = static_cast<CompletionQueue*>(queue)->completions;
  const auto number = std::min(static_cast<size_t>(count), waiting.size());
  std::copy_n(waiting.begin(), number, completions);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(number));
  return static_cast<int>(number);
}

void FakeVerbs::Report(CompletionQueue* queue, const ibv_wc& completion) {
  ++completions_;
  if (queue->completions.size() >= queue->entries) return Blame("a completion queue overflowed");
  queue->completions.push_back(completion);
  if (std::exchange(queue->armed, false)) WriteDescriptor(queue->channel->fd);
}

int FakeVerbs::CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const int error = Enter("CreateQueuePair"); error != 0) return error;
  if (attributes->cap.max_inline_data > max_inline_bytes) return EINVAL;
  if (domain->context != id->verbs) return EINVAL;
  auto* pair = new QueuePair{};
  pair->pd = domain;
  pair->owner = static_cast<Id*>(id);
  pair->queue = static_cast<CompletionQueue*>(attributes->send_cq);
  pair->shared = static_cast<SharedReceives*>(attributes->srq);
  pair->max_sends = attributes->cap.max_send_wr;
  pair->max_receives = attributes->cap.max_recv_wr;
  pair->max_inline_bytes = attributes->cap.max_inline_data;
  id->qp = pair;
  pairs_.insert(pair);
  return 0;
}

void FakeVerbs::DestroyQueuePair(rdma_cm_id* id) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto* pair = static_cast<QueuePair*>(std::exchange(id->qp, nullptr));
  if (pair == nullptr) return Blame("a queue pair was destroyed twice");
  pairs_.erase(pair);
  delete pair;
}

int FakeVerbs::ModifyQueuePair(ibv_qp*, ibv_qp_attr*, int) {
  std::lock_guard<std::mutex> lock(mutex_);
  return Enter("ModifyQueuePair");
}

void FakeVerbs::BreakQueuePair(QueuePair* pair) {
  if (std::exchange(pair->broken, true)) return;
  ibv_wc completion = {};
  completion.status = IBV_WC_WR_FLUSH_ERR;
  for (const Send& send : std::exchange(pair->sends, {})) {
    completion.wr_id = send.work_request.wr_id;
    Report(pair->queue, completion);
  }
  for (const Receive& receive : std::exchange(pair->receives, {})) {
    completion.wr_id = receive.work_request;
    Report(pair->queue, completion);
  }
}

int FakeVerbs::PostSend(ibv_qp* queue_pair, ibv_send_wr* first, ibv_send_wr** failed) {
  std::lock_guard<std::mutex> lock(mutex_);
  *failed = first;
  if (const int error = Enter("PostSend"); error != 0) return error;
  ++doorbells_;
  auto* pair = static_cast<QueuePair*>(queue_pair);
  for (; first != nullptr; first = first->next) {
    *failed = first;
    if (pair->sends.size() >= pair->max_sends) return ENOMEM;
    Send send{.work_request = *first,
              .segments = {first->sg_list, first->sg_list + first->num_sge},
              .copied = {}};
    if ((first->send_flags & IBV_SEND_INLINE) != 0) {
      send.copied = Gather(send.segments);
      if (send.copied.size() > pair->max_inline_bytes) return EINVAL;
    }
    if (pair->broken) {
      ibv_wc completion = {};
      completion.wr_id = first->wr_id;
      completion.status = IBV_WC_WR_FLUSH_ERR;
      Report(pair->queue, completion);
      continue;
    }
    pair->sends.push_back(std::move(send));
  }
  Progress(pair);
  return 0;
}

int FakeVerbs::PostReceive(ibv_qp* queue_pair, ibv_recv_wr* first, ibv_recv_wr** failed) {
  std::lock_guard<std::mutex> lock(mutex_);
  *failed = first;
  if (const int error = Enter("PostReceive"); error != 0) return error;
  auto* pair = static_cast<QueuePair*>(queue_pair);
  for (; first != nullptr && !pair->broken; first = first->next) {
    *failed = first;
    if (pair->receives.size() >= pair->max_receives) return ENOMEM;
    pair->receives.push_back({first->wr_id, *first->sg_list});
  }
  ProgressAll();
  return 0;
}

ibv_srq* FakeVerbs::CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr*) {
  std::lock_guard<std::mutex> lock(mutex_);
  if ((errno = Enter("CreateSharedReceiveQueue")) != 0) return nullptr;
  auto* queue = new SharedReceives{};
  queue->pd = domain;
  shared_.insert(queue);
  return queue;
}

int FakeVerbs::DestroySharedReceiveQueue(ibv_srq* queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto* mine = static_cast<SharedReceives*>(queue);
  for (const QueuePair* pair : pairs_) {
    if (pair->shared == mine) Blame("a shared receive queue ended before a queue pair of it");
  }
  shared_.erase(mine);
  delete mine;
  return 0;
}

int FakeVerbs::PostSharedReceive(ibv_srq* queue, ibv_recv_wr* first, ibv_recv_wr** failed) {
  std::lock_guard<std::mutex> lock(mutex_);
  *failed = first;
  if (const int error = Enter("PostSharedReceive"); error != 0) return error;
  for (; first != nullptr; first = first->next) {
    static_cast<SharedReceives*>(queue)->receives.push_back({first->wr_id, *first->sg_list});
  }
  ProgressAll();
  return 0;
}

void FakeVerbs::ProgressAll() {
  for (QueuePair* pair : pairs_) Progress(pair);
}

void FakeVerbs::Progress(QueuePair* pair) {
  while (!pair->broken && !pair->sends.empty()) {
    const Send& send = pair->sends.front();
    const int status = Execute(pair, send);
    if (status == kWaits) return;
    ibv_wc completion = {};
    completion.wr_id = send.work_request.wr_id;
    completion.status = static_cast<ibv_wc_status>(status);
    completion.opcode = CompletionOf(send.work_request.opcode);
    const bool signalled = (send.work_request.send_flags & IBV_SEND_SIGNALED) != 0;
    pair->sends.pop_front();
    if (status == IBV_WC_SUCCESS && !signalled) continue;
    Report(pair->queue, completion);
    if (status == IBV_WC_SUCCESS) continue;
    Id* peer = pair->owner->peer;
    BreakQueuePair(pair);
    if (peer != nullptr && peer->qp != nullptr) {
      BreakQueuePair(static_cast<QueuePair*>(peer->qp));
    }
  }
}

int FakeVerbs::Execute(QueuePair* pair, const Send& send) {
  const ibv_send_wr& wr = send.work_request;
  Id* other = pair->owner->peer;
  if (!pair->owner->connected || other == nullptr || other->qp == nullptr) return kWaits;
  auto* peer = static_cast<QueuePair*>(other->qp);
  if (peer->broken) return kWaits;  // the disconnection is under way
  if (next_status_ != IBV_WC_SUCCESS) return std::exchange(next_status_, IBV_WC_SUCCESS);
  const bool copied = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (!copied && !CheckLocal(send.segments)) return IBV_WC_LOC_PROT_ERR;
  if (wr.opcode == IBV_WR_RDMA_READ) {
    uint64_t from = wr.wr.rdma.remote_addr;
    uint64_t total = 0;
    for (const ibv_sge& s : send.segments) total += s.length;
    if (!CheckRemote(wr.wr.rdma.rkey, from, total, IBV_ACCESS_REMOTE_READ)) {
      return IBV_WC_REM_ACCESS_ERR;
    }
    for (const ibv_sge& s : send.segments) {
      std::memmove(At(s.addr), At(from), s.length);
      from += s.length;
    }
    return IBV_WC_SUCCESS;
  }
  const std::vector<std::byte> bytes = copied ? send.copied : Gather(send.segments);
  const bool stores = wr.opcode != IBV_WR_SEND;
  if (stores && !CheckRemote(wr.wr.rdma.rkey, wr.wr.rdma.remote_addr, bytes.size(),
                             IBV_ACCESS_REMOTE_WRITE)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  if (wr.opcode != IBV_WR_RDMA_WRITE) {
    const int status = DeliverMessage(peer, send, bytes);
    if (status != IBV_WC_SUCCESS) return status;
  }
  if (stores && !bytes.empty()) {
    std::memcpy(At(wr.wr.rdma.remote_addr), bytes.data(), bytes.size());
  }
  return IBV_WC_SUCCESS;
}

int FakeVerbs::DeliverMessage(QueuePair* peer, const Send& send,
                              const std::vector<std::byte>& bytes) {
  const bool immediate = send.work_request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  if (peer->available().empty()) return kWaits;
  const Receive receive = peer->available().front();
  peer->available().pop_front();
  ibv_wc completion = {};
  completion.wr_id = receive.work_request;
  completion.byte_len = static_cast<uint32_t>(bytes.size());
  completion.opcode = immediate ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  if (immediate) {
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = send.work_request.imm_data;
  } else if (bytes.size() > receive.segment.length || !CheckLocal({receive.segment})) {
    completion.status = IBV_WC_LOC_LEN_ERR;
    Report(peer->queue, completion);
    return IBV_WC_REM_INV_REQ_ERR;
  } else if (!bytes.empty()) {
    std::memcpy(At(receive.segment.addr), bytes.data(), bytes.size());
  }
  Report(peer->queue, completion);
  return IBV_WC_SUCCESS;
}

}  // namespace vof
