# SPDX-License-Identifier: Apache-2.0
"""What the target's log tells an administrator, and what peers cannot make it tell.

    log_test.py PROGRAM
"""

import os
import subprocess
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


class NobodyReadsTest(target_process.ScratchTestCase):
    """A pipe behind stderr whose reader hangs: nothing waits for it."""

    def setUp(self):
        super().setUp()
        self.reader, self.writer = os.pipe()
        self.addCleanup(os.close, self.reader)
        self.addCleanup(os.close, self.writer)
        os.set_blocking(self.writer, False)
        for size in 4096, 1:
            try:
                while True:
                    os.write(self.writer, b'.' * size)
            except BlockingIOError:
                pass
        os.set_blocking(self.writer, True)  # the target shares this flag

    def start(self, *arguments):
        process = subprocess.Popen([PROGRAM, *LISTEN, *MEMORY, *arguments], text=True,
                                   stdout=subprocess.PIPE, stderr=self.writer)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def read_what_there_is(self):
        return os.read(self.reader, 1 << 20).decode().lstrip('.')

    def test_sessions_and_signals_go_on(self):
        process = self.start('--log-level', 'debug')
        uri = process.stdout.readline().strip()
        for _ in range(20):
            target_process.connect(uri).close()
        self.assertEqual(self.read_what_there_is(), '')
        with target_process.dial(uri) as peer:
            self.assertNotEqual(target_process.connect_status(peer, 'none'), 0)
        log = self.read_what_there_is()
        self.assertRegex(log.splitlines()[0], r'warning \d+ lines were lost: nobody read standard error$')
        self.assertEqual(log.count('were lost'), 1, log)
        process.terminate()
        self.assertEqual(process.wait(target_process.START_TIMEOUT_S), 0)

    def test_it_drains(self):
        process = self.start('--drain-timeout', '1s')
        uri = process.stdout.readline().strip()
        with target_process.connect(uri):
            process.terminate()
            self.assertEqual(process.wait(target_process.START_TIMEOUT_S), 0)

    def test_a_start_that_fails_ends(self):
        for arguments in ['--no-such-flag'], ['--listen', 'tcp://192.0.2.1:0']:
            self.assertNotEqual(self.start(*arguments).wait(target_process.START_TIMEOUT_S), 0)


class ManyErrorsTest(target_process.ScratchTestCase):
    """What a wrong configuration can make it print."""

    def errors_of(self, config):
        path = self.path('bad.conf', config)
        status, _, err = target_process.run(PROGRAM, LISTEN + ['--config', path, '--check'])
        self.assertEqual(status, 2)
        return err.splitlines()

    def test_a_hundred_and_how_many_more(self):
        lines = self.errors_of(b'device{blk{null{}}}' * 50000)
        self.assertEqual(len(lines), 101)
        self.assertRegex(lines[-1], r'error: and \d+ more$')

    def test_the_place_and_the_reason_of_a_long_one(self):
        for number in b'9' * 500000, b'"' + b'9' * 500000 + b'"':
            lines = self.errors_of(b'limits { pool_size: ' + number + b' }')
            self.assertLess(max(len(line) for line in lines), 1200, lines)
            self.assertRegex(lines[0], r'bad\.conf:1:\d+: ')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
