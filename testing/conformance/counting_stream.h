// SPDX-License-Identifier: Apache-2.0
//
// Counts the calls that reach a byte stream: for TCP each is a system call.
//
//   CallCounts counts;
//   CountingStream<TcpStream> stream(std::move(inner), &counts);   // `counts` outlives it
#ifndef VOF_TESTING_CONFORMANCE_COUNTING_STREAM_H_
#define VOF_TESTING_CONFORMANCE_COUNTING_STREAM_H_

#include <span>
#include <utility>

#include "core/base/buffer.h"
#include "core/transport/byte_stream.h"

namespace vof {

struct CallCounts {
  int reads = 0;
  int writes = 0;
};

template <ByteStream S>
class CountingStream {
 public:
  CountingStream(S inner, CallCounts* counts) : inner_(std::move(inner)), counts_(counts) {}

  IoResult ReadSome(std::span<const MutableBuffer> into) {
    ++counts_->reads;
    return inner_.ReadSome(into);
  }
  IoResult WriteSome(std::span<const ConstBuffer> from) {
    ++counts_->writes;
    return inner_.WriteSome(from);
  }
  bool HasBuffered() const { return inner_.HasBuffered(); }
  bool WantRead() const { return inner_.WantRead(); }
  bool WantWrite() const { return inner_.WantWrite(); }
  bool Arm() { return inner_.Arm(); }
  int wait_fd() const { return inner_.wait_fd(); }
  void Shutdown() { inner_.Shutdown(); }
  void ShutdownWrite() requires HalfCloseable<S> { inner_.ShutdownWrite(); }
  const PeerIdentity& peer() const { return inner_.peer(); }

 private:
  S inner_;
  CallCounts* counts_;
};

}  // namespace vof

#endif  // VOF_TESTING_CONFORMANCE_COUNTING_STREAM_H_
