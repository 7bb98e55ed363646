# SPDX-License-Identifier: Apache-2.0
"""Rules over whole files: length, licence line, header guard, white space, length of functions."""

import posixpath
import re

from testing.style.cpp_functions import LostTrack, find_functions
from testing.style.violation import Violation

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70

_LICENCE = 'SPDX-License-Identifier: Apache-2.0'


def is_cpp(path):
    """C++ sources and headers."""
    return path.endswith(('.h', '.cc'))


def is_source(path, source):
    """Files that a person writes and that can carry a comment."""
    name = posixpath.basename(path)
    if path.endswith(('.h', '.cc', '.py', '.sh', '.bzl', '.proto', '.cmake')):
        return True
    return name in ('BUILD.bazel', 'WORKSPACE', '.bazelrc') or source.startswith('#!')


def check_length(path, source):
    """Files of 400 lines and more are several files. Build files are lists, and may be long."""
    if posixpath.basename(path) == 'BUILD.bazel':
        return []
    lines = source.count('\n')
    if lines < MAX_FILE_LINES:
        return []
    return [
        Violation(path, lines, 'file-length',
                  f'{lines} lines; the limit is {MAX_FILE_LINES - 1}: split it by concern')
    ]


def check_functions(path, source):
    """C++ functions of 70 lines and more are several functions."""
    try:
        functions = find_functions(source)
    except LostTrack as error:
        return [Violation(path, 1, 'function-length', f'cannot find the functions: {error}')]
    return [
        Violation(
            path, function.first_line, 'function-length',
            f'{function.name} has {function.length_lines} lines; the limit is {MAX_FUNCTION_LINES - 1}')
        for function in functions
        if function.length_lines >= MAX_FUNCTION_LINES
    ]


def check_licence(path, source):
    """The first line, or the second after #!, names the licence."""
    lines = source.split('\n', 2)
    first = lines[1] if source.startswith('#!') and len(lines) > 1 else lines[0]
    if first.lstrip('/# ').rstrip() == _LICENCE:
        return []
    return [Violation(path, 1, 'licence', f'the file does not open with "{_LICENCE}"')]


def check_guard(path, source):
    """A header is guarded by `#pragma once` or by a macro that spells its path."""
    if re.search(r'^#pragma once$', source, re.MULTILINE):
        return []
    guard = 'VOF_' + re.sub(r'[^A-Z0-9]', '_', path.upper()) + '_'
    opening = re.search(r'^#ifndef (\w+)\n#define (\w+)$', source, re.MULTILINE)
    if opening and opening.group(1) == opening.group(2) == guard:
        return []
    return [Violation(path, 1, 'header-guard', f'no `#ifndef {guard}` with its #define')]


def check_white_space(path, source):
    """No tabs, no blanks at the end of lines, no carriage returns, one line break at the end."""
    violations = []
    for number, line in enumerate(source.split('\n'), start=1):
        if '\t' in line:
            violations.append(Violation(path, number, 'white-space', 'a tab'))
        if line != line.rstrip():
            violations.append(Violation(path, number, 'white-space', 'blanks at the end of the line'))
    if source and (not source.endswith('\n') or source.endswith('\n\n')):
        violations.append(
            Violation(path, source.count('\n'), 'white-space', 'the file ends with one line break'))
    return violations
