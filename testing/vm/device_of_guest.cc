// SPDX-License-Identifier: Apache-2.0
#include "testing/vm/device_of_test.h"

namespace vof {

std::shared_ptr<VerbsCalls> DeviceOfTest() { return RealVerbsCalls(); }

}  // namespace vof
