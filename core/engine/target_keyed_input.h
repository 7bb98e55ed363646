// SPDX-License-Identifier: Apache-2.0
//
// The receiving half of TargetKeyed (target_keyed.h): messages to commands, commands to requests
// with their payload.
//
//   // included by target_keyed.h only
#ifndef VOF_CORE_ENGINE_TARGET_KEYED_INPUT_H_
#define VOF_CORE_ENGINE_TARGET_KEYED_INPUT_H_

#include "core/engine/target_keyed.h"  // IWYU pragma: keep

namespace vof {

template <Codec C>
void TargetKeyed<C>::OnEvents(std::span<const ChannelEvent> events, MonotonicTime now) {
  if (closed_) return;
  for (const ChannelEvent& event : events) {
    switch (event.kind) {
      case ChannelEventKind::kReceived:
        last_receive_ = now;
        if (event.has_immediate || held_.full()) {
          CloseNow(WireError::kUnexpectedEvent);
        } else {
          held_.Push({event.message, event.tag});
        }
        break;
      case ChannelEventKind::kSent:
      case ChannelEventKind::kFetched:
      case ChannelEventKind::kStored:
        OnPostDone(event);
        break;
      case ChannelEventKind::kDisconnected:
        break;  // the connection closes, and says so
    }
  }
  ConsumeHeld();
}

template <Codec C>
void TargetKeyed<C>::OnPostDone(const ChannelEvent& event) {
  --(event.kind == ChannelEventKind::kSent ? sends_ : transfers_);
  TargetRequest* request = RequestOf(event.tag);
  moved_bytes_ += BytesOf(event, request);
  if (request == nullptr) return;
  --request->keyed.posts;
  if (!event.ok) return;  // the channel is broken: the request goes when it is closed
  if (event.kind == ChannelEventKind::kFetched) {
    const bool all_posted = fetching_.request != request;
    if (request->keyed.posts == 0 && all_posted) queue_->Submit(request, request->out_place);
  } else {
    ReleaseIfDone(request);
  }
}

// What the peer has moved with it, all at once for the fetches or the stores of a request. Posts
// are reported in their order, so nothing that it does hides one that it lets wait; what it sends
// is no progress with what it owes.
template <Codec C>
uint64_t TargetKeyed<C>::BytesOf(const ChannelEvent& event, const TargetRequest* request) const {
  if (request == nullptr) return kHeaderBytes;
  if (request->keyed.posts > 1 || fetching_.request == request) return 1;
  return event.kind == ChannelEventKind::kFetched ? request->readable_bytes
                                                  : kHeaderBytes + request->used_length();
}

// In the order of arrival; what has to wait keeps what is behind it waiting.
template <Codec C>
void TargetKeyed<C>::ConsumeHeld() {
  stalled_ = false;
  while (!held_.empty() && !stalled_ && life_.goes_on() && !life_.resetting()) {
    if (!HandleMessage(held_.front())) break;
    held_.Pop();
  }
  if (queue_) queue_->Flush();
}

// False: it has to wait, or the queue closes.
template <Codec C>
bool TargetKeyed<C>::HandleMessage(const Held& held) {
  if (held.message.size() < kHeaderBytes) {
    CloseNow(WireError::kMessageLength);
    return false;
  }
  Command command;
  const WireError error = C::DecodeCommand(held.message.template first<kHeaderBytes>(), command);
  if (error != WireError::kNone) {
    CloseNow(error);
    return false;
  }
  if (!HasRoomForReply()) {
    stalled_ = true;
    return false;
  }
  return command.kind == CommandKind::kVq ? HandleVq(command, held) : HandleOther(command, held);
}

template <Codec C>
bool TargetKeyed<C>::HandleVq(const Command& command, const Held& held) {
  if (!queue_) {
    CloseNow(WireError::kVirtqueueOnControl);
    return false;
  }
  KeyedShape shape;
  WireError error = WireError::kNone;
  switch (ParseKeyedRequest<C>(command, held.message, limits_, &shape, &error)) {
    case ParseResult::kComplete:
      return TakeRequest(shape, held);
    case ParseResult::kOutTooLarge:
    case ParseResult::kInTooLarge: {
      // Nothing follows the message: the queue can go on.
      const bool out = command.out_length > limits_.sizes.max_out_bytes;
      shape.command_id = command.command_id;
      RefuseRequest(shape, out ? Cause::kOutLength : Cause::kInLength, 0);
      ReturnReceive(held.tag);
      return true;
    }
    case ParseResult::kNeedMore:
    case ParseResult::kBroken:
      break;
  }
  CloseNow(error);
  return false;
}

template <Codec C>
bool TargetKeyed<C>::TakeRequest(const KeyedShape& shape, const Held& held) {
  RequestShape wanted;
  wanted.command_id = shape.command_id;
  wanted.num_segments = shape.num_writable;
  wanted.out_bytes = shape.out_bytes;
  wanted.in_bytes = shape.in_bytes;
  wanted.message_bytes = AnswerMessageBytes(shape.in_bytes, limits_);
  const bool payload_in_place = shape.inline_bytes.size() == shape.out_bytes;
  TargetRequest* request = nullptr;
  switch (queue_->Admit(wanted, payload_in_place, &request)) {
    case Admission::kTaken:
      break;
    case Admission::kLater:
      stalled_ = true;
      return false;
    case Admission::kDuplicateId:
      CloseNow(WireError::kDuplicateCommandId);
      return false;
    case Admission::kNoCredit:
      RefuseRequest(shape, Cause::kTooManyCommands, 0);
      ReturnReceive(held.tag);
      return true;
    case Admission::kNotReady:
      RefuseRequest(shape, Cause::kStatus, queue_->refused_grant());
      ReturnReceive(held.tag);
      return true;
  }
  ++requests_;
  request->keyed = {};
  request->keyed.receive_tag = held.tag;
  request->keyed.descriptors = shape.descriptors;
  request->keyed.writable_offset = shape.writable_offset;
  request->keyed.has_writable_descriptors = shape.has_writable_descriptors;
  BringPayload(request, shape);
  return true;
}

// The message stays where it is until the answer is posted, so inline bytes may be used there.
template <Codec C>
void TargetKeyed<C>::BringPayload(TargetRequest* request, const KeyedShape& shape) {
  if (request->out_place == nullptr) {
    queue_->Submit(request, shape.inline_bytes.data());
    return;
  }
  if (!shape.inline_bytes.empty()) {
    std::memcpy(request->out_place, shape.inline_bytes.data(), shape.inline_bytes.size());
  }
  if (shape.inline_bytes.size() == shape.out_bytes) {
    queue_->Submit(request, request->out_place);
  } else {
    to_fetch_.PushBack(request);
  }
}

template <Codec C>
bool TargetKeyed<C>::HandleOther(const Command& command, const Held& held) {
  if (command.kind == CommandKind::kConnect) {
    CloseNow(WireError::kSecondConnect);
    return false;
  }
  Completion completion;
  switch (DispatchCommand<C>(*control_, command, queue_ != nullptr, sends_, &completion)) {
    case CommandFate::kReply:
      Reply(command.kind, completion);
      break;
    case CommandFate::kLater:
      break;
    case CommandFate::kWait:
      stalled_ = true;
      return false;
    case CommandFate::kDisconnect:
      disconnect_id_ = command.command_id;
      EndWhenIdle(EndCause::kDisconnected, "disconnected");
      break;
    case CommandFate::kDuplicate:
      CloseNow(WireError::kDuplicateCommandId);
      return false;
  }
  ReturnReceive(held.tag);
  return true;
}

template <Codec C>
void TargetKeyed<C>::RefuseRequest(const KeyedShape& shape, Cause cause, uint16_t grant) {
  Completion refusal;
  refusal.command_id = shape.command_id;
  refusal.cause = cause;
  refusal.grant = grant;
  refusal.ndesc = shape.num_writable;
  Reply(CommandKind::kVq, refusal);
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_KEYED_INPUT_H_
