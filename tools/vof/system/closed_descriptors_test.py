# SPDX-License-Identifier: Apache-2.0
"""Programs that are started without stdin, stdout or stderr: what they open is not what they print to.

    closed_descriptors_test.py VOF VOF-TARGET VOF-TARGET-TCP
"""

import itertools
import os
import signal
import subprocess
import sys
import time
import unittest

from tools.vof_target import target_process

VOF, *TARGETS = (os.path.abspath(path) for path in sys.argv[1:4])
CLOSED = [closed for count in range(4) for closed in itertools.combinations(range(3), count)]
CONTENT = bytes(range(256)) * 4096  # 1 MiB
DEADLINE_S = target_process.START_TIMEOUT_S


def without(descriptors):
    """For Popen(preexec_fn=...)."""
    def close():
        for fd in descriptors:
            os.close(fd)
    return close


class ClosedDescriptorsTest(target_process.ScratchTestCase):
    """Every combination of the three."""

    def setUp(self):
        super().setUp()
        self.starts = 0

    def assert_content(self, path, expected=CONTENT):
        with open(path, 'rb') as file:
            self.assertTrue(file.read() == expected, f'{path} has changed')

    def start(self, program, closed):
        """A target of disk.img; its process and the URI."""
        self.starts += 1
        ready = self.path(f'ready{self.starts}')
        process = subprocess.Popen(
            [program, '--listen', 'tcp://127.0.0.1:0', '--log-level', 'trace', '--ready-file', ready,
             '--blk', f'name=a,store=file,path={self.path("disk.img")}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=without(closed))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + DEADLINE_S
        while not os.path.exists(ready):
            self.assertIsNone(process.poll(), f'closed: {closed}')
            self.assertLess(time.monotonic(), deadline, f'closed: {closed}')
            time.sleep(0.01)
        with open(ready, encoding='utf-8') as file:
            return process, file.read().strip()

    def test_nothing_is_written_into_a_disk(self):
        for program in TARGETS:
            for closed in CLOSED:
                with self.subTest(program=os.path.basename(program), closed=closed):
                    disk = self.path('disk.img', CONTENT)
                    process, uri = self.start(program, closed)
                    target_process.connect(uri).close()
                    for fd in closed:
                        self.assertEqual(os.readlink(f'/proc/{process.pid}/fd/{fd}'), '/dev/null')
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(DEADLINE_S), 0)
                    self.assert_content(disk)

    def test_errors_of_a_start_are_not_written_into_a_disk(self):
        disk = self.path('disk.img', CONTENT)
        for closed in CLOSED:
            done = subprocess.run(
                [TARGETS[0], '--listen', 'tcp://192.0.2.1:0', '--blk', f'name=a,store=file,path={disk}'],
                capture_output=True, preexec_fn=without(closed), timeout=DEADLINE_S, check=False)
            self.assertEqual(done.returncode, 1, closed)
            self.assert_content(disk)

    def test_vof_prints_into_none_of_its_files(self):
        self.path('disk.img', CONTENT)
        process, uri = self.start(TARGETS[0], ())
        source, sink = self.path('source', CONTENT), self.path('sink')
        for closed in CLOSED:
            with self.subTest(closed=closed):
                for arguments in (['copy', source, uri], ['copy', uri, sink],
                                  ['read', '--length', '1M', '--output', sink, uri],
                                  ['write', '--input', source, uri], ['verify', source, uri]):
                    done = subprocess.run([VOF] + arguments, capture_output=True, check=False,
                                          preexec_fn=without(closed), timeout=DEADLINE_S)
                    # Without a stdout the work is done, but nobody is told of it.
                    self.assertEqual(done.returncode, 1 if 1 in closed else 0, (arguments, done))
                    self.assert_content(source)
                    if sink in arguments:
                        self.assert_content(sink)
                        os.remove(sink)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE_S), 0)
        self.assert_content(self.path('disk.img'))

    def test_data_do_not_go_nowhere(self):
        self.path('disk.img', CONTENT)
        _, uri = self.start(TARGETS[0], ())
        for closed, stream, commands in (
                ((1,), 'standard output', (['info', uri], ['info', '--json', uri], ['--help'],
                                           ['read', uri], ['copy', uri, '-'])),
                ((0,), 'standard input', (['write', uri], ['copy', '-', uri]))):
            for arguments in commands:
                with self.subTest(arguments):
                    done = subprocess.run([VOF] + arguments, capture_output=True, check=False,
                                          preexec_fn=without(closed), timeout=DEADLINE_S)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn(f'{stream}: Bad file descriptor'.encode(), done.stderr)
        done = subprocess.run([VOF, 'copy', '--quiet', self.path('source', CONTENT), uri],
                              check=False, preexec_fn=without(range(3)), timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
