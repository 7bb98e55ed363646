// SPDX-License-Identifier: Apache-2.0
//
// A lock_guard that tries for a while before it sleeps.
//
//   const PatientLock lock(mutex_);
//
// For two threads that poll what they share: each holds the mutex for less than it takes to wake a
// thread, which on a virtual machine is fifty microseconds and more.
#ifndef VOF_BACKENDS_LOOPBACK_PATIENT_LOCK_H_
#define VOF_BACKENDS_LOOPBACK_PATIENT_LOCK_H_

#include <mutex>
#include <thread>

namespace vof {

class PatientLock {
 public:
  explicit PatientLock(std::mutex& mutex) : mutex_(mutex) {
    constexpr int kAttempts = 400;
    for (int i = 0; i < kAttempts; ++i) {
      if (mutex_.try_lock()) return;
      Pause();
    }
    mutex_.lock();
  }
  ~PatientLock() { mutex_.unlock(); }
  PatientLock(const PatientLock&) = delete;
  PatientLock& operator=(const PatientLock&) = delete;

 private:
  static void Pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }

  std::mutex& mutex_;
};

}  // namespace vof

#endif  // VOF_BACKENDS_LOOPBACK_PATIENT_LOCK_H_
