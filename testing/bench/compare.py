#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares vof with the limits of this machine, nbdkit and fio, in one run, interleaved.

    testing/bench/compare --rounds 5 --seconds 1 [--only polling,event,bulk,dialect,file,fabric,inline] [--json FILE]

Every figure is the median of the rounds and is quoted as a ratio, since machines are shared and noisy. Both
ends of each pair are pinned to one core each. Needs two idle cores for an honest answer.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

SERVER_CPU, CLIENT_CPU = 0, 1
DISK_BYTES = 256 << 20


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_json(command):
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(out.stdout)


class Server:
    """A server process, pinned and stopped with the run."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(SERVER_CPU)] + command,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def pause(self):
        """Keeps an idle busy-polling server from stealing the peer's core."""
        os.kill(self.process.pid, 19)

    def resume(self):
        os.kill(self.process.pid, 18)


def vof_bench(vof, uri, rw, block_bytes, depth, seconds, flags):
    answer = run_json([vof, "bench", uri, "--rw", "rand" + rw, "--bs", str(block_bytes), "--depth", str(depth),
                       "--time", f"{int(seconds * 1000)}ms", "--warmup", "200ms", "--cpus", str(CLIENT_CPU),
                       "--json"] + flags)
    return float(answer["total"]["iops"])


class Vof(Server):
    def __init__(self, bin_dir, target_flags, stores, listener="tcp://127.0.0.1:0"):
        command = [os.path.join(bin_dir, "vof-target"), "--listen", listener,
                   "--reactors", "1", "--cpus", str(SERVER_CPU)] + target_flags
        for name, spec in stores.items():
            command += ["--blk", f"name={name},{spec}"]
        super().__init__(command)
        self.vof = os.path.join(bin_dir, "vof")
        self.uris = {}
        for _ in stores:
            line = self.process.stdout.readline().strip()
            if not line:
                raise SystemExit("compare: vof-target did not start: " + " ".join(command))
            self.uris[line.rsplit("/", 1)[1].split("?")[0]] = line

    def fill(self, name):
        subprocess.run([self.vof, "bench", self.uris[name], "--rw", "write", "--bs", "1M", "--depth", "4",
                        "--ops", str(DISK_BYTES >> 20), "--json"], check=True, stdout=subprocess.DEVNULL)

    def bench(self, name, rw, block_bytes, depth, seconds, flags, query=""):
        return vof_bench(self.vof, self.uris[name] + query, rw, block_bytes, depth, seconds, flags)


class Nbdkit(Server):
    def __init__(self, bin_dir, plugin):
        self.port = free_port()
        self.client = os.path.join(bin_dir, "nbd-bench")
        super().__init__(["nbdkit", "-f", "-p", str(self.port), "-i", "127.0.0.1", plugin, str(DISK_BYTES)])
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.05)

    def call(self, flags):
        return [self.client, "--uri", f"nbd://127.0.0.1:{self.port}", "--cpu", str(CLIENT_CPU)] + flags

    def fill(self):
        subprocess.run(self.call(["--fill", "1"]), check=True)

    def bench(self, rw, block_bytes, depth, seconds):
        return float(run_json(self.call(["--rw", rw, "--bs", str(block_bytes), "--depth", str(depth),
                                         "--time", str(seconds)]))["iops"])


class Comparison:
    """One set of rivals under one load; rounds are interleaved, the median counts."""

    def __init__(self, title, rivals, rounds):
        self.title, self.rivals, self.rounds = title, rivals, rounds
        self.samples = {name: [] for name in rivals}

    def run(self):
        for _ in range(self.rounds):
            for name, (server, measure) in self.rivals.items():
                if server:
                    server.resume()
                self.samples[name].append(measure())
                if server:
                    server.pause()
        return self

    def median(self, name):
        return statistics.median(self.samples[name])

    def row(self, checks):
        cells = [f"{name} {self.median(name) / 1000:.1f}" for name in self.rivals]
        verdicts = []
        for ours, peer, floor in checks:
            ratio = self.median(ours) / self.median(peer)
            mark = "" if floor is None else (" ok" if ratio >= floor else f" MISSED (wanted {floor:.2f})")
            verdicts.append(f"{ours}/{peer} {ratio:.2f}{mark}")
        print(f"| {self.title} | {', '.join(cells)} | {'; '.join(verdicts)} |", flush=True)


class Suite:
    def __init__(self, options):
        self.o = options
        self.results = []
        self.servers = []

    def server(self, made):
        self.servers.append(made)
        made.pause()
        return made

    def compare(self, title, rivals, checks):
        c = Comparison(title, rivals, self.o.rounds).run()
        c.row(checks)
        self.results.append({"title": title, "median_iops": {n: c.median(n) for n in rivals},
                             "samples": c.samples, "checks": checks})

    def bare(self, rw, depth, poll):
        path = os.path.join(self.o.bin_dir, "bare-loop")
        return lambda: float(run_json([path, "--rw", rw, "--depth", str(depth), "--poll", str(poll),
                                       "--time", str(self.o.seconds)])["iops"])

    def vof_rival(self, server, rw, depth, flags, block_bytes=4096, name="mem", query=""):
        return (server, lambda: server.bench(name, rw, block_bytes, depth, self.o.seconds, flags, query))

    def nbd_rival(self, server, rw, depth, block_bytes=4096):
        return (server, lambda: server.bench(rw, block_bytes, depth, self.o.seconds))

    def started(self, flags, stores, **target):
        vof = Vof(self.o.bin_dir, flags, stores, **target)
        for name, spec in stores.items():
            if "store=null" not in spec:
                vof.fill(name)
        return self.server(vof)

    def nbdkit(self, plugin):
        nbd = Nbdkit(self.o.bin_dir, plugin)
        if plugin == "memory":
            nbd.fill()
        return self.server(nbd)

    MEMORY = {"mem": f"store=memory,size={DISK_BYTES}"}

    def polling(self):
        vof = self.started(["--busy-poll"], self.MEMORY)
        for depth, floor in ((1, 1 / 1.2), (32, 0.75), (128, 0.75)):
            for rw in ("read", "write"):
                self.compare(f"polling, {rw} 4 KiB, depth {depth}",
                             {"bare": (None, self.bare(rw, depth, 1)),
                              "vof": self.vof_rival(vof, rw, depth, ["--busy-poll"])},
                             [("vof", "bare", floor)])

    def event(self):
        vof = self.started(["--spin-us", "0"], self.MEMORY)
        spin = self.started([], self.MEMORY)
        nbd = self.nbdkit("memory")
        for depth, bare_floor, nbd_floor in ((1, 1 / 1.15, None), (32, 0.75, 3.0), (128, 0.6, 5.0)):
            for rw in ("read", "write"):
                self.compare(f"event driven, {rw} 4 KiB, depth {depth}",
                             {"bare": (None, self.bare(rw, depth, 0)),
                              "vof": self.vof_rival(vof, rw, depth, ["--spin-us", "0"]),
                              "vof-spin": self.vof_rival(spin, rw, depth, []),
                              "nbdkit": self.nbd_rival(nbd, rw, depth)},
                             [("vof", "bare", bare_floor), ("vof", "nbdkit", nbd_floor),
                              ("vof-spin", "bare", None)])

    def bulk(self):
        vof = self.started([], {**self.MEMORY, "null": f"store=null,size={DISK_BYTES}"})
        for rw, plugin, floor in (("read", "null", 1.2), ("write", "memory", 1.5)):
            nbd = self.nbdkit(plugin)
            self.compare(f"{rw} 128 KiB, depth 8, nbdkit {plugin}",
                         {"vof": self.vof_rival(vof, rw, 8, [], 128 << 10),
                          "vof-null": self.vof_rival(vof, rw, 8, [], 128 << 10, "null"),
                          "nbdkit": self.nbd_rival(nbd, rw, 8, 128 << 10)},
                         [("vof", "nbdkit", floor), ("vof-null", "nbdkit", None)])

    def dialect(self):
        vof = self.started([], self.MEMORY)
        for rw in ("read", "write"):
            self.compare(f"dialects, {rw} 4 KiB, depth 32",
                         {"v5": self.vof_rival(vof, rw, 32, []),
                          "ref": self.vof_rival(vof, rw, 32, [], query="?dialect=ref")},
                         [("ref", "v5", 0.8)])

    def fio(self, path, rw):
        command = ["fio", "--name=x", f"--filename={path}", "--ioengine=io_uring", "--iodepth=32", "--bs=4096",
                   f"--rw=rand{rw}", f"--size={DISK_BYTES}", "--time_based", f"--runtime={self.o.seconds}",
                   f"--cpus_allowed={SERVER_CPU}", "--output-format=json"]
        return lambda: float(run_json(command)["jobs"][0][rw]["iops"])

    def file(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            path, calls, twin = (os.path.join(folder, name) for name in ("disk", "calls", "twin"))
            vof = self.started([], {"file": f"store=file,path={path},size={DISK_BYTES}",
                                    "calls": f"store=file,path={calls},size={DISK_BYTES},io=calls"})
            shutil.copyfile(path, twin)
            for rw in ("read", "write"):
                self.compare(f"file on tmpfs, {rw} 4 KiB, depth 32",
                             {"vof": self.vof_rival(vof, rw, 32, [], name="file"),
                              "vof-calls": self.vof_rival(vof, rw, 32, [], name="calls"),
                              "fio": (None, self.fio(twin, rw))},
                             [("vof", "fio", 0.5), ("vof-calls", "vof", None)])

    def bare_fabric(self, rw, depth, block_bytes):
        command = [os.path.join(self.o.bin_dir, "bare-fabric"), "--provider", "shm", "--rw", rw, "--bs",
                   str(block_bytes), "--depth", str(depth), "--time", str(self.o.seconds)]
        return lambda: float(run_json(command)["iops"])

    def fabric(self):
        vof = self.started(["--busy-poll"], self.MEMORY, listener="ofi://127.0.0.1:0?provider=shm")
        loop = "loop:///memory?transmission=keyed"

        def in_process(rw, depth, block_bytes):
            return lambda: vof_bench(vof.vof, loop, rw, block_bytes, depth, self.o.seconds, ["--busy-poll"])

        for size, depth, floor in (("4 KiB", 1, 1 / 1.6), ("4 KiB", 32, 0.6), ("128 KiB", 8, None)):
            block_bytes = int(size.split()[0]) << 10
            for rw in ("read", "write"):
                self.compare(f"shm, {rw} {size}, depth {depth}",
                             {"bare": (None, self.bare_fabric(rw, depth, block_bytes)),
                              "vof": self.vof_rival(vof, rw, depth, ["--busy-poll"], block_bytes),
                              "vof-loop": (None, in_process(rw, depth, block_bytes))},
                             [("vof", "bare", floor), ("vof-loop", "bare", floor)])

    def inline(self):
        """What it buys to carry small requests and results inside of messages."""
        for provider in ("shm", "tcp"):
            listener = f"ofi://127.0.0.1:0?provider={provider}"
            inside = self.started(["--busy-poll"], self.MEMORY, listener=listener)
            apart = self.started(["--busy-poll", "--inline-size", "0"], self.MEMORY, listener=listener)
            for block_bytes, depth in ((512, 1), (4096, 1), (512, 32), (4096, 32)):
                for rw in ("read", "write"):
                    self.compare(f"{provider}, {rw} {block_bytes} B, depth {depth}",
                                 {"inline": self.vof_rival(inside, rw, depth, ["--busy-poll"], block_bytes),
                                  "apart": self.vof_rival(apart, rw, depth, ["--busy-poll"], block_bytes)},
                                 [("inline", "apart", None)])

    def run(self):
        try:
            print("| load | thousand operations per second, median | ratios |\n|---|---|---|")
            for part in self.o.only.split(","):
                getattr(self, part)()
        finally:
            for server in self.servers:
                server.resume()
                server.stop()
        if self.o.json:
            json.dump(self.results, self.o.json, indent=1)
            self.o.json.close()


PARTS = ("polling", "event", "bulk", "dialect", "file", "fabric", "inline")


def main():
    parser = argparse.ArgumentParser(prog="testing/bench/compare", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    # Both are for the script of that name, which builds.
    parser.add_argument("--bin-dir", help=argparse.SUPPRESS)
    parser.add_argument("--parse-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each pair (default: 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run (default: 1)")
    parser.add_argument("--only", default=",".join(PARTS), help="these parts (default: all)")
    parser.add_argument("--json", metavar="FILE", help="where the figures go, too")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    unknown = set(options.only.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"--only {','.join(sorted(unknown))} is unknown; known: {', '.join(PARTS)}")
    if options.json:
        # Now, and not when everything has been measured.
        try:
            options.json = open(options.json, "a" if options.parse_only else "w", encoding="utf-8")
        except OSError as error:
            parser.error(f"--json: cannot write {options.json}: {error.strerror}")
    if options.parse_only:
        return
    if options.bin_dir is None:
        sys.exit("compare: run testing/bench/compare, which builds the programs")
    Suite(options).run()


if __name__ == "__main__":
    main()
