// SPDX-License-Identifier: Apache-2.0
//
// An open disk image or block device: opening, locking, size, and what it can do. Control only.
//
//   absl::StatusOr<std::shared_ptr<FileHandle>> file = FileHandle::Open({.path = "/var/disk.img"});
//   pread((*file)->fd(), ...);
#ifndef VOF_DEVICES_BLK_FILE_HANDLE_H_
#define VOF_DEVICES_BLK_FILE_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/blk/direct_alignment.h"
#include "devices/blk/file_reach.h"
#include "devices/blk/store_error.h"

namespace vof {

enum class FileIo : uint8_t {
  kAuto,   // io_uring; where the kernel or a sandbox does not offer it, as kCalls
  kUring,  // io_uring or an error
  kCalls,  // plain system calls on the thread that serves the queue, which they hold up. Not direct
};

struct FileStoreOptions {
  std::string path;  // a regular file or a block device
  bool read_only = false;
  // O_DIRECT: past the page cache. Where the device underneath has blocks of 4096 bytes, the disk
  // must too (BlkOptions::block_size_bytes), and requests that are not multiples of them are
  // errors: completing them by reading the rest of the block would lose what another queue writes
  // into it meanwhile.
  bool direct = false;
  FileIo io = FileIo::kAuto;
  // Not 0: a file that does not exist is created, sparse, with this size. One that exists keeps its
  // size.
  uint64_t create_size_bytes = 0;
  // Resize changes the length of a regular file. False: it only follows a change that somebody else
  // made.
  bool truncate_on_resize = true;
  StoreErrorObserver on_error = nullptr;  // told of each operation that fails; may be empty
  // Told, on the opening thread, when the file has been created, even if opening fails later. May
  // be empty.
  std::function<void(const std::string& path)> on_created = nullptr;
  // Told, on the opening thread, why io_uring is not used although it might have been
  // (FileIo::kAuto). May be empty.
  std::function<void(const absl::Status& why)> on_plain_calls = nullptr;
};

class FileHandle {
 public:
  // Takes a lock on the file (flock; shared if read-only, else exclusive): two targets never write
  // to one file. Refused at once when another one has it. The lock is on a descriptor of its own,
  // which no io_uring ever sees: the kernel lets go of the files of a ring late, but of this one
  // when it is closed or when the process ends, however that ends.
  static absl::StatusOr<std::shared_ptr<FileHandle>> Open(const FileStoreOptions& options);
  ~FileHandle();
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  const std::string& path() const { return options_.path; }
  int fd() const { return fd_; }
  bool direct() const { return options_.direct; }
  bool read_only() const { return options_.read_only; }
  const StoreErrorObserver& on_error() const { return options_.on_error; }
  const DirectAlignment& alignment() const { return alignment_; }  // of direct I/O
  bool can_discard() const { return can_discard_; }
  uint32_t physical_block_bytes() const { return physical_block_bytes_; }
  uint32_t optimal_io_bytes() const { return optimal_io_bytes_; }

  FileIo io() const { return options_.io; }

  // The size that is served. Any thread. Sequentially consistent, for FileReach.
  uint64_t size_bytes() const { return size_bytes_.load(); }
  // A shrink waits for changes under way behind the new end, for at most FileReach::kLongestWait.
  absl::Status Resize(uint64_t size_bytes);
  // Queues say here how far their changes reach.
  FileReach* reach() { return &reach_; }

  // After a failed sync the kernel forgets which data it did not write, and the next sync succeeds.
  // This remembers, so that no later flush says that all is well. Cured by opening the file again.
  bool lost_writes() const { return lost_writes_.load(std::memory_order_relaxed); }
  void SetLostWrites() { lost_writes_.store(true, std::memory_order_relaxed); }

  // The file was found to end at `end_bytes` or before although the disk goes on: somebody has cut
  // it. Writes make it longer again, with zeros where data was, so reads beyond this end fail from
  // now on. Cured by opening the file again, or by a Resize that takes the lost range off the disk.
  void NoteEnd(uint64_t end_bytes);
  // Whether `operation` reads what a cut took away.
  bool IsCutOff(const StoreOperation& operation) const {
    return operation.verb == StoreVerb::kRead && operation.offset_bytes + operation.length_bytes >
                                                     cut_at_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kNotCut = UINT64_MAX;

  FileHandle(const FileStoreOptions& options, int lock_fd, int fd)
      : options_(options), lock_fd_(lock_fd), fd_(fd) {}
  absl::Status Inspect();
  absl::Status InspectBlockDevice();
  absl::Status InspectRegularFile();
  absl::Status ChangeSize(uint64_t size_bytes);
  // The size that the file or device has now.
  absl::StatusOr<uint64_t> ActualSize() const;
  absl::Status Error(int error, const char* what) const;

  const FileStoreOptions options_;
  const int lock_fd_;
  const int fd_;
  bool is_block_device_ = false;
  DirectAlignment alignment_;
  bool can_discard_ = false;
  uint32_t physical_block_bytes_ = 0;
  uint32_t optimal_io_bytes_ = 0;
  std::atomic<uint64_t> size_bytes_ = 0;
  std::atomic<bool> lost_writes_ = false;
  std::atomic<uint64_t> cut_at_bytes_ = kNotCut;
  FileReach reach_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_FILE_HANDLE_H_
