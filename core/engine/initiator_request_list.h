// SPDX-License-Identifier: Apache-2.0
//
// A first-in-first-out list of requests, linked through the requests themselves: nothing allocates.
//
//   InitiatorRequestList pending;
//   pending.PushBack(request);
//   while (InitiatorRequest* r = pending.PopFront()) Send(r);
//
// A request is on at most one list at a time. One thread.
#ifndef VOF_CORE_ENGINE_INITIATOR_REQUEST_LIST_H_
#define VOF_CORE_ENGINE_INITIATOR_REQUEST_LIST_H_

#include <utility>

#include "core/engine/initiator_request.h"

namespace vof {

class InitiatorRequestList {
 public:
  InitiatorRequestList() = default;
  InitiatorRequestList(InitiatorRequestList&& other) noexcept
      : head_(std::exchange(other.head_, nullptr)), tail_(std::exchange(other.tail_, nullptr)) {}
  InitiatorRequestList& operator=(InitiatorRequestList&&) = delete;

  bool empty() const { return head_ == nullptr; }
  InitiatorRequest* front() const { return head_; }

  void PushBack(InitiatorRequest* request) {
    request->next = nullptr;
    request->previous = tail_;
    (tail_ != nullptr ? tail_->next : head_) = request;
    tail_ = request;
  }
  InitiatorRequest* PopFront() {
    InitiatorRequest* request = head_;
    if (request != nullptr) Remove(request);
    return request;
  }
  // `request` is on this list.
  void Remove(InitiatorRequest* request) {
    (request->previous != nullptr ? request->previous->next : head_) = request->next;
    (request->next != nullptr ? request->next->previous : tail_) = request->previous;
    request->next = request->previous = nullptr;
  }

 private:
  InitiatorRequest* head_ = nullptr;
  InitiatorRequest* tail_ = nullptr;
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_REQUEST_LIST_H_
