// SPDX-License-Identifier: Apache-2.0
//
// The data path of one queue on a file where io_uring is not to be had: plain system calls, made
// where the operation is submitted.
//
//   InlineFileQueue queue(file, zeros);      // MakeFileStore(...)->OpenQueue() does this
//
// Every call holds up whatever else its thread serves, for as long as the device takes.
#ifndef VOF_DEVICES_BLK_INLINE_FILE_QUEUE_H_
#define VOF_DEVICES_BLK_INLINE_FILE_QUEUE_H_

#include <memory>
#include <span>

#include "devices/blk/block_store.h"
#include "devices/blk/file_handle.h"
#include "devices/blk/file_operation.h"
#include "devices/blk/file_reach.h"
#include "devices/blk/zero_area.h"

namespace vof {

class InlineFileQueue final : public StoreQueue {
 public:
  InlineFileQueue(std::shared_ptr<FileHandle> file, std::shared_ptr<const ZeroArea> zeros);

  void Submit(std::span<StoreOperation* const> batch) override;

 private:
  void Run(StoreOperation* operation);

  const std::shared_ptr<FileHandle> file_;
  const std::shared_ptr<const ZeroArea> zeros_;
  FileReach::Queue reach_;
  FileRules rules_;
  FileOperation file_operation_;
};

}  // namespace vof

#endif  // VOF_DEVICES_BLK_INLINE_FILE_QUEUE_H_
