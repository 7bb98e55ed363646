# SPDX-License-Identifier: Apache-2.0
"""vof-target where its surroundings do not let it have what it wants.

    surroundings_test.py VOF-TARGET VOF
"""

import json
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
VOF = os.path.abspath(sys.argv[2])
LISTEN = ['--listen', 'tcp://127.0.0.1:0']
MEMORY = ['--blk', 'name=mem0,store=memory,size=1M']
MIB = 1 << 20
TIME_LIMIT_S = 120
FAILED, USAGE, REFUSED = 1, 2, 4


def file_limit(size):
    """For a child: files may not grow beyond it."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class SurroundingsTestCase(target_process.ScratchTestCase):
    """Runs of both programs."""

    def fails(self, status, arguments, *parts, **options):
        """A start that must fail so, and say that."""
        actual, out, error = target_process.run(PROGRAM, arguments, TIME_LIMIT_S, **options)
        self.assertEqual((actual, out), (status, ''), error)
        for part in parts:
            self.assertIn(part, error)

    def vof(self, *arguments, **options):
        """The exit code and the document of a run."""
        done = subprocess.run([VOF, *arguments, '--json'], capture_output=True,
                              timeout=TIME_LIMIT_S, check=False, **options)
        self.assertEqual(done.stderr, b'')
        return done.returncode, json.loads(done.stdout)


class FileLimitTest(SurroundingsTestCase):
    """`ulimit -f`: an error, not the end of the program."""

    def test_a_disk_that_cannot_be_created(self):
        disk = self.path('d.img')
        self.fails(FAILED, LISTEN + ['--blk', f'name=d,store=file,path={disk},size=2M'], disk,
                   'File too large', preexec_fn=file_limit(MIB))
        self.assertEqual(os.listdir(self.scratch), [])

    def test_a_write_beyond_it_fails_alone(self):
        for io in 'calls', 'auto':
            disk = self.path(f'{io}.img')
            with open(disk, 'wb') as file:
                file.truncate(2 * MIB)
            blk = f'name=d,store=file,path={disk},io={io}'
            with TargetProcess(PROGRAM, [*LISTEN, '--blk', blk],
                               preexec_fn=file_limit(MIB)) as target:
                data = ['--length', '4K', '--input', '/dev/urandom']
                code, document = self.vof('write', target.uris[0], '--offset', '1M', *data)
                self.assertEqual(code, FAILED, document)
                code, document = self.vof('write', target.uris[0], *data)
                self.assertEqual(code, 0, document)
                self.assertEqual(target.stop(), 0, target.log)

    def test_a_file_that_cannot_be_created_or_replaced(self):
        with TargetProcess(PROGRAM, [*LISTEN, '--blk', 'name=d,store=memory,size=2M']) as target:
            new, old = self.path('new'), self.path('old')
            with open(old, 'wb') as file:
                file.write(b'kept')
            for verb, output in (('read', ['--output', new]), ('copy', [new]), ('copy', [old])):
                code, document = self.vof(verb, target.uris[0], *output,
                                          preexec_fn=file_limit(MIB))
                self.assertEqual(code, FAILED, document)
                self.assertIn('ulimit -f', document['error']['message'])
            self.assertEqual(os.listdir(self.scratch), ['old'])
            with open(old, 'rb') as file:
                self.assertEqual(file.read(), b'kept')


class ReadyFileTest(SurroundingsTestCase):
    """It is there while the target serves, and at no other time."""

    def test_a_stale_one_goes_whatever_happens_next(self):
        ready = self.path('ready')
        with socket.create_server(('127.0.0.1', 0)) as taken:
            in_use = ['--listen', f'tcp://127.0.0.1:{taken.getsockname()[1]}']
            for status, arguments in ((USAGE, LISTEN), (USAGE, ['--config', self.path('none')]),
                                      (FAILED, in_use + MEMORY)):
                with open(ready, 'w', encoding='utf-8') as file:
                    file.write('tcp://127.0.0.1:1/old\n')
                self.fails(status, arguments + ['--ready-file', ready])
                self.assertEqual(os.listdir(self.scratch), [], arguments)

    def test_looking_at_the_configuration_leaves_it(self):
        ready = self.path('ready')
        with open(ready, 'w', encoding='utf-8') as file:
            file.write('tcp://127.0.0.1:1/other\n')
        for flag in '--check', '--print-config', '--help':
            target_process.run(PROGRAM, LISTEN + MEMORY + ['--ready-file', ready, flag])
            self.assertTrue(os.path.exists(ready), flag)

    def await_file(self, path):
        """It comes behind the lines on stdout."""
        deadline = time.monotonic() + TIME_LIMIT_S
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(os.path.exists(path))

    def test_it_goes_with_the_target(self):
        ready = self.path('ready')
        for number in signal.SIGTERM, signal.SIGHUP:
            with TargetProcess(PROGRAM, [*LISTEN, *MEMORY, '--ready-file', ready],
                               preexec_fn=target_process.heed_hang_ups) as target:
                self.await_file(ready)
                target.signal(number)
                self.assertEqual(target.wait(TIME_LIMIT_S), 0)
            self.assertEqual(os.listdir(self.scratch), [])

    def test_a_name_given_by_mistake_costs_nothing(self):
        precious = {'disk.img': b'\0' * MIB, 'target.conf': b'listener { uri: "tcp://127.0.0.1:0" }\n'}
        for name, content in precious.items():
            path = self.path(name, content)
            link = self.path(name + '.link')
            os.symlink(path, link)
            for named in path, link:
                # The command line is right, wrong, and not even read to its end.
                for arguments in LISTEN + MEMORY, LISTEN, ['--no-such-flag']:
                    self.fails(USAGE, ['--ready-file', named] + arguments)
                for extra in [], ['--check'], ['--config', self.path(name)]:
                    self.fails(USAGE, [*LISTEN, *MEMORY, '--ready-file', named, *extra])
                self.fails(USAGE, [*LISTEN, *MEMORY, '--ready-file', named], '--ready-file', named,
                           'no ready file', 'choose another name')
            self.assertTrue(os.path.islink(link))
            with open(path, 'rb') as file:
                self.assertEqual(file.read(), content)

    def test_names_that_are_not_asked_for_are_left_alone(self):
        ready = self.path('ready')
        os.mkfifo(ready + '.new')
        with TargetProcess(PROGRAM, [*LISTEN, *MEMORY, '--ready-file', ready]):
            self.await_file(ready)
        self.assertEqual(os.listdir(self.scratch), ['ready.new'])

    def test_that_of_a_target_that_runs_stays(self):
        ready = self.path('ready')
        arguments = [*LISTEN, *MEMORY, '--ready-file', ready]
        with TargetProcess(PROGRAM, arguments) as target:
            self.await_file(ready)
            self.fails(FAILED, arguments, ready, 'belongs to a target that runs')
            self.fails(USAGE, ['--no-such-flag', *arguments])
            self.assertEqual(target_process.run(PROGRAM, [*arguments, '--check']), (0, '', ''))
            with open(ready, encoding='utf-8') as file:
                self.assertEqual(file.read().split(), target.uris)
            target.signal(signal.SIGKILL)
            target.wait(TIME_LIMIT_S)
        self.assertTrue(os.path.exists(ready))
        with TargetProcess(PROGRAM, arguments) as target:
            self.await_file(ready)


class QueueTest(SurroundingsTestCase):
    """Queues and connections that are refused to a session that was accepted."""

    def test_a_queue_without_memory_is_refused(self):
        blk = 'name=d,store=null,size=1G,queues=256,queue_size=4096,shared=true'
        with TargetProcess(PROGRAM, [*LISTEN, '--blk', blk]) as target:
            with open(f'/proc/{target.pid}/status', encoding='ascii') as file:
                data = [line for line in file if line.startswith('VmData:')]
            limit = (int(data[0].split()[1]) << 10) + 4 * MIB
            resource.prlimit(target.pid, resource.RLIMIT_DATA, (limit, limit))
            code, document = self.vof('info', target.uris[0] + '?queues=256')
            # What there is no memory for: the queue, or the connection before it.
            self.assertIn(code, (REFUSED, FAILED), document)
            self.assertIn('the target could not open the queue: see its log' if code == REFUSED
                          else 'limit of connections', document['error']['message'])
            code, document = self.vof('info', target.uris[0])  # it lives
            self.assertEqual(code, 0, document)
            self.assertEqual(target.stop(), 0, target.log)
            lines = [line for line in target.log.splitlines() if 'there is no memory' in line]
            self.assertTrue(lines, target.log)
            self.assertIn('warn', lines[0])

    def test_a_limit_of_connections_is_guessed(self):
        with TargetProcess(PROGRAM, [*LISTEN, '--blk', 'name=d,store=null,size=1G',
                                     '--max-connections', '2']) as target:
            code, document = self.vof('info', target.uris[0] + '?queues=3')
            self.assertEqual(code, FAILED, document)
            self.assertIn('limit of connections', document['error']['message'])
            code, document = self.vof('info', target.uris[0])
            self.assertEqual(code, 0, document)


class SameFileTest(SurroundingsTestCase):
    """Two disks on one file, before anything is created."""

    def test_it_is_refused_however_it_is_written(self):
        disk = self.path('disk.img')
        for other in (disk, self.path('./disk.img'), self.path(f'../{os.path.basename(self.scratch)}/disk.img')):
            twice = ['--blk', f'name=a,store=file,path={disk},size=8M', '--blk',
                     f'name=b,store=file,path={other},size=8M']
            self.fails(USAGE, LISTEN + twice, other, 'is the file of "a", too')
            self.fails(USAGE, ['--check'] + LISTEN + twice, other)
            self.assertEqual(os.listdir(self.scratch), [])


class ListenerTest(SurroundingsTestCase):
    """Two names of one address."""

    def test_the_other_listener_is_named(self):
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = free.getsockname()[1]
        names = [f'tcp://127.0.0.1:{port}', f'tcp://localhost:{port}']
        self.fails(FAILED, ['--listen', names[0], '--listen', names[1], *MEMORY], *names,
                   'another listener of this target')


class StopWhileStartingTest(SurroundingsTestCase):
    """A start that waits for others can be ended."""

    def ended(self, process, number):
        """The exit status and stderr of what was sent that signal."""
        try:
            process.send_signal(number)
            error = process.communicate(timeout=TIME_LIMIT_S)[1]
        finally:
            process.kill()
            process.wait()
        return process.returncode, error

    def test_a_configuration_that_nobody_writes(self):
        fifo = self.path('fifo')
        os.mkfifo(fifo)
        for number in signal.SIGTERM, signal.SIGINT:
            process = subprocess.Popen([PROGRAM, '--config', fifo], stderr=subprocess.PIPE)
            self.assertEqual(self.ended(process, number), (-number, b''))

    def test_lines_that_nobody_reads(self):
        scratch, reader, writer = self.path('ready'), *os.pipe()
        os.mkdir(scratch)
        os.set_blocking(writer, False)
        while True:
            try:
                os.write(writer, bytes(4096))
            except BlockingIOError:
                break
        os.set_blocking(writer, True)
        for number in signal.SIGTERM, signal.SIGINT:
            process = subprocess.Popen(
                [PROGRAM, *LISTEN, *MEMORY, '--ready-file', os.path.join(scratch, 'file')],
                stdout=writer, stderr=subprocess.PIPE)
            # Its other name is taken just before the lines are written.
            deadline = time.monotonic() + TIME_LIMIT_S
            while not os.listdir(scratch) and time.monotonic() < deadline:
                time.sleep(0.01)
            status, error = self.ended(process, number)
            self.assertEqual(status, FAILED)
            self.assertIn(b'interrupted while waiting for whoever reads standard output', error)
            self.assertEqual(os.listdir(scratch), [])
        os.close(reader)
        os.close(writer)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
