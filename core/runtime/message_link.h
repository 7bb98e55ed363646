// SPDX-License-Identifier: Apache-2.0
//
// The Link of every backend with a message channel.
//
//   accept(std::make_unique<MessageLink<FabricChannel>>(std::move(channel), domain));
#ifndef VOF_CORE_RUNTIME_MESSAGE_LINK_H_
#define VOF_CORE_RUNTIME_MESSAGE_LINK_H_

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/engine/message_engine.h"
#include "core/runtime/backend.h"
#include "core/runtime/message_connection.h"
#include "core/transport/domain.h"
#include "core/transport/message_channel.h"

namespace vof {

template <MessageChannel C>
class MessageLink final : public Link {
 public:
  MessageLink(std::unique_ptr<C> channel, std::shared_ptr<Domain> domain)
      : peer_(channel->peer()), domain_(std::move(domain)), channel_(std::move(channel)) {}

  const PeerIdentity& peer() const override { return peer_; }
  Transmission transmission() const override { return Transmission::kKeyed; }
  std::unique_ptr<Connection> AttachMessages(std::unique_ptr<MessageEngine> engine) override {
    Check(channel_ != nullptr, "a link is attached once");
    return std::make_unique<MessageConnection<C>>(std::move(channel_), std::move(engine));
  }
  std::shared_ptr<Domain> domain() const override { return domain_; }
  // Instead of AttachMessages, for who drives the channel without an engine.
  std::unique_ptr<C> TakeChannel() { return std::move(channel_); }

 private:
  PeerIdentity peer_;
  const std::shared_ptr<Domain> domain_;  // outlives the channel
  std::unique_ptr<C> channel_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_MESSAGE_LINK_H_
