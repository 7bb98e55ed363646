// SPDX-License-Identifier: Apache-2.0
//
// The receiving half of TargetStream (target_stream.h): bytes to commands, commands to requests.
//
//   // included by target_stream.h only
//
// Messages are handled where they were received. What cannot be handled yet goes to the stash; the
// next receive puts it before the new bytes, so that every message is seen in one piece and there
// is no state for halves of headers. Only a payload may be cut: its rest is received straight into
// the memory of its request.
#ifndef VOF_CORE_ENGINE_TARGET_STREAM_INPUT_H_
#define VOF_CORE_ENGINE_TARGET_STREAM_INPUT_H_

#include "core/engine/target_stream.h"  // IWYU pragma: keep

namespace vof {

template <Codec C>
int TargetStream<C>::PrepareRead(MutableBuffer scratch, std::span<MutableBuffer> into) {
  if (!wants_read()) return 0;
  int count = 0;
  if (receiving_.size_bytes > 0) into[count++] = receiving_;
  // What is received and cannot be answered is kept: a control queue has few commands, and a peer
  // that never reads may open many.
  if (!queue_) scratch.size_bytes = std::min(scratch.size_bytes, kControlReadBytes);
  scratch_ = scratch;
  scratch_front_ = 0;
  if (!stash_.empty() && stash_.size() < scratch.size_bytes) {
    scratch_front_ = stash_.size();
    std::memcpy(scratch.data, stash_.bytes().data(), scratch_front_);
  }
  if (static_cast<size_t>(count) < into.size()) {
    into[count++] =
        MutableBuffer(scratch.data + scratch_front_, scratch.size_bytes - scratch_front_);
  }
  return count;
}

template <Codec C>
void TargetStream<C>::OnRead(size_t bytes, MonotonicTime now) {
  last_receive_ = now;
  received_bytes_ += bytes;
  if (receiving_.size_bytes > 0) {
    const size_t direct = std::min(bytes, receiving_.size_bytes);
    receiving_ = MutableBuffer(receiving_.data + direct, receiving_.size_bytes - direct);
    bytes -= direct;
    if (receiving_.size_bytes == 0) {
      TargetRequest* request = std::exchange(receiving_request_, nullptr);
      queue_->Submit(request, request->out_place);
    }
  }
  const std::span<const std::byte> received(scratch_.data, scratch_front_ + bytes);
  if (stash_.size() > scratch_front_) {  // the scratch buffer is too small for one message
    stash_.Append(received);
    ConsumeStash();
  } else {
    stash_.Clear();
    stash_.Append(received.subspan(Consume(received)));
  }
}

// Handles what is complete at the front of `bytes` and returns how much that was. Requests that
// stay in `bytes` have been submitted when it returns.
template <Codec C>
size_t TargetStream<C>::Consume(std::span<const std::byte> bytes) {
  size_t used = 0;
  stalled_ = false;
  while (life_.goes_on()) {
    if (skip_bytes_ > 0) {
      const size_t skipped = std::min<uint64_t>(skip_bytes_, bytes.size() - used);
      skip_bytes_ -= skipped;
      used += skipped;
    }
    if (bytes.size() - used < kHeaderBytes) break;
    const size_t handled = HandleMessage(bytes.subspan(used));
    if (handled == 0) break;
    used += handled;
  }
  if (queue_) queue_->Flush();
  return used;
}

template <Codec C>
bool TargetStream<C>::ConsumeStash() {
  const size_t used = Consume(stash_.bytes());
  stash_.Consume(used);
  return used > 0;
}

// Returns how many bytes it took; 0: the message is not complete, or has to wait, or closed the
// connection.
template <Codec C>
size_t TargetStream<C>::HandleMessage(std::span<const std::byte> bytes) {
  Command command;
  const WireError error = C::DecodeCommand(bytes.template first<kHeaderBytes>(), command);
  if (error != WireError::kNone) [[unlikely]] {
    CloseNow(error);
    return 0;
  }
  if (!writer_->HasRoomForReply()) return Stall();
  if (command.kind == CommandKind::kVq) [[likely]]
    return HandleVq(command, bytes);
  return HandleOther(command);
}

template <Codec C>
size_t TargetStream<C>::HandleVq(const Command& command, std::span<const std::byte> bytes) {
  if (!queue_) {
    CloseNow(WireError::kVirtqueueOnControl);
    return 0;
  }
  RequestShape shape;
  size_t header_bytes = 0;
  WireError error = WireError::kNone;
  switch (ParseRequest<C>(command, bytes, limits_, &shape, &header_bytes, &error)) {
    case ParseResult::kComplete:
      return TakeRequest(shape, header_bytes, bytes);
    case ParseResult::kNeedMore:
      return 0;
    case ParseResult::kBroken:
      CloseNow(error);
      return 0;
    case ParseResult::kOutTooLarge:
      Refuse(command, Cause::kOutLength);
      break;
    case ParseResult::kInTooLarge:
      Refuse(command, Cause::kInLength);
      break;
  }
  EndWhenIdle(EndCause::kProtocol,
              WireErrorText(WireError::kRequestTooLarge));  // its payload is never read
  return 0;
}

template <Codec C>
size_t TargetStream<C>::TakeRequest(const RequestShape& shape, size_t header_bytes,
                                    std::span<const std::byte> bytes) {
  const std::span<const std::byte> payload = bytes.subspan(header_bytes);
  TargetRequest* request = nullptr;
  Completion refusal;
  refusal.command_id = shape.command_id;
  switch (queue_->Admit(shape, payload.size() >= shape.out_bytes, &request)) {
    case Admission::kTaken:
      return header_bytes + ReceivePayload(request, payload);
    case Admission::kLater:
      return Stall();
    case Admission::kDuplicateId:
      CloseNow(WireError::kDuplicateCommandId);
      return 0;
    case Admission::kNoCredit:
      refusal.cause = Cause::kTooManyCommands;
      break;
    case Admission::kNotReady:
      refusal.cause = Cause::kStatus;
      refusal.grant = queue_->refused_grant();
      break;
  }
  writer_->WriteReply(CommandKind::kVq, refusal);
  skip_bytes_ = shape.out_bytes;
  return header_bytes;
}

// Returns how many of the payload's bytes were there.
template <Codec C>
size_t TargetStream<C>::ReceivePayload(TargetRequest* request, std::span<const std::byte> payload) {
  const size_t present = std::min<size_t>(payload.size(), request->readable_bytes);
  std::byte* place = request->out_place;
  if (place == nullptr) {
    queue_->Submit(request, payload.data());
    return present;
  }
  if (present > 0) std::memcpy(place, payload.data(), present);
  if (present == request->readable_bytes) {
    queue_->Submit(request, place);
  } else {
    receiving_request_ = request;
    receiving_ = MutableBuffer(place + present, request->readable_bytes - present);
  }
  return present;
}

template <Codec C>
size_t TargetStream<C>::HandleOther(const Command& command) {
  if (command.kind == CommandKind::kConnect) {
    CloseNow(WireError::kSecondConnect);
    return 0;
  }
  Completion completion;
  const size_t unsent = unsent_replies_.Count(writer_->out().consumed_bytes());
  switch (DispatchCommand<C>(*control_, command, queue_ != nullptr, unsent, &completion)) {
    case CommandFate::kReply:
      // One too many is answered, too, but does not count as one in flight.
      if (completion.cause == Cause::kTooManyCommands) {
        writer_->WriteReply(command.kind, completion);
      } else {
        Reply(command.kind, completion);
      }
      break;
    case CommandFate::kLater:
      break;
    case CommandFate::kWait:
      return Stall();
    case CommandFate::kDisconnect:
      disconnect_id_ = command.command_id;
      EndWhenIdle(EndCause::kDisconnected, "disconnected");
      break;
    case CommandFate::kDuplicate:
      CloseNow(WireError::kDuplicateCommandId);
      return 0;
  }
  return kHeaderBytes;
}

template <Codec C>
void TargetStream<C>::Reply(CommandKind kind, const Completion& completion) {
  writer_->WriteReply(kind, completion);
  if (!queue_ && C::kDialect == Dialect::kV5) {
    unsent_replies_.Add(writer_->out().appended_bytes());
  }
}

template <Codec C>
size_t TargetStream<C>::Refuse(const Command& command, Cause cause, uint16_t grant) {
  Completion completion;
  completion.command_id = command.command_id;
  completion.cause = cause;
  completion.grant = grant;
  writer_->WriteReply(command.kind, completion);
  return kHeaderBytes;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TARGET_STREAM_INPUT_H_
