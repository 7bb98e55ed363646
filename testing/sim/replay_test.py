# SPDX-License-Identifier: Apache-2.0
"""What the simulator prints of a seed that fails reproduces it, step by step."""
import re
import subprocess
import sys
import unittest

SEEDS = '60'
PROGRAM = ''  # an argument


def run(*flags):
    result = subprocess.run([PROGRAM, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=240, check=False)
    return result.returncode, result.stdout


class ReplayTest(unittest.TestCase):
    def check_bug(self, bug):
        code, out = run('--seeds', SEEDS, '--bug', bug)
        self.assertEqual(code, 1, out)
        failures = re.findall(r'^(seed \d+: .*(?:\n(?!  replay).*)*)\n  replay it with (.*)$', out, re.M)
        self.assertGreaterEqual(len(failures), 2, out)
        for failure, flags in failures[:2]:
            code, replayed = run(*flags.split())
            self.assertEqual(code, 1, replayed)
            self.assertTrue(replayed.endswith(failure + '\n'), replayed[-2000:] + '\nis not\n' + failure)
            self.assertIn('SABOTAGE', replayed)
            self.assertIn('FAILED: ' + failure.split(': ', 1)[1].splitlines()[0], replayed)
            self.assertEqual(run(*flags.split()), (1, replayed), 'two replays differ')

    def test_wrong_contents(self):
        self.check_bug('lost-write')

    def test_a_session_that_stands_still(self):
        self.check_bug('lost-completion')

    def test_a_leak_at_the_end(self):
        self.check_bug('leaked-buffer')

    def test_a_key_that_is_used_too_late(self):
        self.check_bug('late-key')

    def test_the_same_seed_without_the_bug_holds(self):
        code, out = run('--seed', '0')
        self.assertEqual((code, out), (0, 'seed 0: ok\n'))

    def test_unknown_words_are_refused(self):
        for flags in (['--bug', 'gremlin'], ['--seed'], ['--faster']):
            code, out = run(*flags)
            self.assertEqual(code, 2)
            self.assertIn('usage: ', out)


if __name__ == '__main__':
    PROGRAM = sys.argv.pop(1)
    unittest.main()
