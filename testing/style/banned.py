# SPDX-License-Identifier: Apache-2.0
"""Calls and constructs that this code base does without, and where."""

import re
from typing import Callable, NamedTuple

from testing.style.cpp_text import code_only, line_of
from testing.style.violation import Violation

TEST_FILE = re.compile(r'(_(test|fuzz|benchmark|fixture|test_peer|test_util|testlib)\.(cc|h)$)|/testing/|/test_\w+\.(cc|h)$')


def _everywhere(path):
    del path
    return True


def _libraries(path):
    return path.startswith(('core/', 'devices/', 'backends/')) and not is_test(path)


def _core(path):
    return path.startswith('core/') and not is_test(path)


def _pure(path):
    return path.startswith(('core/engine/', 'core/wire/', 'core/device/')) and not is_test(path)


def is_test(path):
    """Tests beside the code are held to fewer rules than the code."""
    return TEST_FILE.search(path) is not None


class Ban(NamedTuple):
    """A pattern over code without comments and literals, the files it holds for, and the remedy."""

    rule: str
    pattern: re.Pattern
    applies: Callable[[str], bool]
    message: str


def _call(names):
    """A call of one of the functions, as such or through std:: or ::, not a method of that name."""
    return re.compile(r'(?<![\w.>:])(?:std\s*::\s*|::\s*)?\b(?:' + names + r')\s*\(')


BANS = [
    Ban('unbounded-string', _call('strcpy|strcat|sprintf|vsprintf|gets|strncpy|strtok'), _everywhere,
        'writes without a limit, or cuts silently: use std::string, absl::StrCat or a span'),
    Ban('number-parsing', _call('atoi|atol|atoll|atof|sscanf'), _everywhere,
        'does not report errors: use absl::SimpleAtoi or std::from_chars'),
    Ban('rand', _call('rand|srand|drand48'), _everywhere,
        'cannot be replayed: use a seeded generator'),
    Ban('assert', re.compile(r'(?<![\w.>:])assert\s*\(|#[ \t]*include[ \t]*<cassert>'), _everywhere,
        'vanishes with NDEBUG and is wrong for peers: use the checks of core/base or an error'),
    Ban('alloca', _call('alloca|__builtin_alloca'), _everywhere, 'has no limit: use a sized buffer'),
    Ban('longjmp', _call('setjmp|longjmp'), _everywhere, 'skips destructors'),
    Ban('using-namespace', re.compile(r'\busing\s+namespace\s+(?!.*literals\b)'), _everywhere,
        'name what you use'),
    Ban('absl-mutex', re.compile(r'\babsl\s*::\s*(?:Mutex|MutexLock|Notification|CondVar)\b'),
        _everywhere, "Debian's Abseil is not built for ThreadSanitizer: use std::mutex"),
    Ban('iostream', re.compile(r'\bstd\s*::\s*(?:cout|cerr|clog)\b|#[ \t]*include[ \t]*<iostream>'),
        _libraries, 'a library does not own the terminal: return a status or use the log'),
    Ban('printf', _call('printf|fprintf|vprintf|puts|putchar'), _libraries,
        'a library does not own the terminal: return a status or use the log'),
    Ban('exit', _call('exit|_exit|quick_exit'), _libraries, 'a library does not end the program'),
    Ban('throw', re.compile(r'\bthrow\b'), _libraries, 'no exceptions: return absl::Status or a code'),
    Ban('sleep', re.compile(r'\bsleep_(?:for|until)\b|(?<![\w.>])(?:usleep|nanosleep|sleep)\s*\('),
        _core, 'a reactor never sleeps by itself: use its timers'),
    Ban('clock', re.compile(r'\b(?:steady|system|high_resolution)_clock\b|\bclock_gettime\b'), _pure,
        'state machines are given `now`'),
    Ban('pragma-pack', re.compile(r'#[ \t]*pragma[ \t]+pack\b'), _everywhere,
        'assert size and offsets instead of packing'),
]

_BARE_NOLINT = re.compile(r'//\s*NOLINT(?:NEXTLINE|BEGIN|END)?(?!\w|\()')


def check_banned(path, source):
    """Reports banned constructs of a C++ file."""
    violations = []
    code = code_only(source)
    for ban in BANS:
        if not ban.applies(path):
            continue
        for match in ban.pattern.finditer(code):
            found = ' '.join(match.group(0).split())
            violations.append(
                Violation(path, line_of(code, match.start()), ban.rule, f'`{found}` {ban.message}'))
    for match in _BARE_NOLINT.finditer(source):
        violations.append(
            Violation(path, line_of(source, match.start()), 'bare-nolint',
                      'NOLINT without the name of a check: write NOLINT(check-name)'))
    return violations
