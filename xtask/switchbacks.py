#!/usr/bin/env python3
"""Real experiments with `hugewise live`, as root.

    xtask/switchbacks.py placebo COUNT FILE   # experiments without an effect: which of them claim one
    xtask/switchbacks.py kill COUNT FILE      # kill -9 at a random moment: is the memory as it was found
    xtask/switchbacks.py sum FILE             # the counts of a file

The programs are those of target/debug; HUGEWISE_PROGRAMS names another folder. Each experiment is a line of JSON in FILE, so the counts of
several calls add up.
"""

import collections
import ctypes
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = os.environ.get("HUGEWISE_PROGRAMS", "target/debug")
HUGE = 2 << 20
MIB = 64
PAGEMAP_SCAN, PAGE_IS_HUGE = 0xC0606610, 1 << 6
MADV_COLLAPSE, PROCESS_MADVISE = 25, 440
LIBC = ctypes.CDLL(None, use_errno=True)


class Steady:
    """A program that reads memory which must stay as it was written."""

    def __init__(self, folder):
        self.count = os.path.join(folder, "count")
        words = [os.path.join(PROGRAMS, "hugewise-lab"), "steady", "--order", "chase", "--mib", str(MIB)]
        self.child = subprocess.Popen(
            words + ["--out", self.count], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.child.stdout.readline().startswith("steady ")
        self.pid = self.child.pid
        self.span = self.largest_mapping()

    def largest_mapping(self):
        with open(f"/proc/{self.pid}/maps") as maps:
            spans = [tuple(int(it, 16) for it in line.split()[0].split("-")) for line in maps if " rw-p " in line]
        return max(spans, key=lambda span: span[1] - span[0])

    def blocks(self):
        """The state of each block: True for a huge one."""
        begin, end = self.span
        regions = (ctypes.c_uint64 * (3 * 4096))()
        # struct pm_scan_arg: size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, any, returned
        words = [96, 0, begin, end, 0, ctypes.addressof(regions), 4096, 0, 0, PAGE_IS_HUGE, 0, PAGE_IS_HUGE]
        argument = (ctypes.c_uint64 * 12)(*words)
        with open(f"/proc/{self.pid}/pagemap", "rb") as pagemap:
            found = fcntl.ioctl(pagemap, PAGEMAP_SCAN, argument)
        huge = set()
        for at in range(found):
            start, stop = regions[3 * at], regions[3 * at + 1]
            huge.update(range(start, stop, HUGE))
        return [start in huge for start in range(begin, end, HUGE)]

    def make_some_huge(self):
        """Half of the blocks, at random."""
        begin, end = self.span
        process = os.pidfd_open(self.pid)
        for start in range(begin, end, HUGE):
            if random.random() < 0.5:
                part = (ctypes.c_uint64 * 2)(start, HUGE)
                LIBC.syscall(PROCESS_MADVISE, process, part, ctypes.c_ulong(1), MADV_COLLAPSE, 0)
        os.close(process)

    def end(self):
        """Whether its memory is as it was written."""
        self.child.stdin.close()
        text = self.child.stdout.read()
        return self.child.wait() == 0 and text.strip().endswith(" same")


def live(steady, folder, flags):
    words = [os.path.join(PROGRAMS, "hugewise"), "live", str(steady.pid), "--work", f"cmd:cat {steady.count}"]
    words += ["--period", "300ms", "--wait", "5m", "--format", "json", "--out", os.path.join(folder, f"{time.time_ns()}.jsonl")]
    return subprocess.Popen(words + flags, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def placebo(count, put):
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            steady = Steady(folder)
            running = live(steady, folder, ["--placebo", "--max-time", "15s"])
            out, said = running.communicate()
            same = steady.end()
        if running.returncode != 0:
            put({"kind": "placebo", "code": running.returncode, "said": said[-300:], "same": same})
            continue
        report = json.loads(out)
        claim = report["answer"]["claims"][0]
        call = claim["call"] if isinstance(claim["call"], str) else next(iter(claim["call"]))
        ratio = claim["effect"].get("ratio")
        put({"kind": "placebo", "call": call, "ratio": ratio, "rounds": claim["rounds"], "same": same})


def kill(count, put):
    with tempfile.TemporaryDirectory() as folder:
        steady = Steady(folder)
        steady.make_some_huge()
        found = steady.blocks()
        for _ in range(count):
            running = live(steady, folder, [])
            after = random.uniform(0, 6)
            time.sleep(after)
            switched = steady.blocks() != found
            running.send_signal(signal.SIGKILL)
            running.wait()
            killed = time.monotonic()
            while steady.blocks() != found and time.monotonic() < killed + 10:
                time.sleep(0.005)
            took = time.monotonic() - killed
            time.sleep(0.3)
            now = steady.blocks()
            wrong = sum(a != b for a, b in zip(now, found))
            alive = steady.child.poll() is None
            put({"kind": "kill", "after": round(after, 3), "switched": switched, "wrong": wrong, "took": round(took, 3), "alive": alive})
        put({"kind": "memory", "same": steady.end(), "huge": sum(found), "blocks": len(found)})


def total(path):
    with open(path) as lines:
        rows = [json.loads(line) for line in lines]
    placebos = [row for row in rows if row["kind"] == "placebo"]
    kills = [row for row in rows if row["kind"] == "kill"]
    if placebos:
        calls = collections.Counter(row.get("call", f"exit {row.get('code')}") for row in placebos)
        print(f"{len(placebos)} placebos:", dict(calls), "memory the same:", sum(row["same"] for row in placebos))
    if kills:
        memory = [row["same"] for row in rows if row["kind"] == "memory"]
        late = max(row["took"] for row in kills)
        print(
            f"{len(kills)} kills, {sum(row['switched'] for row in kills)} while blocks were switched:",
            f"{sum(row['wrong'] == 0 for row in kills)} put back, the last after {late} s;",
            f"{sum(row['alive'] for row in kills)} alive; memory the same in {sum(memory)} of {len(memory)} processes",
        )


def main():
    match sys.argv[1:]:
        case ["sum", path]:
            total(path)
        case [("placebo" | "kill") as kind, count, path]:
            with open(path, "a") as file:
                put = lambda row: print(json.dumps(row), file=file, flush=True)
                {"placebo": placebo, "kill": kill}[kind](int(count), put)
            total(path)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
