// SPDX-License-Identifier: Apache-2.0
#include "backends/ofi/fabric_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>

namespace vof {
namespace {

// What each signal does now: a test framework may have set some.
std::map<int, sighandler_t> Handlers() {
  std::map<int, sighandler_t> handlers;
  for (const int number : {SIGINT, SIGTERM, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGPIPE}) {
    struct sigaction now = {};
    EXPECT_EQ(sigaction(number, nullptr, &now), 0);
    handlers[number] = now.sa_handler;
  }
  return handlers;
}

// One process: what is loaded stays loaded.
TEST(FabricLibraryTest, IsLoadedWhenAskedForAndLeavesSignalsAlone) {
  ASSERT_EQ(dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD), nullptr) << "it is linked";
  signal(SIGPIPE, SIG_IGN);
  const std::map<int, sighandler_t> before = Handlers();
  const absl::StatusOr<const FabricLibrary*> library = FabricLibrary::Load();
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(Handlers(), before);
  EXPECT_EQ(*FabricLibrary::Load(), &FabricLibrary::Loaded());
  EXPECT_STREQ((*library)->strerror(2), "No such file or directory");
}

}  // namespace
}  // namespace vof
