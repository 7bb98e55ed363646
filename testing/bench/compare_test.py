# SPDX-License-Identifier: Apache-2.0
"""What testing/bench/compare does before it measures: answers at once, and builds beside the checkout.

    compare_test.py COMPARE
"""

import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = os.path.abspath(sys.argv[1])
NO_BAZEL = '#!/bin/sh\necho "$@" >>"$(dirname "$0")/calls"\nexit 9\n'


class CompareTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.calls = os.path.join(self.folder, 'calls')
        bazel = os.path.join(self.folder, 'bazel')
        with open(bazel, 'w', encoding='ascii') as script:
            script.write(NO_BAZEL)
        os.chmod(bazel, 0o755)

    def compare(self, *arguments):
        environment = {'PATH': self.folder + ':' + os.environ['PATH'], 'VOF_CACHE': '/cache'}
        return subprocess.run([COMPARE, *arguments], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def test_help_and_wrong_flags_build_nothing(self):
        for arguments in (['--help'], ['--rounds', '3', '-h']):
            done = self.compare(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('usage: testing/bench/compare ', done.stdout)
            self.assertNotIn('--bin-dir', done.stdout)
        for arguments in (['--round', 'x'], ['--rounds', '0'], ['--only', 'disk'],
                          ['--json', '/nonexistent/x'], ['x']):
            self.assertEqual(self.compare(*arguments).returncode, 2, arguments)
        self.assertFalse(os.path.exists(self.calls))

    def test_builds_where_quickstart_does(self):
        self.assertEqual(self.compare('--only', 'file').returncode, 9)
        with open(self.calls, encoding='ascii') as calls:
            call = calls.read()
        for part in ('--output_user_root=/cache/bazel ', '--output_base=/cache/bazel/opt-',
                     ' --config=opt ', ' --symlink_prefix=/ ', ' --disk_cache=/cache/disk '):
            self.assertIn(part, call)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
