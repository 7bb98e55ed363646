// SPDX-License-Identifier: Apache-2.0
#include "testing/bench/bare_loop.h"
#include "testing/bench/bare_options.h"

int main(int argc, char** argv) {
  return vof::bench::BareMain(argc, argv, "bare-loop", vof::bench::RunBareLoop);
}
