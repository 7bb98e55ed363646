# SPDX-License-Identifier: Apache-2.0
"""Starts the real program: what it prints, how it ends, what it says when it cannot.

    target_test.py PROGRAM PLUGIN EXAMPLE
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest

from tools.vof_target import target_process
from tools.vof_target.target_process import TargetProcess

PROGRAM = os.path.abspath(sys.argv[1])
PLUGIN = os.path.abspath(sys.argv[2])
EXAMPLE = os.path.abspath(sys.argv[3])
NAME = os.path.basename(PROGRAM)
LISTEN = ['--listen', 'tcp://127.0.0.1:0']
MEMORY = ['--blk', 'name=mem0,store=memory,size=16M']
START_S = target_process.START_TIMEOUT_S


def start(*arguments, **options):
    return TargetProcess(PROGRAM, list(arguments), **options)


class TargetTestCase(target_process.ScratchTestCase):
    """Runs that must fail."""

    def assert_fails(self, arguments, status, *parts, **options):
        """Ends with `status`, nothing on stdout and one line that holds every part."""
        actual, out, err = target_process.run(PROGRAM, arguments, **options)
        self.assertEqual((actual, out), (status, ''), err)
        errors = [line for line in err.splitlines() if line.startswith(f'{NAME}: error: ')]
        self.assertTrue(errors, err)
        for part in parts:
            self.assertIn(part, '\n'.join(errors))
        self.assertNotIn('terminate called', err)
        self.assertNotIn('    #0', err)


class StartTest(TargetTestCase):
    """From the command line to a served device."""

    def test_prints_a_uri_that_serves_the_device(self):
        with start(*LISTEN, *MEMORY) as target:
            self.assertTrue(target_process.looks_like_uri(target.uris[0]), target.uris)
            target_process.connect(target.uris[0]).close()
            self.assertEqual(target.stop(), 0)
            self.assertEqual(target.rest, '')

    def test_one_uri_per_listener_and_device_names_encoded(self):
        devices = ['--blk', 'name=my disk/0%,store=null,size=1T', '--blk', 'name=b,store=null,size=1T']
        listeners = LISTEN + ['--listen', 'tcp://[::1]:0']
        with start(*listeners, *devices, expected_uris=4) as target:
            self.assertEqual(len(set(target.uris)), 4)
            self.assertEqual({target_process.address_of(uri)[2] for uri in target.uris},
                             {'my disk/0%', 'b'})
            self.assertEqual(sum('[::1]' in uri for uri in target.uris), 2)
            for uri in target.uris:
                target_process.connect(uri).close()

    def test_wildcard_prints_an_address_that_can_be_used(self):
        with start('--listen', 'tcp://0.0.0.0:0', *MEMORY) as target:
            self.assertNotIn('0.0.0.0', target.uris[0])
            target_process.connect(target.uris[0]).close()

    def test_ready_file_and_descriptor_carry_the_uris(self):
        reader, writer = os.pipe()
        ready = self.path('ready')
        with start(*LISTEN, *MEMORY, '--ready-file', ready, '--ready-fd', str(writer),
                   pass_fds=[writer]) as target:
            os.close(writer)
            with os.fdopen(reader) as pipe:
                self.assertEqual(pipe.read().split(), target.uris)
            with open(ready, encoding='utf-8') as file:
                self.assertEqual(file.read().split(), target.uris)

    def test_every_flag_at_once(self):
        disk = self.path('disk,=.img')
        blk = (f'name=f,store=file,path={disk.replace(",", ",,")},size=8M,direct=false,io=uring,read_only=false,'
               'block_size=4096,queues=2,queue_size=128,serial=s1,shared=true,write_cache=false')
        with start(*LISTEN, '--blk', blk, '--blk', 'name=m,store=memory,size=4M,hugepages=off',
                   '--device', 'type=test-counter,name=c,step=2', '--plugin', PLUGIN,
                   '--reactors', '2', '--spin-us', '5', '--pool-size', '32M',
                   '--max-sessions', '4', '--max-queues', '4', '--max-connections', '64',
                   '--handshake-timeout', '2s', '--drain-timeout', '2s',
                   '--reactor-timeout', '2m', '--log-level', 'debug', expected_uris=3) as target:
            for uri in target.uris:
                target_process.connect(uri).close()
            self.assertEqual(os.path.getsize(disk), 8 << 20)
            self.assertEqual(target.stop(), 0)

    def test_pinned_and_busy_polling(self):
        cpu = min(os.sched_getaffinity(0))
        with start(*LISTEN, *MEMORY, '--cpus', str(cpu), '--busy-poll') as target:
            target_process.connect(target.uris[0]).close()

    def test_configuration_file_and_what_print_config_prints_serve_the_same(self):
        config = self.path('target.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write('listener { uri: "tcp://127.0.0.1:0" }\n'
                       'device { name: "m" blk { memory { size: "16M" } queues: 3 } }\n'
                       'log { level: "warn" }\n')
        status, out, err = target_process.run(PROGRAM, ['--config', config, '--print-config'])
        self.assertEqual((status, err), (0, ''))
        self.assertIn('queues: 3', out)
        printed = self.path('printed.conf')
        with open(printed, 'w', encoding='utf-8') as file:
            file.write(out)
        again = target_process.run(PROGRAM, ['--config', printed, '--print-config'])
        self.assertEqual(again, (0, out, ''))
        for path in config, printed:
            with start('--config', path) as target:
                target_process.connect(target.uris[0]).close()

    def test_print_config_has_the_defaults_of_devices(self):
        status, out, err = target_process.run(PROGRAM, LISTEN + MEMORY + ['--print-config'])
        self.assertEqual((status, err), (0, ''))
        for setting in ('hugepages: "off"', 'queues: 4', 'queue_size: 1024', 'block_size: 512',
                        'serial: "mem0"', 'read_only: false', 'shared: false', 'write_cache: true'):
            self.assertIn(setting, out)


class RefusalTest(TargetTestCase):
    """Everything that can be wrong has a message and an exit status."""

    def test_usage(self):
        self.assert_fails(['--no-such-flag'], 2, '--no-such-flag')
        self.assert_fails([], 2, 'there is no listener')
        self.assert_fails(LISTEN, 2, 'there is no device')
        self.assert_fails(LISTEN + ['--blk', 'name=x,store=null,size=1M,sise=2'], 2, 'sise',
                          'known: store, size')
        self.assert_fails(['--listen', 'warp://x'] + MEMORY, 2, '--listen', 'tcp')
        self.assert_fails(LISTEN + MEMORY + ['--ready-fd', '99'], 2, 'descriptor 99 is not open')
        self.assert_fails(LISTEN + MEMORY + ['--plugin', '/nonexistent.so'], 2, '/nonexistent.so')

    def test_configuration_errors_have_line_and_column(self):
        config = self.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write('listener { uri: "tcp://127.0.0.1:0" }\n'
                       'device { name: "m" blk { memory { size: "16X" } } }\n')
        for extra in [], ['--check']:
            self.assert_fails(['--config', config] + extra, 2, f'{config}:2:35: size: "16X" is not')

    def test_check_reports_every_error(self):
        config = self.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write('device { name: "" blk { null { size: "1X" } queues: 999 } }\n'
                       'reactors { cpus: "9-1" }\n'
                       'limits { sessions: 0 pool_size: "1Q" }\n'
                       'plugin { path: "/nonexistent.so" }\n'
                       'device { name: "f" other { type: "fan" } }\n')
        status, out, err = target_process.run(PROGRAM, [
            '--check', '--config', config, '--ready-file', '/nonexistent/x', '--ready-fd', '99',
            '--drain-timeout', 'soon', '--listen', 'warp://x'])
        self.assertEqual((status, out), (2, ''))
        parts = ['a device needs a name', '"1X" is not', '"999" is not', '"9-1" is not', 'sessions is 0',
                 '"1Q" is not', '/nonexistent.so', '--ready-file: ', '--ready-fd: ', 'soon', '--listen: ']
        for part in parts:
            self.assertIn(part, err)
        self.assertEqual(len(err.splitlines()), len(parts), err)

    def test_a_ready_file_that_cannot_be_made(self):
        read_only = os.open('/dev/null', os.O_RDONLY)
        self.addCleanup(os.close, read_only)
        for flags, *parts in ((['--ready-file', '/nonexistent/x'], '/nonexistent/x', 'No such file'),
                              (['--ready-file', self.scratch], self.scratch, 'Is a directory'),
                              (['--ready-file', '/dev/null/x'], '/dev/null/x', 'Not a directory'),
                              (['--ready-fd', str(read_only)], 'not open for writing')):
            for extra in [], ['--check']:
                self.assert_fails(LISTEN + MEMORY + flags + extra, 2, *parts, pass_fds=[read_only])
        too_long = self.path('r' * 256)
        self.assert_fails(LISTEN + MEMORY + ['--ready-file', too_long], 2, too_long, 'too long')
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([PROGRAM] + LISTEN + MEMORY + ['--ready-file', self.path('ready')],
                                  stdout=full, stderr=subprocess.PIPE, timeout=START_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(self.scratch), [])

    def test_errors_cannot_steer_a_terminal(self):
        config = self.path('bad.conf')
        with open(config, 'w', encoding='utf-8') as file:
            file.write('listener { uri: "tcp://a\\nb" }\n'
                       'device { name: "\\033[2J" blk { memory { size: "1M\\033[31m" } } }\n'
                       'device { name: "\\033[2J" blk { file { path: "" size: "1M" io: "\\r" } } }\n'
                       'reactors { cpus: "\\007" }\nlimits { pool_size: "\\177" }\n'
                       'log { level: "a\\tb" }\nplugin { path: "/\\033c" }\n')
        runs = (['--config', config],
                LISTEN + ['--blk', 'name=a\x1bc,store=file,path=/nonexistent/\x1bc'],
                LISTEN + ['--blk', 'name=a,sto\nre=file'], ['--config', 'a\x1bc'], ['--a\x1bc'],
                LISTEN + MEMORY + ['--ready-file', '/nonexistent/\x1bc'], ['--reactors', '\x1bc'])
        for arguments in runs:
            _, out, err = target_process.run(PROGRAM, arguments)
            self.assertEqual(out, '')
            for line in err[:-1].split('\n'):
                self.assertTrue(line.isprintable(), repr(line))
                self.assertIn(NAME, line)

    def test_the_example_is_valid(self):
        self.assertEqual(target_process.run(PROGRAM, ['--config', EXAMPLE, '--check']), (0, '', ''))

    def test_check_opens_nothing(self):
        disk = self.path('not-made.img')
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            answer = target_process.run(PROGRAM, [
                '--check', '--listen', f'tcp://127.0.0.1:{port}', '--blk',
                f'name=d,store=file,path={disk},size=1G'])
        self.assertEqual(answer, (0, '', ''))
        self.assertFalse(os.path.exists(disk))

    def test_port_in_use(self):
        with start(*LISTEN, *MEMORY) as target:
            _, port, _ = target_process.address_of(target.uris[0])
            self.assert_fails(['--listen', f'tcp://127.0.0.1:{port}'] + MEMORY, 1, str(port), 'in use')

    def test_a_disk_created_by_a_start_that_fails_is_removed(self):
        new, old = self.path('new.img'), self.path('old.img')
        with open(old, 'wb') as file:
            file.truncate(1 << 20)
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            self.assert_fails(['--listen', f'tcp://127.0.0.1:{port}',
                               '--blk', f'name=n,store=file,path={new},size=1M',
                               '--blk', f'name=o,store=file,path={old},size=1M'], 1, str(port))
        self.assertEqual(os.listdir(self.scratch), ['old.img'])
        # A device behind it cannot be made.
        self.assert_fails(LISTEN + ['--blk', f'name=n,store=file,path={new},size=1M',
                                    '--blk', f'name=o,store=file,path={old},size=2M'], 1, old)
        self.assertEqual(os.listdir(self.scratch), ['old.img'])
        # Nobody is told where it is.
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([PROGRAM] + LISTEN + [
                '--blk', f'name=n,store=file,path={new},size=1M'], stdout=full,
                stderr=subprocess.PIPE, timeout=START_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(self.scratch), ['old.img'])

    def test_a_key_given_twice(self):
        for key in 'size', 'name':
            status, _, err = target_process.run(
                PROGRAM, LISTEN + ['--blk', f'name=a,store=null,size=1M,{key}=2M'])
            self.assertEqual(status, 2, err)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn(f'"{key}" is given twice', err)

    def test_address_that_is_not_there(self):
        self.assert_fails(['--listen', 'tcp://192.0.2.1:0'] + MEMORY, 1, '192.0.2.1')

    def test_files(self):
        missing = self.path('missing.img')
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={missing}'], 1, missing,
                          'give a size')
        small = self.path('small.img')
        with open(small, 'wb') as file:
            file.truncate(1 << 20)
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={small},size=2M'], 1, small,
                          'smaller')
        with open(small, 'ab') as file:
            file.truncate(3000)
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={small}'], 1,
                          'has 3000 bytes', f'truncate -s %512 {small}')
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={small},size=1M'], 1,
                          'has 3000 bytes', 'asked for, 1M')
        empty = self.path('empty.img')
        with open(empty, 'wb'):
            pass
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={empty}'], 1, empty)
        self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={self.scratch}'], 1, self.scratch)

    def test_two_targets_on_one_file(self):
        disk = self.path('disk.img')
        first = ['--blk', f'name=d,store=file,path={disk},size=8M']
        with start(*LISTEN, *first):
            self.assert_fails(LISTEN + ['--blk', f'name=d,store=file,path={disk}'], 1, disk, 'in use')
        with start(*LISTEN, '--blk', f'name=d,store=file,path={disk}') as second:
            target_process.connect(second.uris[0]).close()

    def test_memory_that_is_not_there(self):
        self.assert_fails(LISTEN + ['--blk', 'name=d,store=memory,size=4E'], 1, 'mem')

    def test_stdout_that_cannot_be_written(self):
        with open('/dev/full', 'w', encoding='utf-8') as full:
            done = subprocess.run([PROGRAM] + LISTEN + MEMORY, stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=START_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn('cannot write to standard output', done.stderr)


class StopTest(TargetTestCase):
    """SIGTERM ends it with 0 within the drain limit, whoever is connected."""

    def assert_drains(self, target, number=signal.SIGTERM, limit_s=10):
        begin = time.monotonic()
        target.signal(number)
        self.assertEqual(target.wait(START_S), 0, target.log)
        # Leaving memory to the sanitizers and the scheduler takes a moment too.
        self.assertLess(time.monotonic() - begin, limit_s + 5)

    def test_idle(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with start(*LISTEN, *MEMORY, preexec_fn=target_process.heed_hang_ups) as target:
                self.assert_drains(target, number, limit_s=1)
                self.assertIn('drained', target.log)

    def test_with_sessions_and_100_half_open_clients(self):
        with start(*LISTEN, '--blk', 'name=m,store=memory,size=16M,shared=true',
                   '--drain-timeout', '3s') as target:
            uri = target.uris[0]
            whole = target_process.connect_command('m')
            pieces = [b'', whole[:7], whole[:16], whole[:-1]]
            clients = [target_process.connect(uri, bytes([i + 1]) * 16) for i in range(4)]
            for i in range(100):
                client = target_process.dial(uri)
                client.sendall(pieces[i % len(pieces)])
                clients.append(client)
            try:
                self.assert_drains(target, limit_s=3)
            finally:
                for client in clients:
                    client.close()

    def test_connections_are_refused_while_and_after_it_drains(self):
        with start(*LISTEN, *MEMORY) as target:
            uri = target.uris[0]
            self.assert_drains(target)
            with self.assertRaises(ConnectionRefusedError):
                target_process.dial(uri)

    def test_a_port_can_be_listened_on_again_at_once(self):
        with start(*LISTEN, *MEMORY) as target:
            _, port, _ = target_process.address_of(target.uris[0])
            client = target_process.connect(target.uris[0])
            self.assert_drains(target)
            client.close()
        with start('--listen', f'tcp://127.0.0.1:{port}', *MEMORY) as target:
            target_process.connect(target.uris[0]).close()


class DescriptorLimitTest(TargetTestCase):
    """Out of descriptors: it lives, does not spin, and serves again when there are some."""

    def test_survives_emfile(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        with start(*LISTEN, *MEMORY, preexec_fn=limit) as target:
            uri = target.uris[0]
            flood = [target_process.dial(uri) for _ in range(100)]
            time.sleep(0.2)
            before = self.cpu_seconds(target.pid)
            time.sleep(1)
            self.assertLess(self.cpu_seconds(target.pid) - before, 0.5)
            for client in flood:
                client.close()
            deadline = time.monotonic() + 20
            while True:
                try:
                    target_process.connect(uri).close()
                    break
                except (OSError, EOFError):
                    self.assertLess(time.monotonic(), deadline, target.log)
                    time.sleep(0.1)
            self.assertEqual(target.stop(), 0)
            lines = [line for line in target.log.splitlines() if 'RLIMIT_NOFILE' in line]
            self.assertTrue(lines, target.log)
            self.assertIn(' clients turned away: out of file descriptors, RLIMIT_NOFILE of this process '
                          'is 64; raise it', lines[0])
            self.assertLess(len(lines), 10)

    def test_raises_the_soft_limit(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        low = 256

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (low, hard))

        with start(*LISTEN, *MEMORY, preexec_fn=limit) as target:
            soft, _ = resource.prlimit(target.pid, resource.RLIMIT_NOFILE)
            self.assertEqual(soft, hard)

    @staticmethod
    def cpu_seconds(pid):
        with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
