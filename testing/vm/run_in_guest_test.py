# SPDX-License-Identifier: Apache-2.0
"""run_in_guest passes everything through, stops what hangs and leaves nothing behind."""

import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

_RUNNER = os.path.abspath('testing/vm/run_in_guest')
_PASS_THROUGH = os.path.abspath('testing/vm/pass_through.sh')


def _start(*arguments, **kwargs):
    return subprocess.Popen([_RUNNER, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **kwargs)


class RunInGuestTest(unittest.TestCase):
    """Cases that boot do as much as they can in one guest."""

    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.path = pathlib.Path(self._directory.name).resolve()

    def test_everything_passes_through_and_two_run_at_once(self):
        """Arguments, environment, directory, both outputs, files, large exit codes, signals."""
        output = self.path / 'out, put'
        output.mkdir()
        (output / 'from_the_host').touch()
        odd = 'a\'b "c" $d\n\\e*'
        environment = dict(os.environ, ODD_VARIABLE=odd, OUTPUT_DIRECTORY=str(output))
        first = _start('--output', output, '--', _PASS_THROUGH, '--', odd, '', cwd=self.path,
                       env=environment)
        second = _start('--cpus', 1, '--memory', 512, 'sh', '-c', 'nproc; kill -SEGV $$')
        stdout, stderr = first.communicate()
        self.assertEqual(stderr, b'no newline at the end of stderr')
        expected = f'directory {self.path}\nargument <-->\nargument <{odd}>\nargument <>\n' \
            f'variable <{odd}>\nguest 1\n' + 'x' * 300000 + 'from_the_host\n'
        self.assertEqual(stdout.decode(), expected)
        self.assertEqual(first.returncode, 200)
        self.assertEqual((output / 'written').read_text(), 'from the guest\n')
        self.assertFalse((self.path / 'not_written').exists())
        self.assertEqual(second.communicate(), (b'1\n', b''))
        self.assertEqual(second.returncode, 128 + signal.SIGSEGV)

    def test_stops_a_command_that_hangs(self):
        """The timeout counts from the start of the command; what it said before is not lost."""
        hanging = _start('--timeout', 1, 'sh', '-c', 'echo started; sleep 1000')
        stdout, stderr = hanging.communicate()
        self.assertEqual(stdout, b'started\n')
        self.assertEqual(stderr.decode(), 'run_in_guest: stopped sh after 1 s (--timeout)\n')
        self.assertEqual(hanging.returncode, 124)

    def _interrupt(self, number):
        """Starts a guest, sends the signal, waits for the end of QEMU; the exit code."""
        guest = _start('sleep', 1000, env=dict(os.environ, TMPDIR=str(self.path)))
        children = pathlib.Path(f'/proc/{guest.pid}/task/{guest.pid}/children')
        while not (qemu := children.read_text().split()):
            self.assertIsNone(guest.poll())
        while 'qemu' not in pathlib.Path(f'/proc/{qemu[0]}/cmdline').read_text().split('\0')[0]:
            self.assertIsNone(guest.poll())
        guest.send_signal(number)
        guest.communicate()
        # After SIGKILL it is the kernel that ends QEMU, in its own time.
        deadline = time.monotonic() + 10
        while pathlib.Path('/proc', qemu[0]).exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return guest.returncode

    def test_an_interrupt_ends_the_guest(self):
        """Neither QEMU nor a temporary file survives."""
        self.assertEqual(self._interrupt(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertEqual(list(self.path.iterdir()), [])

    def test_a_killed_runner_takes_the_guest_along(self):
        """As Bazel kills a test that takes too long."""
        self.assertEqual(self._interrupt(signal.SIGKILL), -signal.SIGKILL)

    def test_refuses_bad_options(self):
        """With the code of its own failures, before anything boots."""
        for arguments, text in (((), 'which command?'), (('--timeout', '0', 'true'), '--timeout'),
                                (('--drop-cap', 'ipc_lock', 'true'), 'CAP_IPC_LOCK'),
                                (('--nonsense', 'true'), '--nonsense')):
            refused = _start(*arguments)
            _, stderr = refused.communicate()
            self.assertEqual(refused.returncode, 125, arguments)
            self.assertIn(text, stderr.decode())


if __name__ == '__main__':
    unittest.main()
