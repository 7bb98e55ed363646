# SPDX-License-Identifier: Apache-2.0
"""What is right in a configuration, but not on this machine.

    machine_test.py PROGRAM
"""

import os
import sys
import tempfile
import unittest

from tools.vof_target import target_process

PROGRAM = os.path.abspath(sys.argv[1])
SERVE = ['--listen', 'tcp://127.0.0.1:0', '--blk', 'name=mem0,store=memory,size=16M']
USAGE = 2


class CpuTest(unittest.TestCase):
    """CPUs that the process may not use are wrong usage, as in vof."""

    def test_flags_name_the_cpu_and_what_there_is(self):
        for cpu in ('4095', '4096', '1000000'):
            with self.subTest(cpu):
                status, out, err = target_process.run(PROGRAM, SERVE + ['--cpus', cpu])
                self.assertEqual((status, out), (USAGE, ''), err)
                self.assertIn('error: --cpus: ', err)
                self.assertIn(cpu, err)

    def test_files_are_right_elsewhere(self):
        with tempfile.TemporaryDirectory() as scratch:
            config = os.path.join(scratch, 'cpus.conf')
            with open(config, 'w', encoding='utf-8') as file:
                file.write('reactors { cpus: "4095" }')
            arguments = SERVE + ['--config', config]
            status, out, err = target_process.run(PROGRAM, arguments)
            self.assertEqual((status, out), (USAGE, ''), err)
            self.assertIn(f'{config}:1:12: CPU 4095', err)
            self.assertIn('it may use', err)
            self.assertEqual(target_process.run(PROGRAM, arguments + ['--check']), (0, '', ''))

    def test_only_those_of_the_process_count(self):
        allowed = sorted(os.sched_getaffinity(0))
        if len(allowed) < 2:
            self.skipTest('one CPU only')
        first, last = allowed[0], allowed[-1]
        status, _, err = target_process.run(
            PROGRAM, SERVE + ['--cpus', str(last)],
            preexec_fn=lambda: os.sched_setaffinity(0, {first}))
        self.assertEqual(status, USAGE, err)
        self.assertIn(f'CPU {last} ', err)
        self.assertIn(f'it may use {first} ', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
