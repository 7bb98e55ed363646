// SPDX-License-Identifier: Apache-2.0
//
// A connection between two ends of the simulator, whatever travels on it: who has to be woken, and
// what the network does to it.
//
//   if (wire->CanRead(SimWire::kTarget)) ... poll the target's connection ...
//   wire->Break();
#ifndef VOF_TESTING_SIM_SIM_WIRE_H_
#define VOF_TESTING_SIM_SIM_WIRE_H_

namespace vof {

class SimWire {
 public:
  static constexpr int kInitiator = 0;
  static constexpr int kTarget = 1;

  virtual ~SimWire() = default;
  // Readiness, as a descriptor would report it.
  virtual bool CanRead(int side) const = 0;
  virtual bool CanWrite(int side) const = 0;
  // What is under way is lost, both ends get an error.
  virtual void Break() = 0;
  // The network swallows everything and tells nobody.
  virtual void Blackhole() = 0;
};

}  // namespace vof

#endif  // VOF_TESTING_SIM_SIM_WIRE_H_
