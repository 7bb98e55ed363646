# SPDX-License-Identifier: Apache-2.0
"""What the system tests of vof share: a target with a few disks, and runs of the program.

    class InfoTest(VofTestCase):
        def test_capacity(self):
            self.assertEqual(self.json('info', self.uri('mem'))['capacity_bytes'], 64 << 20)

The programs are the first two arguments of the test: VOF VOF-TARGET.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from tools.vof_target.target_process import ScratchTestCase, TargetProcess

VOF = os.path.abspath(sys.argv[1])
TARGET = os.path.abspath(sys.argv[2])
TIMEOUT_S = 120  # sanitizers on a busy machine
MIB = 1 << 20

OK, FAILED, USAGE, CANNOT_CONNECT, REFUSED, TIMEOUT, DATA_DIFFER, UNSUPPORTED = range(8)
KINDS = ['ok', 'failed', 'usage', 'cannot-connect', 'refused', 'timeout', 'data-differ',
         'unsupported']

DISKS = {
    'mem': 'store=memory,size=64M,queues=4',
    'other': 'store=memory,size=64M',
    'small': 'store=memory,size=1M',
    'big': 'store=memory,size=32M,block_size=4096',
    'fixed': 'store=memory,size=1M,read_only=true',
    'null': 'store=null,size=1G,queues=4',
}


def random_bytes(size, seed=1):
    return random.Random(seed).randbytes(size)


class VofTestCase(ScratchTestCase):
    """One target for the class; a scratch directory for each test."""

    listen = 'tcp://127.0.0.1:0'
    target_flags = []

    @classmethod
    def setUpClass(cls):
        arguments = ['--listen', cls.listen] + cls.target_flags
        for name, options in DISKS.items():
            arguments += ['--blk', f'name={name},{options}']
        cls.target = TargetProcess(TARGET, arguments, expected_uris=len(DISKS))
        cls.addClassCleanup(cls.target.stop)
        cls.uris = {uri.rsplit('/', 1)[1]: uri for uri in cls.target.uris}

    def content(self, path):
        with open(path, 'rb') as file:
            return file.read()

    def uri(self, name, query=''):
        return self.uris[name] + query

    @contextlib.contextmanager
    def copy_to_a_target_that_hangs(self, *flags):
        """A `vof copy` whose pieces have no answer while the context lasts."""
        process = subprocess.Popen([VOF, 'copy', '-', self.uri('mem'), *flags],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(b'x' * (4 * MIB))
        process.stdin.flush()
        time.sleep(1)
        self.target.signal(signal.SIGSTOP)
        try:
            process.stdin.write(b'y' * (4 * MIB))
            process.stdin.flush()
            time.sleep(0.5)
            yield process
        finally:
            self.target.signal(signal.SIGCONT)

    def run_vof(self, *arguments, stdin=b''):
        """Exit code, stdout and stderr as bytes and text."""
        done = subprocess.run([VOF] + list(arguments), input=stdin, capture_output=True,
                              timeout=TIMEOUT_S, check=False)
        error = done.stderr.decode()
        self.assertNotIn('terminate called', error)
        self.assertNotIn('    #0', error)
        return done.returncode, done.stdout, error

    def ok(self, *arguments, stdin=b''):
        """A run that must succeed; its stdout."""
        code, out, error = self.run_vof(*arguments, stdin=stdin)
        self.assertEqual((code, error), (OK, ''), f'{arguments}: {out!r}')
        return out

    def json(self, *arguments, stdin=b''):
        """The one document of a run that must succeed."""
        return json.loads(self.ok(*arguments, '--json', stdin=stdin))

    def json_of_failure(self, code, *arguments, stdin=b''):
        """The one document of a run that must fail with that code."""
        actual, out, error = self.run_vof(*arguments, '--json', stdin=stdin)
        self.assertEqual((actual, error), (code, ''), out)
        return json.loads(out)

    def assert_fails(self, code, arguments, *parts, stdin=b''):
        """Fails with that code: one line for people on stderr, and the same as JSON on stdout."""
        actual, out, error = self.run_vof(*arguments, stdin=stdin)
        self.assertEqual((actual, out), (code, b''), error)
        self.assertTrue(error.startswith('vof'), error)
        self.assertIn('error: ', error)
        for part in parts:
            self.assertIn(part, error)

        actual, out, error = self.run_vof(*arguments, '--json', stdin=stdin)
        self.assertEqual((actual, error), (code, ''), out)
        document = json.loads(out)
        self.assertEqual(list(document)[-1], 'error')  # a result may come before it
        self.assertEqual(document['error']['code'], code)
        self.assertEqual(document['error']['kind'], KINDS[code])
        for part in parts:
            self.assertIn(part, document['error']['message'])


def main():
    """Runs the tests of the calling module without the program names in its arguments."""
    del sys.argv[1:3]
    unittest.main()
