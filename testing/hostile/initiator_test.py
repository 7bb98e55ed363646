# SPDX-License-Identifier: Apache-2.0
"""vof against targets that misbehave: a clean error, an exit code that fits, in time."""

import json
import os
import subprocess
import sys
import time
import unittest

from testing.hostile.fake_target import V5, FakeTarget, Ref, with_serial

VOF = os.path.abspath(sys.argv[1])
# Starting the program included, with sanitizers on a busy machine.
TIME_LIMIT_S = 60
FAILED, USAGE, CANNOT_CONNECT, REFUSED, TIMED_OUT, UNSUPPORTED = 1, 2, 3, 4, 5, 7


def twice(exchange):
    exchange.answer()
    exchange.answer()


def half_then(end):
    """Half of an answer's data, and then no more."""
    def misbehave(exchange):
        exchange.answer(data=bytes(exchange.in_length // 2))
        end(exchange)
    return misbehave


def close(exchange):
    exchange.socket.close()


# Answers on a virtqueue that are wrong in both dialects (field failure 5).
WRONG_ANSWERS = {
    'unknown id': lambda e: e.answer(command_id=e.command_id + 77),
    'used length above': lambda e: e.answer(length=e.in_length + 1,
                                            data=bytes(e.in_length + 1)),
    'used length at most': lambda e: e.answer(length=0xffffffff, data=bytes(1000)),
    'used length 0': lambda e: e.answer(length=0),
    'twice': twice,
    'garbage': lambda e: e.socket.sendall(os.urandom(100000)),
    'closed': close,
    'reset': lambda e: e.reset(),
    'half a completion, closed': lambda e: (e.socket.sendall(bytes(7)), close(e)),
    'half a completion, reset': lambda e: (e.socket.sendall(bytes(7)), e.reset()),
    'half the data, closed': half_then(close),
    'half the data, reset': half_then(lambda e: e.reset()),
    'failed by the device': lambda e: e.answer(data=bytes(e.in_length - 1) + b'\x01'),
    'no status of virtio-blk': lambda e: e.answer(data=bytes(e.in_length - 1) + b'\x77'),
}
WRONG_IN_V5 = {
    'reserved id': lambda e: e.answer(command_id=0xffff),
    'event of the control queue': lambda e: e.answer(command_id=0xfffe),
    'credits that were not agreed': lambda e: e.answer(command_id=0xfffd, length=0),
    'failed by the transport': lambda e: e.answer(length=0, status=0x2010),
}
WRONG_IN_REF = {
    'no descriptors': lambda e: e.answer(descriptors=[]),
    'one descriptor less': lambda e: e.answer(descriptors=e.descriptors[:-1]),
    'one descriptor more': lambda e: e.answer(descriptors=e.descriptors + e.descriptors[-1:]),
    'more descriptors than there can be': lambda e: e.answer(ndesc=0xffff),
    'a descriptor longer than asked': lambda e: e.answer(
        descriptors=e.with_length(1 << 20), data=bytes(e.in_length + (1 << 20))),
    'a descriptor of the greatest length': lambda e: e.answer(
        descriptors=e.with_length(0xffffffff)),
    'descriptors it never sent': lambda e: e.answer(
        descriptors=[os.urandom(24) for _ in e.descriptors]),
    'half a descriptor, reset': lambda e: (e.answer(descriptors=[], ndesc=2, data=bytes(12)),
                                           e.reset()),
    'used length of 64 bits': lambda e: e.answer(length=1 << 40),
    'failed by the transport': lambda e: e.answer(status=5),
}
WRONG_CONTROL_ANSWERS = {
    'wrong id': lambda e: e.reply(command_id=e.command_id + 9),
    'garbage': lambda e: e.socket.sendall(b'\xa5' * 4096),
    'zeros': lambda e: e.socket.sendall(bytes(4096)),
    'closed': close,
    'reset': lambda e: e.reset(),
    'half a completion, reset': lambda e: (e.socket.sendall(bytes(7)), e.reset()),
    'twice': lambda e: (e.reply(), e.reply()),
    'refused': lambda e: e.reply(status=95),
}


class HostileInitiatorTest(unittest.TestCase):
    """Every test for both dialects."""

    def run_vof(self, target, *words):
        done = subprocess.run([VOF, words[0], '--timeout', '1s', target.uri, *words[1:], '--json'],
                              capture_output=True, timeout=TIME_LIMIT_S)
        self.assertEqual(done.stderr, b'')
        return done.returncode, json.loads(done.stdout)

    def expect(self, codes, what, verb=('read', '--output', '/dev/null'), **faults):
        with FakeTarget(**faults) as target:
            code, document = self.run_vof(target, *verb)
            self.assertIn(code, codes, f'{what}: {document}')
            self.assertIn(target.uri.split('?')[0], document['error']['message'], what)

    def test_a_good_target_is_read(self):
        for dialect in (V5, Ref):
            with FakeTarget(dialect=dialect) as target:
                code, document = self.run_vof(target, 'read', '--output', '/dev/null')
                self.assertEqual(code, 0, document)
                code, document = self.run_vof(target, 'info')
                self.assertEqual(code, 0, document)
                self.assertEqual(document['dialect'], dialect.NAME)
                self.assertEqual(document['capacity_bytes'], 1 << 20)

    def test_answers_on_a_virtqueue(self):  # field failure 5
        for dialect, more in ((V5, WRONG_IN_V5), (Ref, WRONG_IN_REF)):
            for what, misbehave in (WRONG_ANSWERS | more).items():
                with self.subTest(what, dialect=dialect.NAME):
                    self.expect((FAILED, REFUSED), what, dialect=dialect, on_request=misbehave)

    def test_a_write_whose_status_is_not_counted_has_no_answer(self):
        def misbehave(exchange):
            exchange.answer(length=0 if exchange.in_length == 1 else None)
        for dialect in (V5, Ref):
            with FakeTarget(dialect=dialect, on_request=misbehave) as target:
                code, document = self.run_vof(target, 'write', '--input', '/dev/zero',
                                              '--length', '4K')
                self.assertEqual(code, FAILED, document)
                self.assertIn('the target broke the protocol', document['error']['message'])

    def test_a_terminal_is_told_nothing_by_a_serial(self):
        serial = b'\x1b[31m\nforged\xff"\xe2\x80\xae'.ljust(20, b'z')
        for dialect in (V5, Ref):
            with FakeTarget(dialect=dialect, on_request=with_serial(serial)) as target:
                done = subprocess.run([VOF, 'info', target.uri], capture_output=True,
                                      timeout=TIME_LIMIT_S)
                self.assertEqual((done.returncode, done.stderr), (0, b''))
                lines = done.stdout.decode('ascii').splitlines()
                self.assertIn(r'"\x1b[31m\nforged\xff\"\u{202e}zzz"', [
                    line.split(maxsplit=1)[1] for line in lines])
                self.assertEqual([line for line in lines if line.startswith('forged')], [])

    def test_a_terminal_is_told_nothing_by_a_file_name(self):
        with FakeTarget() as target:
            for verb in ('copy', 'verify'):
                done = subprocess.run([VOF, verb, b'/nowhere/\x1b[31m\nforged\xff', target.uri],
                                      capture_output=True, timeout=TIME_LIMIT_S)
                self.assertEqual((done.returncode, done.stdout), (FAILED, b''))
                self.assertIn(r'/nowhere/\x1b[31m\nforged\xff', done.stderr.decode('ascii'))
                self.assertEqual(done.stderr.count(b'\n'), 1)

    def test_half_a_block_at_the_end_is_not_used(self):
        for dialect in (V5, Ref):
            for sectors, usable_bytes in ((1, 0), (8, 4096), (15, 4096), (17, 8192)):
                with self.subTest(sectors, dialect=dialect.NAME):
                    self.use_blocks_of_4096(sectors, usable_bytes, dialect)

    def use_blocks_of_4096(self, sectors, usable_bytes, dialect):
        disk = {'capacity_sectors': sectors, 'block_bytes': 4096}
        with FakeTarget(dialect=dialect, disk=disk) as target:
            code, info = self.run_vof(target, 'info')
            self.assertEqual((code, info['capacity_bytes']), (0, usable_bytes))
            self.assertEqual(info['unusable_tail_bytes'], sectors * 512 - usable_bytes)
            for verb in (('read', '--output', '/dev/null'), ('copy', '/dev/null')):
                code, document = self.run_vof(target, *verb)
                self.assertEqual((code, document['bytes']), (0, usable_bytes), verb)
            bench = ('bench', '--rw', 'read', '--ops', '5', '--depth', '1')
            code, document = self.run_vof(target, *bench)
            self.assertEqual(code, 0 if usable_bytes else USAGE, document)
            tail_read = ('read', '--output', '/dev/null', '--length', str(usable_bytes + 1))
            code, document = self.run_vof(target, *tail_read)
            self.assertEqual(code, USAGE, document)

    def test_silence_ends_with_the_time_out(self):
        for dialect in (V5, Ref):
            started = time.monotonic()
            self.expect((TIMED_OUT,), 'silence', dialect=dialect, on_request=lambda e: None)
            self.assertLess(time.monotonic() - started, TIME_LIMIT_S / 2)

    def test_the_time_out_covers_commands_of_a_device_that_is_ready(self):
        for dialect, get_config in ((V5, 0x100c), (Ref, 0x100a)):
            started = time.monotonic()
            self.expect((TIMED_OUT,), 'silence', dialect=dialect, verb=('info',),
                        on_control=lambda e, opcode=get_config: e.opcode == opcode)
            self.assertLess(time.monotonic() - started, 4)

    def test_answers_on_the_control_queue(self):
        codes = (FAILED, CANNOT_CONNECT, REFUSED, TIMED_OUT, UNSUPPORTED)
        for dialect in (V5, Ref):
            for opcode in dialect.BRING_UP:
                for what, misbehave in WRONG_CONTROL_ANSWERS.items():
                    if what == 'refused' and opcode == dialect.GET_FEATURE:
                        continue  # a target without features of the transport is used without
                    def on_control(exchange, misbehave=misbehave, opcode=opcode):
                        if exchange.opcode != opcode:
                            return False
                        misbehave(exchange)
                        return True
                    with self.subTest(what, dialect=dialect.NAME, opcode=hex(opcode)):
                        self.expect(codes, what, dialect=dialect, verb=('info',),
                                    on_control=on_control)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
