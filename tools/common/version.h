// SPDX-License-Identifier: Apache-2.0
//
// The version that every program prints for --version. CHANGELOG.md says what is in it.
#ifndef VOF_TOOLS_COMMON_VERSION_H_
#define VOF_TOOLS_COMMON_VERSION_H_

namespace vof {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_VERSION_H_
