# SPDX-License-Identifier: Apache-2.0
"""Initiators that break the rules of remote memory access, against a target over libfabric's tcp.

    ofi_target_test.py VOF-TARGET VOF
"""

import os
import struct
import subprocess
import sys
import time
import unittest

from testing.hostile import ofi_wire
from tools.vof_target import target_process
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
VOF = os.path.abspath(sys.argv[2])
SECRET = b'SECRET-OF-OTHERS'
TOKEN = bytes(range(16))
DATA_BYTES = 256 << 10
# Everything that the attackers hold, and no more: one session may take half of it.
POOL = 16 << 20
HOG_BYTES = 4 << 20
MOST_WAIT_S = 25  # for memory, by docs/configuration.md 20
TIME_LIMIT_S = 120


class OfiTargetTest(unittest.TestCase):
    """One disk that the attacker may use, and somebody else's."""

    def setUp(self):
        self.target = TargetProcess(PROGRAM, [
            '--listen', 'ofi://127.0.0.1:0?provider=tcp', '--listen', 'tcp://127.0.0.1:0',
            '--pool-size', str(POOL), '--handshake-timeout', '60s',
            '--blk', 'name=own,store=memory,size=16M,shared=true',
            '--blk', 'name=other,store=memory,size=16M'], expected_uris=4)
        self.addCleanup(self.target.stop)
        self.ofi_other = next(u for u in self.target.uris if 'ofi' in u and '/other' in u)
        self.tcp_other = next(u for u in self.target.uris if 'tcp:' in u and '/other' in u)
        self.host, self.port, _ = target_process.address_of(self.ofi_other)

    def session(self, name='own', token=bytes(16)):
        session = ofi_wire.Session(self.host, self.port, name, token)
        self.addCleanup(session.close)
        return session

    def vof(self, *arguments, data=None):
        done = subprocess.run([VOF, *arguments], input=data, capture_output=True,
                              timeout=TIME_LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_answers_to_fetches_that_are_too_short_leave_nothing_of_others(self):
        for answer in (b'', b'0123456789abcdef'):
            with self.subTest(answer):
                self.vof('write', self.tcp_other, data=SECRET * (1 << 16))
                session = self.session()
                # Its header comes whole, or it would be no write.
                session.queue.on_fetch = lambda data, answer=answer: data[:16] + answer
                self.assertEqual(session.write(1, 8, b'A' * DATA_BYTES), (0, 0))
                session.queue.on_fetch = lambda data: data
                got = session.read(2, 8, DATA_BYTES)
                self.assertNotIn(SECRET, got)
                self.assertEqual(got, answer.ljust(DATA_BYTES, b'\0'))
                session.close()

    def test_an_empty_connect_is_not_that_of_the_one_before(self):
        victim = self.session('other', TOKEN)
        for instance, queue in ((victim.instance, 1), (ofi_wire.CONTROL, 0)):
            stranger = ofi_wire.Queue(self.host, self.port)
            self.addCleanup(stranger.close)
            stranger.on_fetch = lambda data: b''
            try:
                answer = stranger.command(ofi_wire.connect(instance, queue))
            except EOFError:
                continue
            self.assertNotEqual(struct.unpack_from('<H', answer)[0], 0)
        self.assertEqual(victim.write(1, 0, b'x' * 512), (0, 0))

    def hog(self):
        """Takes the whole pool, and answers no fetch."""
        hogs = [self.session() for _ in range(3)]
        for hog in hogs:
            hog.queue.on_fetch = lambda data: None
            for command_id in range(4):
                hog.queue.send(ofi_wire.request(
                    command_id, HOG_BYTES, 1, ofi_wire.descriptor(0x100000, HOG_BYTES, 5)
                    + ofi_wire.descriptor(0x900000, 1, 6)))
        return hogs

    def test_what_a_peer_sends_is_no_progress_with_what_it_owes(self):
        hogs = self.hog()
        writer = subprocess.Popen([VOF, 'write', self.tcp_other], stdin=subprocess.PIPE)
        self.addCleanup(writer.kill)
        writer.stdin.write(SECRET * (1 << 16))
        writer.stdin.close()
        started = time.monotonic()
        while writer.poll() is None and time.monotonic() - started < MOST_WAIT_S:
            for hog in hogs:
                try:
                    # Refused for its size, which is an answer.
                    hog.queue.send(ofi_wire.request(0x100, 8 << 20, 1))
                except OSError:
                    pass
            time.sleep(0.3)
        self.assertEqual(writer.wait(1), 0)

    def test_a_connect_waits_for_memory(self):
        hogs = self.hog()
        self.assertIn(b'other', self.vof('info', self.ofi_other))
        self.assertTrue(any(hog.queue.is_closed(TIME_LIMIT_S) for hog in hogs))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
