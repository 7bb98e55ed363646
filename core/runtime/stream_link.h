// SPDX-License-Identifier: Apache-2.0
//
// The Link of every backend whose transport is a byte stream.
//
//   accept(std::make_unique<StreamLink<TcpStream>>(std::move(stream)));
#ifndef VOF_CORE_RUNTIME_STREAM_LINK_H_
#define VOF_CORE_RUNTIME_STREAM_LINK_H_

#include <memory>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/engine/stream_engine.h"
#include "core/runtime/backend.h"
#include "core/runtime/stream_connection.h"
#include "core/transport/byte_stream.h"

namespace vof {

template <ByteStream S>
class StreamLink final : public Link {
 public:
  explicit StreamLink(S stream) : peer_(stream.peer()), stream_(std::move(stream)) {}

  const PeerIdentity& peer() const override { return peer_; }
  Transmission transmission() const override { return Transmission::kStream; }
  std::unique_ptr<Connection> Attach(std::unique_ptr<StreamEngine> engine) override {
    Check(stream_.has_value(), "a link is attached once");
    auto connection = std::make_unique<StreamConnection<S>>(*std::move(stream_), std::move(engine));
    stream_.reset();
    return connection;
  }

 private:
  PeerIdentity peer_;
  std::optional<S> stream_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_STREAM_LINK_H_
