// SPDX-License-Identifier: Apache-2.0
#include "devices/net/net_features.h"

#include "devices/net/net_wire.h"

namespace vof {
namespace {

struct Need {
  uint64_t feature;
  uint64_t needs_one_of;
};

constexpr Need kNeeds[] = {
    {kNetFeatureGuestTso4, kNetFeatureGuestChecksum},
    {kNetFeatureGuestTso6, kNetFeatureGuestChecksum},
    {kNetFeatureGuestEcn, kNetFeatureGuestTso4 | kNetFeatureGuestTso6},
    {kNetFeatureGuestUfo, kNetFeatureGuestChecksum},
    {kNetFeatureGuestUso4, kNetFeatureGuestChecksum},
    {kNetFeatureGuestUso6, kNetFeatureGuestChecksum},
    {kNetFeatureHostTso4, kNetFeatureChecksum},
    {kNetFeatureHostTso6, kNetFeatureChecksum},
    {kNetFeatureHostEcn, kNetFeatureHostTso4 | kNetFeatureHostTso6},
    {kNetFeatureHostUfo, kNetFeatureChecksum},
    {kNetFeatureHostUso, kNetFeatureChecksum},
    {kNetFeatureControlRx, kNetFeatureControlQueue},
    {kNetFeatureControlVlan, kNetFeatureControlQueue},
    {kNetFeatureControlRxExtra, kNetFeatureControlQueue},
    {kNetFeatureGuestAnnounce, kNetFeatureControlQueue},
    {kNetFeatureMultiQueue, kNetFeatureControlQueue},
    {kNetFeatureControlMacAddress, kNetFeatureControlQueue},
    // Not in the list of 5.1.3.1, but its commands are sent there.
    {kNetFeatureControlGuestOffloads, kNetFeatureControlQueue},
    {kNetFeatureRss, kNetFeatureControlQueue},
    {kNetFeatureHashReport, kNetFeatureControlQueue},
};

}  // namespace

uint64_t LackingNetFeatures(uint64_t features) {
  uint64_t lacking = 0;
  for (const Need& need : kNeeds) {
    if ((features & need.feature) != 0 && (features & need.needs_one_of) == 0) {
      lacking |= need.needs_one_of;
    }
  }
  return lacking;
}

uint64_t ConsistentNetFeatures(uint64_t offered) {
  uint64_t before = 0;
  // What is left out may have been needed by something else.
  while (before != offered) {
    before = offered;
    for (const Need& need : kNeeds) {
      if ((offered & need.needs_one_of) == 0) offered &= ~need.feature;
    }
  }
  return offered;
}

uint64_t GuestOffloadsOf(uint64_t features) {
  return features &
         (kNetFeatureGuestChecksum | kNetFeatureGuestTso4 | kNetFeatureGuestTso6 |
          kNetFeatureGuestEcn | kNetFeatureGuestUfo | kNetFeatureGuestUso4 | kNetFeatureGuestUso6);
}

}  // namespace vof
