# SPDX-License-Identifier: Apache-2.0
"""What the target's log tells an administrator, and what peers cannot make it tell.

    log_test.py PROGRAM
"""

import os
import sys
import tempfile
import unittest

from testing.hostile import wire
from tools.vof_target import target_process
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
LISTEN = ['--listen', 'tcp://127.0.0.1:0']
MEMORY = ['--blk', 'name=mem0,store=memory,size=16M']


class LogTest(unittest.TestCase):
    """What an administrator reads."""

    def log_of(self, *arguments, visit):
        with TargetProcess(PROGRAM, LISTEN + MEMORY + list(arguments)) as target:
            visit(target.uris[0])
            self.assertEqual(target.stop(), 0)
            return target.log

    def test_sessions_at_info(self):
        def visit(uri):
            first = target_process.connect(uri)
            with target_process.dial(uri) as second:
                self.assertNotEqual(target_process.connect_status(second, 'mem0', b'\2' * 16), 0)
            with target_process.dial(uri) as third:
                self.assertNotEqual(target_process.connect_status(third, 'none'), 0)
            first.close()

        log = self.log_of(visit=visit)
        for part in ('of "mem0" accepted: v5, from "test-initiator" at 127.0.0.1:',
                     'session of "mem0" refused (the device is in exclusive use by session',
                     'session of "none" refused (no device of this name is served)',
                     'of "mem0" ended (closed by the peer)',
                     '1 sessions accepted, 2 refused, 1 ended (1 closed by the peer)'):
            self.assertIn(part, log)

    def test_the_summary_is_the_last_line_and_adds_up(self):
        with TargetProcess(PROGRAM, LISTEN + MEMORY + ['--drain-timeout', '0']) as target:
            with target_process.connect(target.uris[0]):
                self.assertEqual(target.stop(), 0)
            lines = target.log.splitlines()
        self.assertIn('not drained after', target.log)
        self.assertIn('of "mem0" ended (', target.log)
        self.assertRegex(lines[-1], r'1 sessions accepted, 0 refused, 1 ended \(1 (stopped|drained)\)')

    def test_names_cannot_forge_lines(self):
        def visit(uri):
            with target_process.dial(uri) as peer:
                name = 'x\n2026-01-01 vof-target info drained\x1b[2J'
                self.assertNotEqual(target_process.connect_status(peer, name), 0)

        log = self.log_of(visit=visit)
        self.assertIn('"x\\n2026-01-01 vof-target info drained\\x1b[2J"', log)
        self.assertNotIn('\x1b[2J', log)

    def test_an_address_stands_once_in_a_line(self):
        log = self.log_of('--log-level', 'debug',
                          visit=lambda uri: target_process.connect(uri).close())
        for line in log.splitlines():
            if 'test-initiator' in line:
                self.assertEqual(line.count('127.0.0.1'), 1, line)

    def test_a_flood_of_refusals_is_limited(self):
        def visit(uri):
            for _ in range(500):
                with target_process.dial(uri) as peer:
                    target_process.connect_status(peer, 'none')

        log = self.log_of(visit=visit)
        self.assertLess(log.count('"none"'), 450)
        self.assertIn('500 refused', log)

    def test_errors_of_a_disk(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        disk = os.path.join(scratch.name, 'disk.img')
        blk = f'name=bad disk,store=file,path={disk},size=8M'
        with TargetProcess(PROGRAM, LISTEN + ['--blk', blk]) as target:
            os.truncate(disk, 4096)
            url = target_process.address_of(target.uris[0])
            control, queue = wire.open_session(url[:2], 'bad disk')
            for _ in range(100):
                status, _ = queue.block(wire.READ, 1024, in_bytes=4096)
                self.assertEqual(status, wire.IO_ERROR)
            queue.close()
            control.close()
            self.assertEqual(target.stop(), 0)
            self.assertIn('device "bad disk": read of 4096 bytes at offset 524288: the file ends',
                          target.log)
            self.assertLess(target.log.count('offset 524288'), 50)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
