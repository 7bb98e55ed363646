// SPDX-License-Identifier: Apache-2.0
#include "tools/common/machine_memory.h"

#include <gtest/gtest.h>

namespace vof {
namespace {

TEST(MachineMemoryTest, TheMachineHasSome) { EXPECT_GT(MachineMemoryBytes(), uint64_t{1} << 24); }

}  // namespace
}  // namespace vof
