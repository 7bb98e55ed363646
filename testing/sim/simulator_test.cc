// SPDX-License-Identifier: Apache-2.0
//
// Runs many seeds of the simulator, or one.
//
//   simulator_test --seed 4711 --verbose        // replays one, and tells what happens
//   simulator_test --seeds 100000               // the first so many; else VOF_SIM_SEEDS
//   simulator_test --bug lost-write             // with a bug put in: must fail (sim_plan.h)
//
// Shards of a test run (TEST_SHARD_INDEX) take turns.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "testing/sim/sim_plan.h"
#include "testing/sim/sim_world.h"

// Called before a sanitizer ends the process, if there is one.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

constexpr uint64_t kDefaultSeeds = 300;
constexpr int kMostFailures = 5;

// What a crash says: async-signal-safe, hence global.
char g_crash_text[64] = "";

void TellSeed() {
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, g_crash_text, std::strlen(g_crash_text));
}

void OnCrash(int signal_number) {
  TellSeed();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

uint64_t NumberIn(const char* text, uint64_t fallback) {
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

struct Arguments {
  bool one = false;
  uint64_t seed = 0;
  uint64_t seeds = kDefaultSeeds;
  bool verbose = false;
  vof::SimBug bug = vof::SimBug::kNone;
  std::string replay_bug;  // what a replay has to say of it
};

// An empty string when the seed holds.
std::string RunSeed(uint64_t seed, const Arguments& arguments, vof::SimTotals* totals) {
  std::snprintf(g_crash_text, sizeof(g_crash_text), "crashed in seed %llu\n",
                static_cast<unsigned long long>(seed));
  vof::SimWorld world(vof::MakeSimPlanWithBug(seed, arguments.bug), arguments.verbose);
  std::string failure = world.Run();
  const vof::SimTotals of_seed = world.totals();
  totals->steps += of_seed.steps;
  totals->requests += of_seed.requests;
  totals->virtual_time += of_seed.virtual_time;
  return failure;
}

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  arguments->seeds = NumberIn(std::getenv("VOF_SIM_SEEDS"), kDefaultSeeds);
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    const bool has_value = i + 1 < argc;
    if (key == "--verbose") {
      arguments->verbose = true;
    } else if (key == "--seed" && has_value) {
      arguments->one = true;
      arguments->seed = NumberIn(argv[++i], 0);
    } else if (key == "--seeds" && has_value) {
      arguments->seeds = NumberIn(argv[++i], kDefaultSeeds);
    } else if (key == "--bug" && has_value && vof::SimBugNamed(argv[i + 1])) {
      arguments->bug = *vof::SimBugNamed(argv[++i]);
      arguments->replay_bug = std::string(" --bug ") + argv[i];
    } else {
      std::fprintf(stderr, "usage: %s [--seed N] [--seeds COUNT] [--bug NAME] [--verbose]\n",
                   argv[0]);
      return false;
    }
  }
  return true;
}

int RunOne(const Arguments& arguments) {
  vof::SimTotals totals;
  const std::string failure = RunSeed(arguments.seed, arguments, &totals);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(arguments.seed),
              failure.empty() ? "ok" : failure.c_str());
  return failure.empty() ? 0 : 1;
}

int RunMany(const Arguments& arguments) {
  if (const char* path = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream(path).put('\n');
  const uint64_t shards = NumberIn(std::getenv("TEST_TOTAL_SHARDS"), 1);
  const uint64_t shard = NumberIn(std::getenv("TEST_SHARD_INDEX"), 0);
  vof::SimTotals totals;
  int failures = 0;
  uint64_t run = 0;
  for (uint64_t seed = shard; seed < arguments.seeds && failures < kMostFailures; seed += shards) {
    const std::string failure = RunSeed(seed, arguments, &totals);
    ++run;
    if (failure.empty()) continue;
    ++failures;
    std::printf("seed %llu: %s\n  replay it with --seed %llu%s --verbose\n",
                static_cast<unsigned long long>(seed), failure.c_str(),
                static_cast<unsigned long long>(seed), arguments.replay_bug.c_str());
  }
  std::printf("%llu seeds: %d failed, %llu requests, %llu steps, %.0f s of virtual time\n",
              static_cast<unsigned long long>(run), failures,
              static_cast<unsigned long long>(totals.requests),
              static_cast<unsigned long long>(totals.steps),
              static_cast<double>(totals.virtual_time) / 1e9);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!ParseArguments(argc, argv, &arguments)) return 2;
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(TellSeed);
  } else {
    for (int crash : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(crash, OnCrash);
  }
  return arguments.one ? RunOne(arguments) : RunMany(arguments);
}
