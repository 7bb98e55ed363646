// SPDX-License-Identifier: Apache-2.0
//
// A control queue of an initiator seen without its dialect and its transmission.
//
//   control->session().ReadConfig(fields, done);
//   control->Notify();                          // outside of a turn: somebody has to come and send
//
// One thread: the reactor's.
#ifndef VOF_CORE_ENGINE_INITIATOR_CONTROL_H_
#define VOF_CORE_ENGINE_INITIATOR_CONTROL_H_

#include "core/engine/initiator_session.h"

namespace vof {

class InitiatorControl {
 public:
  virtual InitiatorSession& session() = 0;
  // The session got an operation from outside of a turn.
  virtual void Notify() = 0;

 protected:
  ~InitiatorControl() = default;  // nobody owns an engine through this
};

}  // namespace vof

#endif  // VOF_CORE_ENGINE_INITIATOR_CONTROL_H_
