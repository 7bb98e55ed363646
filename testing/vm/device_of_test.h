// SPDX-License-Identifier: Apache-2.0
//
// The RDMA device of a test that runs in a guest, and on this machine with one in memory: a file
// for each.
#ifndef VOF_TESTING_VM_DEVICE_OF_TEST_H_
#define VOF_TESTING_VM_DEVICE_OF_TEST_H_

#include <memory>

#include "backends/verbs/verbs_calls.h"

namespace vof {

std::shared_ptr<VerbsCalls> DeviceOfTest();

}  // namespace vof

#endif  // VOF_TESTING_VM_DEVICE_OF_TEST_H_
