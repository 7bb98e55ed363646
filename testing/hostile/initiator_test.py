# SPDX-License-Identifier: Apache-2.0
"""vof against targets that misbehave: a clean error, an exit code that fits, in time."""

import json
import os
import subprocess
import sys
import time
import unittest

from testing.hostile.fake_target import FakeTarget

VOF = os.path.abspath(sys.argv[1])
# Starting the program included, with sanitizers on a busy machine.
TIME_LIMIT_S = 60
FAILED, REFUSED, TIMED_OUT = 1, 4, 5


def twice(exchange):
    exchange.answer()
    exchange.answer()


class HostileInitiatorTest(unittest.TestCase):
    def run_vof(self, target, *words):
        done = subprocess.run([VOF, words[0], '--timeout', '1s', target.uri, *words[1:], '--json'],
                              capture_output=True, timeout=TIME_LIMIT_S)
        return done.returncode, json.loads(done.stdout)

    def expect(self, codes, what, verb=('read', '--output', '/dev/null'), **faults):
        with FakeTarget(**faults) as target:
            code, document = self.run_vof(target, *verb)
            self.assertIn(code, codes, f'{what}: {document}')
            self.assertTrue(document['error']['message'], what)

    def test_a_good_target_is_read(self):
        with FakeTarget() as target:
            code, _ = self.run_vof(target, 'read', '--output', '/dev/null')
            self.assertEqual(code, 0)

    def test_answers_on_a_virtqueue(self):  # field failure 5
        cases = {
            'unknown id': lambda e: e.answer(command_id=e.command_id + 77),
            'reserved id': lambda e: e.answer(command_id=0xffff),
            'event of the control queue': lambda e: e.answer(command_id=0xfffe),
            'credits that were not agreed': lambda e: e.answer(command_id=0xfffd, length=0),
            'used length above': lambda e: e.answer(length=e.in_length + 1),
            'used length at most': lambda e: e.answer(length=0xffffffff, data=bytes(1000)),
            'used length 0': lambda e: e.answer(length=0),
            'twice': twice,
            'garbage': lambda e: e.socket.sendall(os.urandom(100000)),
            'closed': lambda e: e.socket.close(),
            'half a completion': lambda e: (e.socket.sendall(bytes(7)), e.socket.close()),
            'failed by the transport': lambda e: e.answer(length=0, status=0x2010),
            'failed by the device': lambda e: e.answer(data=bytes(e.in_length - 1) + b'\x01'),
            'no status of virtio-blk': lambda e: e.answer(data=bytes(e.in_length - 1) + b'\x77'),
        }
        for what, misbehave in cases.items():
            self.expect((FAILED, REFUSED), what, on_request=misbehave)

    def test_silence_ends_with_the_time_out(self):
        started = time.monotonic()
        self.expect((TIMED_OUT,), 'silence', on_request=lambda e: None)
        self.assertLess(time.monotonic() - started, TIME_LIMIT_S / 2)

    def test_answers_on_the_control_queue(self):
        for opcode in (0x0000, 0x0004, 0x0200, 0x1001, 0x1006, 0x100a, 0x100c):
            cases = {
                'wrong id': lambda e: e.reply(command_id=e.command_id + 9),
                'garbage': lambda e: e.socket.sendall(b'\xa5' * 4096),
                'closed': lambda e: e.socket.close(),
                'twice': lambda e: (e.reply(), e.reply()),
            }
            for what, misbehave in cases.items():
                def on_control(exchange, misbehave=misbehave, opcode=opcode):
                    if exchange.opcode != opcode:
                        return False
                    misbehave(exchange)
                    return True
                self.expect((FAILED, 3, REFUSED, TIMED_OUT, 7), f'{what} to {opcode:#06x}',
                            verb=('info',), on_control=on_control)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
