// SPDX-License-Identifier: Apache-2.0
#include "tools/vof/transfer/transfer_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/common/size.h"
#include "tools/vof/transfer/file_endpoint.h"
#include "tools/vof/transfer/same_store.h"
#include "tools/vof/transfer/unique_fd.h"

namespace vof {
namespace {

constexpr uint64_t kUnknownSize = UINT64_MAX;

// "67108864 bytes (64 MiB)"
std::string Bytes(uint64_t size_bytes) {
  return absl::StrCat(size_bytes, " bytes (", HumanSize(size_bytes), ")");
}

// One side: an endpoint, or a descriptor that only goes forward.
struct Side {
  std::string name;
  std::unique_ptr<Endpoint> endpoint;
  UniqueFd pipe;
  UniqueFd lock{};  // of a file behind `pipe`

  bool is_pipe() const { return endpoint == nullptr; }
};

// Terminals, pipes, character devices: neither size nor offsets.
bool IsPipeLike(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISBLK(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

absl::StatusOr<Side> OpenPipe(std::string name, UniqueFd fd) {
  if (!fd.ok()) return FileError("open", name, errno);
  return Side{std::move(name), nullptr, std::move(fd)};
}

absl::StatusOr<Side> SideOf(const Location& location,
                            absl::StatusOr<std::unique_ptr<Endpoint>> endpoint) {
  if (!endpoint.ok()) return endpoint.status();
  return Side{location.text, *std::move(endpoint), UniqueFd()};
}

absl::StatusOr<Side> OpenSource(const Location& location, const DeviceOpener& open_device) {
  if (location.is_uri()) return SideOf(location, open_device(location.text, OpenMode::kRead));
  if (location.kind == LocationKind::kStandard) {
    auto input = OpenPipe("standard input", UniqueFd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)));
    if (!input.ok()) return input;
    auto lock = HoldUnchanging(input->pipe.get(), input->name);
    if (!lock.ok()) return lock.status();
    input->lock = *std::move(lock);
    return input;
  }
  if (IsPipeLike(location.text)) {
    return OpenPipe(location.text, UniqueFd(open(location.text.c_str(), O_RDONLY | O_CLOEXEC)));
  }
  return SideOf(location, FileEndpoint::OpenUnchanging(location.text));
}

absl::StatusOr<Side> OpenDestination(const Location& location, const DeviceOpener& open_device,
                                     uint64_t size_bytes) {
  if (location.is_uri()) return SideOf(location, open_device(location.text, OpenMode::kWrite));
  if (location.kind == LocationKind::kStandard) {
    return OpenPipe("standard output", UniqueFd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)));
  }
  if (IsPipeLike(location.text)) {
    return OpenPipe(location.text, UniqueFd(open(location.text.c_str(), O_WRONLY | O_CLOEXEC)));
  }
  return SideOf(location, FileEndpoint::Create(location.text, size_bytes));
}

// "there are only 4096 bytes (4 KiB) of standard input, not 8192"
std::string TooShortText(uint64_t has_bytes, const std::string& source, uint64_t wanted_bytes) {
  return absl::StrCat("there are only ", Bytes(has_bytes), " of ", source, ", not ", wanted_bytes,
                      " bytes");
}

// What is left of a file that is standard input; kUnknownSize of a pipe.
uint64_t LeftIn(const UniqueFd& fd) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return kUnknownSize;
  const off_t at = lseek(fd.get(), 0, SEEK_CUR);
  // Files of /proc have no size, and bytes all the same.
  return at >= 0 && at < info.st_size ? static_cast<uint64_t>(info.st_size - at) : kUnknownSize;
}

// How many bytes will move; kUnknownSize from a pipe.
absl::StatusOr<uint64_t> SizeToMove(const TransferJob& job, const Side& source) {
  if (source.is_pipe()) {
    if (job.source_offset_bytes != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(source.name, " cannot be read from an offset, only from its start"));
    }
    const uint64_t left_bytes = LeftIn(source.pipe);
    if (job.size_bytes.value_or(0) <= left_bytes) return job.size_bytes.value_or(left_bytes);
    return absl::InvalidArgumentError(TooShortText(left_bytes, source.name, *job.size_bytes));
  }
  const uint64_t has_bytes = source.endpoint->size_bytes();
  if (job.source_offset_bytes > has_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("offset ", job.source_offset_bytes,
                                                   " is beyond the end of ", source.name,
                                                   ", which has ", Bytes(has_bytes)));
  }
  const uint64_t left_bytes = has_bytes - job.source_offset_bytes;
  if (job.size_bytes.value_or(0) > left_bytes) {
    return absl::InvalidArgumentError(TooShortText(
        left_bytes, absl::StrCat(source.name, " from offset ", job.source_offset_bytes, " on"),
        *job.size_bytes));
  }
  return job.size_bytes.value_or(left_bytes);
}

absl::Status CheckBlocks(const TransferJob& job, const Side& destination, uint64_t size_bytes) {
  const uint32_t block_bytes = destination.endpoint->block_bytes();
  if (job.destination_offset_bytes % block_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("offset ", job.destination_offset_bytes,
                                                   " is not a multiple of the block size of ",
                                                   destination.name, ", ", block_bytes, " bytes"));
  }
  if (size_bytes == kUnknownSize || job.pad_last_block || size_bytes % block_bytes == 0) {
    return absl::OkStatus();
  }
  return PartOfABlockError(size_bytes, *destination.endpoint);
}

// The part of the destination that may be written.
absl::StatusOr<ByteRange> RoomIn(const TransferJob& job, const Side& destination,
                                 uint64_t size_bytes) {
  if (const absl::Status fits = CheckBlocks(job, destination, size_bytes); !fits.ok()) return fits;
  const uint64_t has_bytes = destination.endpoint->size_bytes();
  const uint64_t block_bytes = destination.endpoint->block_bytes();
  const uint64_t offset_bytes = std::min(job.destination_offset_bytes, has_bytes);
  const uint64_t room_bytes = has_bytes - offset_bytes;
  const bool known = size_bytes != kUnknownSize;
  const uint64_t needed_bytes =
      known ? size_bytes + (block_bytes - size_bytes % block_bytes) % block_bytes : 0;
  if (needed_bytes > room_bytes || job.destination_offset_bytes > has_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat(destination.name, " is too small: it has ", Bytes(has_bytes), ", and ",
                     known ? Bytes(size_bytes) : "data", " would be written at offset ",
                     job.destination_offset_bytes));
  }
  return ByteRange{.offset_bytes = offset_bytes, .size_bytes = room_bytes};
}

struct Opened {
  Side source;
  Side destination;
  uint64_t size_bytes = kUnknownSize;
  ByteRange room;  // of a destination that is no pipe
};

absl::StatusOr<Opened> Open(const TransferJob& job, const DeviceOpener& open_device) {
  if (!job.source.is_uri() && !job.destination.is_uri()) {
    return absl::InvalidArgumentError(
        absl::StrCat("neither ", job.source.text, " nor ", job.destination.text,
                     " is a URI (scheme://...): one of the two must be"));
  }
  absl::StatusOr<Side> source = OpenSource(job.source, open_device);
  if (!source.ok()) return source.status();
  const absl::StatusOr<uint64_t> size_bytes = SizeToMove(job, *source);
  if (!size_bytes.ok()) return size_bytes.status();
  absl::StatusOr<Side> destination = OpenDestination(job.destination, open_device, *size_bytes);
  if (!destination.ok()) return destination.status();
  Opened opened{*std::move(source), *std::move(destination), *size_bytes, {}};
  if (opened.destination.is_pipe()) return opened;
  if (!opened.source.is_pipe()) {
    const absl::Status two =
        CheckTwoStores("a copy", *opened.source.endpoint, *opened.destination.endpoint);
    if (!two.ok()) return two;
  }
  const absl::StatusOr<ByteRange> room = RoomIn(job, opened.destination, opened.size_bytes);
  if (!room.ok()) return room.status();
  opened.room = *room;
  return opened;
}

// No more threads than there are pieces.
int DepthFor(const TransferJob& job, uint64_t size_bytes, const PieceLimits& limits) {
  const uint64_t pieces = size_bytes / limits.data_bytes + 1;
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(job.depth), pieces));
}

std::unique_ptr<PieceSource> MakeSource(const TransferJob& job, const Opened& opened,
                                        const PieceLimits& limits) {
  if (opened.source.is_pipe()) {
    return std::make_unique<PipeSource>(opened.source.name, opened.source.pipe.get(),
                                        opened.size_bytes, limits);
  }
  const ByteRange range{.offset_bytes = job.source_offset_bytes, .size_bytes = opened.size_bytes};
  return std::make_unique<RangeSource>(opened.source.endpoint.get(), range, limits);
}

std::unique_ptr<PieceSink> MakeSink(const TransferJob& job, const Opened& opened) {
  if (opened.destination.is_pipe()) {
    return std::make_unique<PipeSink>(opened.destination.name, opened.destination.pipe.get());
  }
  return std::make_unique<EndpointSink>(opened.destination.endpoint.get(), opened.room,
                                        job.pad_last_block ? LastBlock::kPad : LastBlock::kRefuse);
}

// What is there after a failure. `is_cut`: nothing is behind the first bytes.
std::string HowFar(const TransferCounts& counts, const Location& to, const std::string& destination,
                   bool is_cut) {
  // A file is new or truncated by now.
  if (!counts.touched && to.is_uri()) return "nothing was written";
  if (counts.all_moved) {
    return absl::StrCat("all ", Bytes(counts.bytes), " are written, but may not be durable in ",
                        destination);
  }
  if (is_cut) {
    return absl::StrCat("the first ", Bytes(counts.prefix_bytes), " are written, not flushed; ",
                        destination, " is incomplete: it was cut to them");
  }
  const uint64_t behind_bytes = counts.bytes - counts.prefix_bytes;
  if (counts.prefix_bytes == 0) {
    return absl::StrCat(
        behind_bytes == 0
            ? "nothing is known to be written"
            : absl::StrCat(behind_bytes, " bytes are written, but not the first ones"),
        "; ", destination, " is incomplete");
  }
  return absl::StrCat("the first ", Bytes(counts.prefix_bytes), " are written",
                      behind_bytes == 0 ? "" : absl::StrCat(", and ", behind_bytes, " behind them"),
                      ", not flushed; ", destination, " is incomplete");
}

// A file that is too short was refused before; the end of a pipe is only known now.
absl::Status CheckLength(const Opened& opened, const TransferCounts& counts) {
  if (opened.size_bytes == kUnknownSize || counts.bytes == opened.size_bytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(TooShortText(counts.bytes, opened.source.name, opened.size_bytes),
                   "; those that there are were written"));
}

}  // namespace

absl::Status RunTransferJob(const TransferJob& job, const TransferHooks& hooks,
                            TransferSummary* summary) {
  const absl::StatusOr<Opened> opened = Open(job, hooks.open_device);
  if (!opened.ok()) return opened.status();
  if (hooks.on_open) hooks.on_open();

  TransferOptions options;
  options.depth = DepthFor(job, opened->size_bytes, options.limits);
  if (!opened->destination.is_pipe()) {
    options.limits.alignment_bytes = opened->destination.endpoint->block_bytes();
  }
  const uint64_t total_bytes = opened->size_bytes == kUnknownSize ? 0 : opened->size_bytes;
  const MonotonicTime started = MonotonicNow();
  if (hooks.tick) {
    options.tick = [&](uint64_t done_bytes) {
      return hooks.tick(done_bytes, total_bytes, MonotonicNow() - started);
    };
  }
  const std::unique_ptr<PieceSource> source = MakeSource(job, *opened, options.limits);
  const std::unique_ptr<PieceSink> sink = MakeSink(job, *opened);
  if (hooks.on_slow_stop) {
    options.on_slow_stop = [&](int num_pieces) {
      hooks.on_slow_stop(num_pieces, sink->waits_for_reader());
    };
  }
  const absl::Status moved = RunTransfer(source.get(), sink.get(), options, &summary->counts);
  summary->elapsed = MonotonicNow() - started;
  if (moved.ok()) return CheckLength(*opened, summary->counts);
  const bool is_cut = !summary->counts.all_moved && !opened->destination.is_pipe() &&
                      opened->destination.endpoint->CutTo(summary->counts.prefix_bytes);
  // Copied, not made anew: what the initiator attached says which exit code fits.
  absl::Status failed(moved.code(), absl::StrCat(moved.message(), " (",
                                                 HowFar(summary->counts, job.destination,
                                                        opened->destination.name, is_cut),
                                                 ")"));
  moved.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { failed.SetPayload(url, payload); });
  return failed;
}

}  // namespace vof
