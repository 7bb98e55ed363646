// SPDX-License-Identifier: Apache-2.0
// A main() for fuzz targets built without libFuzzer: replays files, and every prefix of them.
//
//   my_fuzz_bin FILE_OR_DIRECTORY...
//
// Exits with 1 when there was nothing to replay, so that a lost corpus does not look like success.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

// Above this size the prefixes are sampled: replaying all of them costs the square of the size.
constexpr size_t kMaxPrefixesPerFile = 2048;

std::vector<fs::path> ListInputs(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const fs::path path(argv[i]);
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const fs::directory_entry& entry :
         fs::recursive_directory_iterator(path, fs::directory_options::follow_directory_symlink)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A fresh allocation of exactly `size_bytes`, so that AddressSanitizer sees a read past the end.
void RunPrefix(const std::vector<uint8_t>& bytes, size_t size_bytes) {
  const std::vector<uint8_t> exact(bytes.begin(),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(size_bytes));
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void Replay(const std::vector<uint8_t>& bytes) {
  const size_t step = bytes.size() / kMaxPrefixesPerFile + 1;
  for (size_t size_bytes = 0; size_bytes < bytes.size(); size_bytes += step) {
    RunPrefix(bytes, size_bytes);
  }
  RunPrefix(bytes, bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = ListInputs(argc, argv);
  if (files.empty()) {
    std::cerr << "replay: no input files; usage: " << argv[0] << " FILE_OR_DIRECTORY...\n";
    return 1;
  }
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::cerr << "replay: cannot read " << file << "\n";
      return 1;
    }
    // Printed first: the last name on the screen is the one that crashed.
    std::cerr << "replay: " << file.string() << std::endl;
    Replay(std::vector<uint8_t>(std::istreambuf_iterator<char>(stream), {}));
  }
  std::cerr << "replay: " << files.size() << " inputs, all their prefixes included\n";
  return 0;
}
