// SPDX-License-Identifier: Apache-2.0
//
// nbd-bench --uri nbd://127.0.0.1:PORT --rw read|write --bs BYTES --depth N --time SECONDS --cpu C
// Random blocks over one connection with libnbd's asynchronous calls; prints one JSON line. With
// --fill 1 it writes the whole disk once instead, so that reads find real pages.
#include <libnbd.h>
#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace {

struct Options {
  std::string uri;
  bool write = false;
  uint32_t block_bytes = 4096;
  uint32_t depth = 32;
  double seconds = 1.0;
  double warmup_seconds = 0.2;
  int cpu = 1;
  bool fill = false;
};

void Check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "nbd-bench: %s: %s\n", what, nbd_get_error());
  std::exit(1);
}

class Load {
 public:
  Load(nbd_handle* nbd, const Options& options) : nbd_(nbd), options_(options) {
    const int64_t size_bytes = nbd_get_size(nbd_);
    Check(size_bytes > 0, "size");
    blocks_ = static_cast<uint64_t>(size_bytes) / options_.block_bytes;
    slots_.resize(options_.depth);
    for (Slot& slot : slots_) {
      slot.load = this;
      slot.buffer.resize(options_.block_bytes, 'x');
    }
  }

  void Run() {
    using vof::MonotonicNow;
    for (Slot& slot : slots_) Issue(&slot);
    const int64_t start = MonotonicNow() + static_cast<int64_t>(options_.warmup_seconds * 1e9);
    const int64_t end = start + static_cast<int64_t>(options_.seconds * 1e9);
    int64_t now = 0, counted_from = 0;
    while ((now = MonotonicNow()) < end) {
      if (counted_from == 0 && now >= start) {
        counted_from = now;
        completed_ = 0;
      }
      Check(nbd_poll(nbd_, -1) >= 0, "poll");
      // Callbacks may not issue commands themselves, so finished slots are issued again here.
      for (Slot* slot : ready_) Issue(slot);
      ready_.clear();
    }
    const double seconds = static_cast<double>(now - counted_from) / 1e9;
    const double rate = static_cast<double>(completed_) / seconds;
    std::printf(
        "{\"operations\": %llu, \"seconds\": %.3f, \"iops\": %.0f, \"mean_latency_us\": %.2f}\n",
        static_cast<unsigned long long>(completed_), seconds, rate, 1e6 * options_.depth / rate);
    // Debian's nbdkit does not survive a connection that ends with answers under way.
    while (ready_.size() < slots_.size()) Check(nbd_poll(nbd_, -1) >= 0, "poll");
    Check(nbd_shutdown(nbd_, 0) == 0, "shutdown");
  }

 private:
  struct Slot {
    Load* load = nullptr;
    std::vector<char> buffer;
  };

  static int Done(void* context, int* error) {
    auto* slot = static_cast<Slot*>(context);
    Check(*error == 0, "request");
    ++slot->load->completed_;
    slot->load->ready_.push_back(slot);
    return 1;  // retire the command
  }

  void Issue(Slot* slot) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const uint64_t offset = (random_ >> 33) % blocks_ * options_.block_bytes;
    nbd_completion_callback callback{};
    callback.callback = Done;
    callback.user_data = slot;
    const int64_t cookie =
        options_.write
            ? nbd_aio_pwrite(nbd_, slot->buffer.data(), slot->buffer.size(), offset, callback, 0)
            : nbd_aio_pread(nbd_, slot->buffer.data(), slot->buffer.size(), offset, callback, 0);
    Check(cookie >= 0, "issue");
  }

  nbd_handle* nbd_;
  const Options options_;
  uint64_t blocks_ = 0;
  std::vector<Slot> slots_;
  std::vector<Slot*> ready_;
  uint64_t completed_ = 0;
  uint64_t random_ = 1;
};

void Fill(nbd_handle* nbd) {
  std::vector<char> block(1u << 20);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 2654435761u >> 24);
  const int64_t size_bytes = nbd_get_size(nbd);
  for (int64_t at = 0; at + static_cast<int64_t>(block.size()) <= size_bytes;
       at += static_cast<int64_t>(block.size())) {
    Check(nbd_pwrite(nbd, block.data(), block.size(), static_cast<uint64_t>(at), 0) == 0, "fill");
  }
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    const char* value = argv[i + 1];
    if (key == "--uri") options.uri = value;
    if (key == "--rw") options.write = std::strcmp(value, "write") == 0;
    if (key == "--bs")
      options.block_bytes = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    if (key == "--depth") options.depth = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    if (key == "--time") options.seconds = std::strtod(value, nullptr);
    if (key == "--fill") options.fill = std::strcmp(value, "1") == 0;
    if (key == "--cpu") options.cpu = static_cast<int>(std::strtol(value, nullptr, 10));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(options.cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
  nbd_handle* nbd = nbd_create();
  Check(nbd != nullptr, "create");
  // Do not zero read buffers: that would be charged to the peer.
  nbd_set_pread_initialize(nbd, false);
  Check(nbd_connect_uri(nbd, options.uri.c_str()) == 0, options.uri.c_str());
  if (options.fill) {
    Fill(nbd);
    return 0;
  }
  Load(nbd, options).Run();
  nbd_close(nbd);
  return 0;
}
