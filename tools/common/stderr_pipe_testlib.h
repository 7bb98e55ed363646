// SPDX-License-Identifier: Apache-2.0
//
// Something that somebody may read in the place of standard error, or not.
//
//   StderrPipe pipe;        // or StderrPipe pipe(reader, writer), which it closes
//   pipe.Fill();
//   ...
//   std::string text = pipe.Read();      // what there is
#ifndef VOF_TOOLS_COMMON_STDERR_PIPE_TESTLIB_H_
#define VOF_TOOLS_COMMON_STDERR_PIPE_TESTLIB_H_

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace vof {

class StderrPipe {
 public:
  StderrPipe() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) Replace(ends[0], ends[1]);
  }
  StderrPipe(int reader, int writer) { Replace(reader, writer); }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;
  ~StderrPipe() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    if (reader_ >= 0) close(reader_);
  }

  // Until nothing fits any more. The descriptor stays one whose writes wait.
  static void Fill() {
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    const std::string much(4096, '.');
    while (write(STDERR_FILENO, much.data(), much.size()) > 0) {
    }
    while (write(STDERR_FILENO, ".", 1) > 0) {
    }
    fcntl(STDERR_FILENO, F_SETFL, flags);
  }
  // What there is; of a terminal perhaps a moment later.
  std::string Read() const {
    std::string text;
    pollfd state = {.fd = reader_, .events = POLLIN, .revents = 0};
    while (poll(&state, 1, 0) > 0 && ReadSome(&text)) {
    }
    return text;
  }
  // Waits for as many lines, and perhaps reads some more.
  std::string ReadLines(int64_t lines) const {
    std::string text;
    while (std::count(text.begin(), text.end(), '\n') < lines && ReadSome(&text)) {
    }
    return text;
  }
  void CloseReader() {
    close(reader_);
    reader_ = -1;
  }

 private:
  bool ReadSome(std::string* text) const {
    char part[4096];
    const ssize_t count = read(reader_, part, sizeof(part));
    if (count > 0) text->append(part, static_cast<size_t>(count));
    return count > 0;
  }
  void Replace(int reader, int writer) {
    reader_ = reader;
    saved_ = dup(STDERR_FILENO);
    dup2(writer, STDERR_FILENO);
    close(writer);
  }

  int reader_ = -1, saved_ = -1;
};

}  // namespace vof

#endif  // VOF_TOOLS_COMMON_STDERR_PIPE_TESTLIB_H_
