// SPDX-License-Identifier: Apache-2.0
//
// What a user may name as source or destination: a URI, a file, or - for standard input and output.
//
//   const Location from = LocationOf("tcp://host/disk0");     // kUri
//   const Location to = LocationOf("-");                       // kStandard
#ifndef VOF_TOOLS_VOF_TRANSFER_LOCATION_H_
#define VOF_TOOLS_VOF_TRANSFER_LOCATION_H_

#include <cstdint>
#include <string>

namespace vof {

enum class LocationKind : uint8_t { kUri, kFile, kStandard };

struct Location {
  LocationKind kind = LocationKind::kFile;
  std::string text;

  bool is_uri() const { return kind == LocationKind::kUri; }
};

// Whatever begins like scheme:// is a URI; a file of such a name is written ./scheme://...
inline Location LocationOf(const std::string& text) {
  if (text == "-") return {LocationKind::kStandard, text};
  const size_t colon = text.find("://");
  const bool is_uri = colon != std::string::npos && colon > 0 &&
                      text.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789+-.") == colon;
  return {is_uri ? LocationKind::kUri : LocationKind::kFile, text};
}

}  // namespace vof

#endif  // VOF_TOOLS_VOF_TRANSFER_LOCATION_H_
