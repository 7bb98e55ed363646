// SPDX-License-Identifier: Apache-2.0
//
// Text that somebody else chose, made fit for a line of a log or a terminal.
//
//   Quoted("disk0")            // "disk0", with the quotes
//   Quoted("a\nb\x1b[31m")     // "a\nb\x1b[31m" spelled out: one line, no escape sequence
//   Printable("no \"a\nb\"")    // no "a\nb", the line end spelled out
//
// Any thread.
#ifndef VOF_CORE_BASE_QUOTED_H_
#define VOF_CORE_BASE_QUOTED_H_

#include <string>
#include <string_view>

namespace vof {

// In double quotes. UTF-8 that can be seen stays as it is; quotes and backslashes get a backslash;
// control characters, what is not UTF-8, and what reorders or hides text (bidirectional controls,
// zero width, fillers, variants, line separators) are written as \n, \r, \t, \xNN or \u{NNNN}.
std::string Quoted(std::string_view text);

// The same without the quotes, for text that has its own: quotes and backslashes stay. What Quoted
// or Printable made stays as it is.
std::string Printable(std::string_view text);

}  // namespace vof

#endif  // VOF_CORE_BASE_QUOTED_H_
