// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/fabric_library.h"

#include <dlfcn.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace vof {
namespace {

constexpr char kFileName[] = "libfabric.so.1";

// What every signal does, taken before and given back after somebody else's code has run.
class SignalsKept {
 public:
  SignalsKept() {
    for (size_t i = 1; i < before_.size(); ++i) {
      known_[i] = sigaction(static_cast<int>(i), nullptr, &before_[i]) == 0;
    }
  }
  ~SignalsKept() {
    for (size_t i = 1; i < before_.size(); ++i) {
      if (known_[i]) sigaction(static_cast<int>(i), &before_[i], nullptr);
    }
  }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  static constexpr size_t kSignals = 32;  // the classic ones
  std::array<struct sigaction, kSignals> before_ = {};
  std::array<bool, kSignals> known_ = {};
};

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

absl::StatusOr<FabricLibrary> Open() {
  const SignalsKept signals;
  void* const library = dlopen(kFileName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot load libfabric (Debian: apt install libfabric1): ", dlerror()));
  }
  FabricLibrary found;
  if (Find(library, "fi_getinfo", &found.getinfo) &&
      Find(library, "fi_freeinfo", &found.freeinfo) &&
      Find(library, "fi_dupinfo", &found.dupinfo) &&
      Find(library, "fi_fabric", &found.open_fabric) &&
      Find(library, "fi_strerror", &found.strerror)) {
    // The providers are looked for by the first question, whatever it is.
    fi_info* first = nullptr;
    if (found.getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, nullptr, &first) == 0) {
      found.freeinfo(first);
    }
    return found;
  }
  return absl::UnavailableError(absl::StrCat("cannot use ", kFileName, ": ", dlerror()));
}

// What dlopen loads is the process's, so its outcome may be as well.
const absl::StatusOr<FabricLibrary>& Outcome() {
  static const auto* const outcome = new absl::StatusOr<FabricLibrary>(Open());
  return *outcome;
}

}  // namespace

absl::StatusOr<const FabricLibrary*> FabricLibrary::Load() {
  const absl::StatusOr<FabricLibrary>& outcome = Outcome();
  if (!outcome.ok()) return outcome.status();
  return &*outcome;
}

const FabricLibrary& FabricLibrary::Loaded() {
  Check(Outcome().ok(), "libfabric was loaded by whoever has something of it");
  return *Outcome();
}

void FabricLibrary::PrepareProcess() { setenv("IPATH_NO_BACKTRACE", "1", /*overwrite=*/0); }

}  // namespace vof
