# SPDX-License-Identifier: Apache-2.0
"""Every rule finds what it is for and lets the neighbour of it pass."""

import os
import tempfile
import unittest

from testing.style import banned, files, layers, tree

_OPENING = '// SPDX-License-Identifier: Apache-2.0\n'


def _rules(violations):
    return sorted({violation.rule for violation in violations})


class BannedTest(unittest.TestCase):

    def _assert_banned(self, rule, path, *lines):
        for line in lines:
            self.assertIn(rule, _rules(banned.check_banned(path, line + '\n')), line)

    def _assert_clean(self, path, *lines):
        for line in lines:
            self.assertEqual(_rules(banned.check_banned(path, line + '\n')), [], line)

    def test_calls_banned_everywhere(self):
        path = 'tools/vof/x_test.cc'
        self._assert_banned('unbounded-string', path, 'strcpy(a, b);', '  std::sprintf(a, "b");',
                            'x = ::strtok (a, b);')
        self._assert_banned('number-parsing', path, 'int a = atoi(b);', 'if (std::atol(a)) {}')
        self._assert_banned('rand', path, 'return rand() % 3;', 'std::srand(1);')
        self._assert_banned('assert', path, 'assert(x);', '#include <cassert>')
        self._assert_banned('alloca', path, 'char* p = alloca(n);')
        self._assert_banned('using-namespace', path, 'using namespace std;')
        self._assert_banned('absl-mutex', path, 'absl::Mutex mutex;', 'absl::Notification done;')
        self._assert_banned('bare-nolint', path, 'x();  // NOLINT', '// NOLINTNEXTLINE')

    def test_libraries_own_no_terminal_and_do_not_throw(self):
        for path in ('core/wire/x.h', 'backends/tcp/x.cc', 'devices/blk/x.cc'):
            self._assert_banned('iostream', path, 'std::cout << 1;', '#include <iostream>')
            self._assert_banned('printf', path, 'printf("x");', 'std::fprintf(stderr, "x");')
            self._assert_banned('throw', path, 'throw 1;')
            self._assert_banned('exit', path, 'std::exit(1);')
        self._assert_clean('tools/vof/x.cc', 'std::cout << 1;', 'printf("x");', 'std::exit(1);')
        self._assert_clean('core/wire/x_test.cc', 'std::cerr << 1;', 'throw 1;')

    def test_core_never_sleeps_and_engines_have_no_clock(self):
        self._assert_banned('sleep', 'core/runtime/x.cc', 'usleep(1);',
                            'std::this_thread::sleep_for(x);')
        self._assert_banned('clock', 'core/engine/x.h', 'auto t = std::chrono::steady_clock::now();')
        self._assert_clean('core/runtime/x.cc', 'auto t = std::chrono::steady_clock::now();')
        self._assert_clean('core/engine/x_test.cc', 'auto t = std::chrono::steady_clock::now();')

    def test_neighbours_pass(self):
        self._assert_clean('core/wire/x.h', 'static_assert(sizeof(int) == 4);', 'x.assert(1);',
                           'snprintf(a, sizeof(a), "b");', '// strcpy(a, b)', 'Log("throw printf(");',
                           'std::mt19937_64 random(seed);', 'my_rand();', 'operand(1);',
                           'using namespace std::chrono_literals;', 'x();  // NOLINT(some-check)')


class FilesTest(unittest.TestCase):

    def test_file_length(self):
        self.assertEqual(files.check_length('a.cc', 'x\n' * 399), [])
        self.assertEqual(_rules(files.check_length('a.cc', 'x\n' * 400)), ['file-length'])
        self.assertEqual(files.check_length('a/BUILD.bazel', 'x\n' * 400), [])

    def test_function_length(self):
        body = '  Call();\n'
        self.assertEqual(files.check_functions('a.cc', 'void F() {\n' + body * 67 + '}\n'), [])
        long = files.check_functions('a.cc', 'void G() {\n' + body * 68 + '}\n')
        self.assertEqual(_rules(long), ['function-length'])
        self.assertIn('G has 70 lines', long[0].message)

    def test_a_file_that_cannot_be_followed_is_no_clean_file(self):
        self.assertEqual(_rules(files.check_functions('a.cc', 'void F() {\n')), ['function-length'])

    def test_licence(self):
        self.assertEqual(files.check_licence('a.cc', _OPENING), [])
        self.assertEqual(
            files.check_licence('a', '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n'), [])
        self.assertEqual(_rules(files.check_licence('a.cc', '#include "a.h"\n' + _OPENING)), ['licence'])
        self.assertEqual(
            _rules(files.check_licence('a.cc', '// SPDX-License-Identifier: MIT\n')), ['licence'])

    def test_header_guard(self):
        right = '#ifndef VOF_CORE_WIRE_X_H_\n#define VOF_CORE_WIRE_X_H_\n#endif\n'
        self.assertEqual(files.check_guard('core/wire/x.h', right), [])
        self.assertEqual(files.check_guard('core/wire/x.h', '#pragma once\n'), [])
        self.assertEqual(_rules(files.check_guard('core/wire/y.h', right)), ['header-guard'])
        self.assertEqual(_rules(files.check_guard('core/wire/x.h', 'int x;\n')), ['header-guard'])

    def test_white_space(self):
        self.assertEqual(files.check_white_space('a.cc', 'a\n\nb\n'), [])
        for source in ('a\tb\n', 'a \n', 'a\r\n', 'a', 'a\n\n'):
            self.assertEqual(_rules(files.check_white_space('a.cc', source)), ['white-space'], source)


class LayersTest(unittest.TestCase):

    def _assert_includes(self, clean, path, *names):
        for name in names:
            text = f'#include {name}\n' if name[0] == '<' else f'#include "{name}"\n'
            found = _rules(layers.check_includes(path, text))
            self.assertEqual(found, [] if clean else ['include-direction'], f'{path}: {name}')

    def test_downwards_is_right(self):
        self._assert_includes(True, 'core/engine/x.h', 'core/device/d.h', 'core/wire/w.h', '<vector>',
                              'core/engine/y.h', 'absl/status/status.h')
        self._assert_includes(True, 'core/runtime/x.cc', 'core/engine/e.h', '<sys/epoll.h>')
        self._assert_includes(True, 'devices/blk/x.cc', 'core/device/d.h', 'devices/blk/store.h')
        self._assert_includes(True, 'backends/tcp/x.cc', 'core/transport/t.h', '<sys/socket.h>')
        self._assert_includes(True, 'tools/vof/x.cc', 'devices/blk/b.h', 'backends/tcp/t.h')
        self._assert_includes(True, 'testing/sim/x.cc', 'tools/vof/v.h', 'core/base/b.h')
        self._assert_includes(True, 'core/engine/x_test.cc', 'testing/sim/s.h')

    def test_upwards_and_sideways_is_wrong(self):
        self._assert_includes(False, 'core/wire/x.h', 'core/memory/m.h', 'core/engine/e.h', 'x.h')
        self._assert_includes(False, 'core/device/x.h', 'core/transport/t.h', 'core/engine/e.h')
        self._assert_includes(False, 'core/engine/x.h', 'core/runtime/r.h', 'backends/tcp/t.h',
                              'testing/sim/s.h', '<sys/socket.h>', '<thread>', '<netinet/in.h>')
        self._assert_includes(False, 'devices/blk/x.h', 'backends/tcp/t.h', 'devices/net/n.h')
        self._assert_includes(False, 'backends/tcp/x.h', 'devices/blk/b.h', 'backends/loopback/l.h')
        self._assert_includes(False, 'tools/vof/x.h', 'testing/sim/s.h')


class TreeTest(unittest.TestCase):

    def test_an_excuse_needs_the_rule_and_a_reason(self):
        for comment, rules in (('// style: allow(rand) test data', []),
                               ('// style: allow(rand)', ['rand']),
                               ('// style: allow(assert) test data', ['rand'])):
            source = _OPENING + f'{comment}\nint x = rand();\n'
            self.assertEqual(_rules(tree.check_file('tools/x.cc', source)), rules, comment)

    def test_only_sources_are_checked(self):
        self.assertEqual(tree.check_file('docs/x.md', 'strcpy(a, b) \n'), [])
        self.assertEqual(_rules(tree.check_file('tools/x', '#!/bin/sh\ntrue \n')),
                         ['licence', 'white-space'])

    def test_lists_the_tree_without_what_is_not_ours(self):
        with tempfile.TemporaryDirectory() as root:
            for path in ('core/a.cc', '.git/b.cc', 'bazel-out/c.cc', 'testing/golden/d.cc'):
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as stream:
                    stream.write('x\n')
            self.assertEqual(tree.list_files(root), ['core/a.cc'])


if __name__ == '__main__':
    unittest.main()
