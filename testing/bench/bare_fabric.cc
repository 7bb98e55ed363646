// SPDX-License-Identifier: Apache-2.0
#include "testing/bench/bare_fabric.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace vof::bench {
namespace {

constexpr uint32_t kHeaderBytes = 64;
constexpr uint32_t kBlockHeaderBytes = 16;
constexpr uint32_t kStatusBytes = 1;
constexpr uint32_t kMessageBytes = 8192;  // of each receive, as in the protocol
constexpr size_t kNameBytes = 256;

[[noreturn]] void Die(const char* what, int64_t result) {
  fprintf(stderr, "bare-fabric: %s: %s\n", what, fi_strerror(static_cast<int>(-result)));
  exit(1);
}

void Check(int64_t result, const char* what) {
  if (result < 0) Die(what, result);
}

// What travels in a request: who asks, and where a block that is not inside lies.
struct Request {
  uint32_t slot = 0;
  uint32_t position = 0;
  uint64_t address = 0;
  uint64_t key = 0;
};

// One end: an endpoint, `depth` receives and send buffers, and memory for blocks of each slot.
class End {
 public:
  End(const BareOptions& options, size_t memory_bytes);

  std::array<std::byte, kNameBytes> Name() const;
  const std::array<std::byte, kNameBytes>& peer_name() const { return peer_name_; }  // after Meet
  void Meet(const std::array<std::byte, kNameBytes>& peer);

  std::byte* send_buffer(uint32_t slot) { return &sends_[size_t{slot} * kMessageBytes]; }
  std::byte* receive_buffer(uint32_t slot) { return &receives_[size_t{slot} * kMessageBytes]; }
  std::byte* memory() { return memory_.data(); }
  uint64_t key() const { return fi_mr_key(memory_mr_); }
  uint64_t AddressOf(const std::byte* place) const {
    const bool is_virtual = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return is_virtual ? reinterpret_cast<uint64_t>(place)
                      : static_cast<uint64_t>(place - memory_.data());
  }

  void PostReceive(uint32_t slot);
  // The buffer is free when the peer has answered; nothing is reported.
  void Send(uint32_t slot, size_t size_bytes);
  // Store or fetch of a block; a fetch is reported with kFetchBit.
  void Access(bool fetch, uint32_t slot, std::byte* local, uint32_t size_bytes, uint64_t address,
              uint64_t key);
  // Calls handle(slot, is_fetch) for what has completed.
  template <typename Handle>
  void Poll(Handle handle) {
    std::array<fi_cq_msg_entry, 64> entries;
    const ssize_t count = fi_cq_read(cq_, entries.data(), entries.size());
    if (count == -FI_EAGAIN) return;
    Check(count, "read completions");
    for (ssize_t i = 0; i < count; ++i) {
      const auto tag = static_cast<const Context*>(entries[static_cast<size_t>(i)].op_context)->tag;
      handle(static_cast<uint32_t>(tag & ~kFetchBit), (tag & kFetchBit) != 0);
    }
  }

 private:
  struct Context {
    fi_context2 provider;
    uint64_t tag = 0;
  };
  static constexpr uint64_t kFetchBit = uint64_t{1} << 63;

  template <typename Post>
  void Retry(const char* what, Post post) {
    ssize_t result = post();
    for (; result == -FI_EAGAIN; result = post()) fi_cq_read(cq_, nullptr, 0);
    Check(result, what);
  }
  fid_mr* Register(std::vector<std::byte>& bytes, uint64_t access, uint64_t key);

  std::vector<std::byte> sends_, receives_, memory_;
  std::vector<Context> receive_contexts_, access_contexts_;
  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  fid_ep* ep_ = nullptr;
  fid_mr *sends_mr_ = nullptr, *receives_mr_ = nullptr, *memory_mr_ = nullptr;
  fi_addr_t peer_ = 0;
  std::array<std::byte, kNameBytes> peer_name_ = {};
};

fi_info* FindProvider(const std::string& provider) {
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  fi_info* info = nullptr;
  Check(fi_getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, hints, &info), "find the provider");
  fi_freeinfo(hints);
  return info;
}

End::End(const BareOptions& options, size_t memory_bytes)
    : sends_(size_t{options.depth} * kMessageBytes),
      receives_(size_t{options.depth} * kMessageBytes),
      memory_(memory_bytes),
      receive_contexts_(options.depth),
      access_contexts_(options.depth),
      info_(FindProvider(options.provider)) {
  Check(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "open the fabric");
  Check(fi_domain(fabric_, info_, &domain_, nullptr), "open the domain");
  fi_cq_attr cq_attributes = {};
  cq_attributes.size = 4 * size_t{options.depth};
  cq_attributes.format = FI_CQ_FORMAT_MSG;
  Check(fi_cq_open(domain_, &cq_attributes, &cq_, nullptr), "open a completion queue");
  fi_av_attr av_attributes = {};
  av_attributes.type = FI_AV_TABLE;
  Check(fi_av_open(domain_, &av_attributes, &av_, nullptr), "open an address vector");
  Check(fi_endpoint(domain_, info_, &ep_, nullptr), "open an endpoint");
  Check(fi_ep_bind(ep_, &av_->fid, 0), "bind the address vector");
  Check(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "bind for sends");
  Check(fi_ep_bind(ep_, &cq_->fid, FI_RECV), "bind for receives");
  Check(fi_enable(ep_), "enable the endpoint");
  sends_mr_ = Register(sends_, FI_SEND, 1);
  receives_mr_ = Register(receives_, FI_RECV, 2);
  memory_mr_ = Register(memory_, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 3);
  for (uint32_t slot = 0; slot < options.depth; ++slot) PostReceive(slot);
}

fid_mr* End::Register(std::vector<std::byte>& bytes, uint64_t access, uint64_t key) {
  fid_mr* mr = nullptr;
  Check(fi_mr_reg(domain_, bytes.data(), bytes.size(), access, 0, key, 0, &mr, nullptr),
        "register memory");
  return mr;
}

std::array<std::byte, kNameBytes> End::Name() const {
  std::array<std::byte, kNameBytes> name = {};
  size_t size = name.size();
  Check(fi_getname(&ep_->fid, name.data(), &size), "name the endpoint");
  return name;
}

void End::Meet(const std::array<std::byte, kNameBytes>& peer) {
  peer_name_ = peer;
  if (fi_av_insert(av_, peer.data(), 1, &peer_, 0, nullptr) != 1)
    Die("insert the peer", -FI_EINVAL);
}

void End::PostReceive(uint32_t slot) {
  Context& context = receive_contexts_[slot];
  context.tag = slot;
  Retry("post a receive", [&] {
    return fi_recv(ep_, receive_buffer(slot), kMessageBytes, fi_mr_desc(receives_mr_),
                   FI_ADDR_UNSPEC, &context);
  });
}

void End::Send(uint32_t slot, size_t size_bytes) {
  const iovec piece = {send_buffer(slot), size_bytes};
  void* descriptor = fi_mr_desc(sends_mr_);
  fi_msg message = {};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peer_;
  message.context = &access_contexts_[slot];
  Retry("send", [&] { return fi_sendmsg(ep_, &message, 0); });
}

void End::Access(bool fetch, uint32_t slot, std::byte* local, uint32_t size_bytes, uint64_t address,
                 uint64_t key) {
  const iovec piece = {local, size_bytes};
  void* descriptor = fi_mr_desc(memory_mr_);
  const fi_rma_iov remote = {.addr = address, .len = size_bytes, .key = key};
  fi_msg_rma message = {};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peer_;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  access_contexts_[slot].tag = kFetchBit | slot;
  message.context = &access_contexts_[slot];
  Retry("access remote memory", [&] {
    return fetch ? fi_readmsg(ep_, &message, FI_COMPLETION)
                 : fi_writemsg(ep_, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
  });
}

class Server {
 public:
  explicit Server(const BareOptions& options)
      : o_(options), end_(options, options.arena_bytes), requests_(options.depth) {}
  End& end() { return end_; }

  [[noreturn]] void Run() {
    for (;;) {
      end_.Poll([this](uint32_t slot, bool is_access) {
        // The response goes out behind the block that it speaks of.
        is_access ? Answer(slot, 0) : OnRequest(slot);
      });
    }
  }

 private:
  void OnRequest(uint32_t receive_slot) {
    const std::byte* message = end_.receive_buffer(receive_slot);
    Request request;
    std::memcpy(&request, message, sizeof(request));
    std::byte* block = end_.memory() + size_t{request.position} * o_.block_bytes;
    requests_[request.slot] = receive_slot;
    if (o_.block_bytes > kInlineBlockBytes) {
      return end_.Access(o_.write, request.slot, block, o_.block_bytes, request.address,
                         request.key);
    }
    if (o_.write) {
      std::memcpy(block, message + kHeaderBytes + kBlockHeaderBytes, o_.block_bytes);
      return Answer(request.slot, 0);
    }
    std::memcpy(end_.send_buffer(request.slot) + kHeaderBytes, block, o_.block_bytes);
    Answer(request.slot, o_.block_bytes);
  }

  void Answer(uint32_t slot, uint32_t inline_bytes) {
    end_.PostReceive(requests_[slot]);
    std::memcpy(end_.send_buffer(slot), &slot, sizeof(slot));
    end_.Send(slot, kHeaderBytes + inline_bytes + kStatusBytes);
  }

  const BareOptions o_;
  End end_;
  std::vector<uint32_t> requests_;  // the receive of each request in flight
};

class Client {
 public:
  explicit Client(const BareOptions& options)
      : o_(options), end_(options, size_t{options.depth} * options.block_bytes) {}
  End& end() { return end_; }

  BareResult Run() {
    for (uint32_t slot = 0; slot < o_.depth; ++slot) Ask(slot);
    RunFor(o_.warmup_seconds);
    BareResult result;
    const MonotonicTime start = MonotonicNow();
    result.operations = RunFor(o_.seconds);
    result.seconds = static_cast<double>(MonotonicNow() - start) / kNanosecondsPerSecond;
    return result;
  }

 private:
  uint64_t RunFor(double seconds) {
    const MonotonicTime end =
        MonotonicNow() + static_cast<Nanoseconds>(seconds * kNanosecondsPerSecond);
    uint64_t done = 0;
    while (MonotonicNow() < end) {
      end_.Poll([&](uint32_t receive_slot, bool) {
        uint32_t slot = 0;
        const std::byte* message = end_.receive_buffer(receive_slot);
        std::memcpy(&slot, message, sizeof(slot));
        if (!o_.write && is_inline())
          std::memcpy(Block(slot), message + kHeaderBytes, o_.block_bytes);
        end_.PostReceive(receive_slot);
        Ask(slot);
        ++done;
      });
    }
    return done;
  }

  bool is_inline() const { return o_.block_bytes <= kInlineBlockBytes; }
  std::byte* Block(uint32_t slot) { return end_.memory() + size_t{slot} * o_.block_bytes; }

  void Ask(uint32_t slot) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const Request request = {
        .slot = slot,
        .position = static_cast<uint32_t>((random_ >> 33) % (o_.arena_bytes / o_.block_bytes)),
        .address = end_.AddressOf(Block(slot)),
        .key = end_.key()};
    std::byte* message = end_.send_buffer(slot);
    std::memcpy(message, &request, sizeof(request));
    uint32_t size = kHeaderBytes + kBlockHeaderBytes;
    if (o_.write && is_inline()) {
      std::memcpy(message + size, Block(slot), o_.block_bytes);
      size += o_.block_bytes;
    }
    end_.Send(slot, size);
  }

  const BareOptions o_;
  End end_;
  uint64_t random_ = 1;
};

// Of shm: its file stays behind when the process ends without a word.
void RemoveFile(const std::array<std::byte, kNameBytes>& name) {
  const std::string_view text(reinterpret_cast<const char*>(name.data()),
                              strnlen(reinterpret_cast<const char*>(name.data()), name.size()));
  constexpr std::string_view kScheme = "fi_shm://";
  if (!text.starts_with(kScheme)) return;
  unlink(("/dev/shm/" + std::string(text.substr(kScheme.size()))).c_str());
}

void Exchange(int in, int out, End* end) {
  auto name = end->Name();
  if (write(out, name.data(), name.size()) != static_cast<ssize_t>(name.size())) exit(1);
  if (read(in, name.data(), name.size()) != static_cast<ssize_t>(name.size())) exit(1);
  end->Meet(name);
}

}  // namespace

BareResult RunBareFabric(const BareOptions& options) {
  int to_server[2], to_client[2];
  if (pipe(to_server) != 0 || pipe(to_client) != 0) Die("make a pipe", -FI_EMFILE);
  const pid_t child = fork();
  if (child < 0) Die("fork", -FI_EAGAIN);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    PinTo(options.server_cpu);
    Server server(options);
    Exchange(to_server[0], to_client[1], &server.end());
    server.Run();
  }
  PinTo(options.client_cpu);
  Client client(options);
  Exchange(to_client[0], to_server[1], &client.end());
  const BareResult result = client.Run();
  kill(child, SIGTERM);
  waitpid(child, nullptr, 0);
  RemoveFile(client.end().Name());
  RemoveFile(client.end().peer_name());
  return result;
}

}  // namespace vof::bench
