#!/usr/bin/python3
"""Measure judging on other machines, with all processes on this machine.

latency: one submission after another is judged by a site itself and by a worker, alternately. Then
both are idle for a minute, for the CPU time and the messages of a fleet that waits.

throughput: many submissions are judged by 1, 2, 4 and 8 workers, each with a fifth of a CPU, so
that the site and its servers are never short of CPU time. Needs root and version 1 cgroups.

Prints JSON. See chaos.py for what is needed.
"""

import argparse
import json
import os
import statistics
import sys
import time
import urllib.request
import uuid

from world import SOURCES, Contest, World

SHARE = 0.2  # of a CPU, for each worker
PERIOD = 20_000  # microseconds, short because submissions are
GROUPS = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"]


def ticks(process):
    """Return the CPU time of a process without its children, in seconds."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def messages(world):
    """Return messages and bytes that the NATS server has received."""
    with urllib.request.urlopen(f"{world.monitor}/varz") as answer:
        found = json.load(answer)
    return found["in_msgs"], found["in_bytes"]


class Users:
    """Users that take turns, because the site bounds the submissions of each."""

    def __init__(self, world, count):
        self.contest = Contest(world)
        self.tokens = [self.contest.user(f"user{number}") for number in range(count)]
        self.turn = 0

    def submit(self, source):
        self.turn += 1
        token = self.tokens[self.turn % len(self.tokens)]
        key = uuid.uuid4().hex
        status, text = self.contest.submit(token, f"{source}# {key}\n", key)
        if status != 201:
            sys.exit(f"measure: a submission has status {status}: {text}")


def wait_for(world, count):
    while int(world.rows("SELECT COUNT(*) FROM judgement WHERE state = 'done'")[0][0]) < count:
        time.sleep(0.02)


def wait_for_workers(world):
    sql = "SELECT COUNT(*) FROM fleet_worker WHERE seen_at IS NOT NULL"
    while int(world.rows(sql)[0][0]) < len(world.workers):
        time.sleep(0.2)


def latency(options):
    alone, fleet = World(options), World(options)
    try:
        alone.start(is_alone=True)
        fleet.start()
        wait_for_workers(fleet)
        users = [Users(world, 20) for world in (alone, fleet)]
        _, source = SOURCES[0]
        for number in range(options.submissions):
            for world, own in zip((alone, fleet), users):
                own.submit(source)
                wait_for(world, number + 1)
        found = {}
        for name, world in (("site", alone), ("worker", fleet)):
            sql = "SELECT started_at - queued_at, ended_at - queued_at FROM judgement"
            # The database has microseconds.
            rows = [[float(value) / 1000 for value in row] for row in world.rows(sql)]
            for column, what in enumerate(("until it begins", "until its verdict")):
                times = sorted(row[column] for row in rows)
                found[f"{name}: ms {what}"] = {
                    "p50": statistics.median(times), "p99": times[int(len(times) * 0.99)]
                }
        parts = {"site": fleet.site, "nats": fleet.nats, "worker": fleet.workers[0],
                 "site without workers": alone.site}
        before = {name: ticks(part.process) for name, part in parts.items()}, messages(fleet)
        time.sleep(options.idle)
        after = {name: ticks(part.process) for name, part in parts.items()}, messages(fleet)
        found["idle: ms of CPU time in a second"] = {
            name: round((after[0][name] - before[0][name]) / options.idle * 1000, 2)
            for name in parts
        }
        found["idle: messages in a second"] = (after[1][0] - before[1][0]) / options.idle
        return found
    finally:
        alone.end()
        fleet.end()


class Share:
    """A cgroup with a share of a CPU."""

    def __init__(self, name):
        self.paths = [f"{group}/{name}" for group in GROUPS]
        for path in self.paths:
            os.makedirs(path, exist_ok=True)
        self.write(0, "cpu.cfs_period_us", PERIOD)
        self.write(0, "cpu.cfs_quota_us", int(PERIOD * SHARE))

    def write(self, group, name, value):
        with open(f"{self.paths[group]}/{name}", "w") as file:
            file.write(str(value))

    def add(self, process):
        for group in range(len(self.paths)):
            self.write(group, "cgroup.procs", process.pid)

    def cpu_time(self):
        with open(f"{self.paths[1]}/cpuacct.usage") as file:
            return int(file.read()) / 1e9

    def remove(self):
        for path in self.paths:
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.1)


def throughput(options):
    found = []
    for count in (1, 2, 4, 8):
        options.workers = count
        world, shares = World(options), []
        try:
            world.start()
            for number, worker in enumerate(world.workers):
                shares.append(Share(f"millibox-measure-{os.getpid()}-{number}"))
                shares[-1].add(worker.process)
            wait_for_workers(world)
            submissions = options.submissions * count
            users = Users(world, submissions // 15 + 1)
            time.sleep(5)
            before = [share.cpu_time() for share in shares]
            own, sent = [ticks(world.site.process), ticks(world.nats.process)], messages(world)
            for _ in range(submissions):
                users.submit(SOURCES[0][1])
            wait_for(world, submissions)
            used = sum(share.cpu_time() for share in shares) - sum(before)
            now = messages(world)
            sql = "SELECT MIN(started_at), MAX(ended_at) FROM judgement"
            begin, end = map(float, world.rows(sql)[0])
            sql = "SELECT COUNT(DISTINCT fleet_worker_id) FROM judgement"
            rate = submissions / (end - begin) * 1e6
            found.append({
                "workers": count,
                "workers that judged": int(world.rows(sql)[0][0]),
                "submissions": submissions,
                "submissions in a second": round(rate, 2),
                "by the CPU time of one submission": round(SHARE * count * submissions / used, 2),
                "ms of CPU time for a submission": {
                    "worker": round(used / submissions * 1000, 1),
                    "site": round((ticks(world.site.process) - own[0]) / submissions * 1000, 2),
                    "nats": round((ticks(world.nats.process) - own[1]) / submissions * 1000, 2),
                },
                "messages for a submission": round((now[0] - sent[0]) / submissions, 1),
                "bytes for a submission": round((now[1] - sent[1]) / submissions),
            })
            print(json.dumps(found[-1]), file=sys.stderr, flush=True)
        finally:
            world.end()
            for share in shares:
                share.remove()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["latency", "throughput"])
    parser.add_argument("--programs", default="target/release", metavar="DIRECTORY",
                        help="where the programs were built; default: %(default)s")
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--submissions", default=60, **number,
                        help="for each worker; default: %(default)s")
    parser.add_argument("--idle", default=60, **number, help="seconds; default: %(default)s")
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL")
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)
    options.workers, options.slots, options.lease, options.keep = 1, 1, 30, False
    options.sites, options.disk, options.clocks = 1, 0, False
    found = latency(options) if options.what == "latency" else throughput(options)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
