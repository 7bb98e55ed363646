// SPDX-License-Identifier: Apache-2.0
//
// Fabrics, chosen at run time by the scheme of a URI.
//
//   BackendRegistry registry;
//   RegisterTcp(registry);                      // from main(): no static constructors
//   RegisterLoopback(registry);
//   absl::StatusOr<Backend*> backend = registry.Find("tcp");
//   auto link = (*backend)->Dial(uri, deadline);           // blocks; a control thread
//   reactor->Add((*link)->Attach(std::move(engine)));
//
// A backend knows transports and connections, never devices. Registry and backends outlive what
// they made.
#ifndef VOF_CORE_RUNTIME_BACKEND_H_
#define VOF_CORE_RUNTIME_BACKEND_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/time.h"
#include "core/engine/message_engine.h"
#include "core/engine/stream_engine.h"
#include "core/runtime/connection.h"
#include "core/runtime/reactor.h"
#include "core/runtime/uri.h"
#include "core/transport/byte_stream.h"
#include "core/transport/domain.h"

namespace vof {

// An established transport that no engine drives yet. Destroying it closes it. transmission() says
// which of the two kinds of engine it takes, once; the connection is then added to a reactor.
class Link {
 public:
  virtual ~Link() = default;
  virtual const PeerIdentity& peer() const = 0;
  virtual Transmission transmission() const = 0;
  // kStream. Null otherwise.
  virtual std::unique_ptr<Connection> Attach(std::unique_ptr<StreamEngine> engine);
  // kKeyed. Null otherwise.
  virtual std::unique_ptr<Connection> AttachMessages(std::unique_ptr<MessageEngine> engine);
  // kKeyed: where memory that the engine names is registered. Null otherwise.
  virtual std::shared_ptr<Domain> domain() const { return nullptr; }
};

// Takes what a listener accepted; called on the listener's reactor.
using AcceptHandler = std::function<void(std::unique_ptr<Link>)>;

// Accepting goes on until it is destroyed (on its reactor's thread, the accept handler included, or
// after that stopped).
class Listener {
 public:
  virtual ~Listener() = default;
  // Where it listens really: port 0 is replaced. The name is empty.
  virtual const Uri& address() const = 0;
};

struct SocketOptions {
  int send_buffer_bytes = 0;  // 0: the kernel's choice
  int receive_buffer_bytes = 0;
  int backlog = 1024;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view scheme() const = 0;
  // `uri.name` is ignored. A host name listens on each of its addresses. Call it on `reactor`'s
  // thread or before the reactor runs. Errors name the address.
  virtual absl::StatusOr<std::unique_ptr<Listener>> Listen(const Uri& uri, Reactor* reactor,
                                                           AcceptHandler accept) = 0;
  // Connects; tries each address of the name in turn until `deadline`. Blocks: for control threads
  // only. kUnavailable: cannot connect; kDeadlineExceeded: nobody answered in time.
  virtual absl::StatusOr<std::unique_ptr<Link>> Dial(const Uri& uri, MonotonicTime deadline) = 0;
};

class BackendRegistry {
 public:
  void Add(std::unique_ptr<Backend> backend) {
    std::string scheme(backend->scheme());
    backends_[std::move(scheme)] = std::move(backend);
  }
  // A scheme that this build could have, and why it has not: "rdma-core was not there; install
  // ...".
  void AddMissing(std::string_view scheme, std::string why) {
    missing_[std::string(scheme)] = std::move(why);
  }
  // kInvalidArgument with the list of known schemes, and of missing ones, when there is none.
  absl::StatusOr<Backend*> Find(std::string_view scheme) const;
  std::vector<std::string> Schemes() const;

 private:
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> backends_;
  std::map<std::string, std::string, std::less<>> missing_;
};

}  // namespace vof

#endif  // VOF_CORE_RUNTIME_BACKEND_H_
