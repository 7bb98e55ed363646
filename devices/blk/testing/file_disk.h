// SPDX-License-Identifier: Apache-2.0
//
// A block device over a file, with one queue, for tests of the file store.
//
//   Disk disk = MakeDisk({.path = image.path(), .create_size_bytes = 1 << 20});
//   BlkDriverDouble driver(disk.queue.get());
#ifndef VOF_DEVICES_BLK_TESTING_FILE_DISK_H_
#define VOF_DEVICES_BLK_TESTING_FILE_DISK_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>

#include "devices/blk/blk_device.h"
#include "devices/blk/store_file.h"
#include "gtest/gtest.h"

namespace vof {

struct Disk {
  std::shared_ptr<BlkDevice> device;
  std::unique_ptr<DeviceQueue> queue;
};

inline Disk MakeDisk(const FileStoreOptions& file, const BlkOptions& options = {}) {
  auto store = MakeFileStore(file);
  EXPECT_TRUE(store.ok()) << store.status();
  Disk disk;
  auto device = MakeBlkDevice(options, *store);
  EXPECT_TRUE(device.ok()) << device.status();
  disk.device = *device;
  disk.queue = *disk.device->OpenQueue(0);
  disk.queue->Activate(disk.device->features());
  return disk;
}

inline uint64_t FileSize(const std::string& path) {
  struct stat s = {};
  EXPECT_EQ(stat(path.c_str(), &s), 0);
  return static_cast<uint64_t>(s.st_size);
}

}  // namespace vof

#endif  // VOF_DEVICES_BLK_TESTING_FILE_DISK_H_
