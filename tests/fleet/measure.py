#!/usr/bin/python3
"""Measure judging on other machines, with all processes on this machine.

latency: one submission after another is judged by a site itself and by a worker, alternately. Then
both are idle for a minute, for the CPU time and the messages of a fleet that waits.

throughput: many submissions are judged by 1, 2, 4 and 8 workers, each with a fifth of a CPU, so
that the site and its servers are never short of CPU time. Needs root and version 1 cgroups.

scale: 10, 100 and 1,000 simulated workers, which run no programs, wait for a while and then rejudge
submissions as fast as the site lets them. One CPU serves the site alone. Needs the example
`simulate` of millibox-worker.

serve: clients run /bin/true through one service, through haproxy and two services, and through a
front end and two executors, alternately.

Prints JSON. See chaos.py for what is needed.
"""

import argparse
import collections
import concurrent.futures
import glob
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import types
import urllib.request
import uuid

from world import SOURCES, Browser, Contest, World, free_port

SHARE = 0.2  # of a CPU, for each worker
PERIOD = 20_000  # microseconds, short because submissions are
GROUPS = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct"]


def ticks(process, with_ended=False):
    """Return the CPU time of a process, in seconds; if wanted, with its ended children."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    last = 15 if with_ended else 13
    return sum(map(int, fields[11:last])) / os.sysconf("SC_CLK_TCK")


def messages(world):
    """Return messages and bytes that the NATS server has received."""
    with urllib.request.urlopen(f"{world.monitor}/varz") as answer:
        found = json.load(answer)
    return found["in_msgs"], found["in_bytes"]


def ticks_of_all(process):
    """Return the CPU time of a process and its children, in seconds."""
    total = ticks(process, with_ended=True)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        children = file.read().split()
    for pid in children:
        try:
            total += ticks(types.SimpleNamespace(pid=pid))
        except FileNotFoundError:
            pass  # it has just ended, and counts the next time
    return total


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


def scale(options):
    found = []
    cpus = sorted(os.sched_getaffinity(0))
    others = ",".join(map(str, cpus[1:]))
    os.sched_setaffinity(0, cpus[1:])
    for count in options.counts:
        options.workers = count
        world = World(options)
        try:
            simulate = world.path("simulate")
            shutil.copy(os.path.join(options.programs, "examples/simulate"), simulate)
            world.start(is_simulated=True)
            for site in world.sites:
                site.kill(signal.SIGTERM)
                site.command = ["taskset", "-c", str(cpus[0]), *site.command]
                site.start()
            for url in world.urls:
                Browser(url).wait()
            users = Users(world, options.submissions // 15 + 1)
            keys = world.path("keys")
            os.mkdir(keys)
            for name in glob.glob(world.path("w*.key")):
                os.rename(name, os.path.join(keys, os.path.basename(name)))
            command = [simulate, world.nats_url, keys, str(options.slots), "0"]
            workers = world.part("workers", command)
            workers.start()
            sql = "SELECT COUNT(*) FROM fleet_worker WHERE seen_at IS NOT NULL"
            while int(world.rows(sql)[0][0]) < count:
                time.sleep(0.2)
            for _ in range(options.submissions):
                users.submit(SOURCES[0][1])
            wait_for(world, options.submissions)
            parts = {"site": world.sites, "nats": [world.nats]}
            if options.postgres:
                parts["database"] = [world.postgres]

            def state():
                used = {
                    name: sum(ticks_of_all(part.process) for part in some)
                    for name, some in parts.items()
                }
                return used, messages(world)

            time.sleep(10)
            before = state()
            time.sleep(options.idle)
            idle = state()
            row = {
                "workers": count,
                "slots of each": options.slots,
                "site processes": options.sites,
                "idle: ms of CPU time in a second": {
                    name: round((idle[0][name] - before[0][name]) / options.idle * 1000, 2)
                    for name in parts
                },
                "idle: messages in a second": round((idle[1][0] - before[1][0]) / options.idle, 1),
            }
            before = state()
            world.admin.post("/rejudgings/new", contest=users.contest.id)
            wait_for(world, 2 * options.submissions)
            after = state()
            sql = "SELECT MIN(started_at), MAX(ended_at) FROM judgement"
            sql += " WHERE rejudging_id IS NOT NULL"
            begin, end = map(float, world.rows(sql)[0])
            used = {
                name: (after[0][name] - before[0][name]) / options.submissions * 1000
                for name in parts
            }
            row |= {
                "judgements in a second": round(options.submissions / (end - begin) * 1e6, 1),
                "by the CPU time of the site": round(1000 / used["site"], 1),
                "ms of CPU time for a judgement": {
                    name: round(value, 2) for name, value in used.items()
                },
                "messages for a judgement": round(
                    (after[1][0] - before[1][0]) / options.submissions, 1
                ),
            }
            found.append(row)
            print(json.dumps(row), file=sys.stderr, flush=True)
        finally:
            world.end()
    return found


class Services:
    """Services that run programs, and what distributes requests among them."""

    CONFIG = "languages = ['bash']\n"

    def __init__(self, options):
        self.directory = tempfile.mkdtemp(prefix="millibox-serve-")
        self.program = os.path.join(options.programs, "millibox")
        self.processes = []
        with open(self.path("serve.toml"), "w") as file:
            file.write(self.CONFIG)

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, command, **streams):
        self.processes.append(subprocess.Popen(command, cwd=self.directory, **streams))
        return self.processes[-1]

    def serve(self, *arguments, programs=True):
        """Start a service. Return its address, if it has one."""
        command = [self.program, "serve", "--config", self.path("serve.toml"), *arguments]
        command += ["--backend", "rlimit"] if programs else []
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = re.search(r"http://\S+", process.stdout.readline())
        return found and found[0]

    def proxied(self):
        """Start two services behind haproxy."""
        urls = [self.serve("--listen", "127.0.0.1:0") for _ in range(2)]
        port = free_port()
        lines = ["defaults", "mode http", "timeout connect 5s", "timeout client 60s",
                 "timeout server 60s", "listen services", f"bind 127.0.0.1:{port}",
                 "balance leastconn"]
        lines += [f"server s{index} {url.removeprefix('http://')}"
                  for index, url in enumerate(urls)]
        with open(self.path("haproxy.cfg"), "w") as file:
            file.write("\n".join(lines) + "\n")
        environment = {"PATH": "/usr/bin:/usr/sbin"}
        self.start(["haproxy", "-db", "-f", self.path("haproxy.cfg")], env=environment)
        return f"http://127.0.0.1:{port}"

    def relayed(self):
        """Start two executors, a front end and a NATS server."""
        names = ["web", "box-1", "box-2"]
        for name in names:
            with open(os.open(self.path(name), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                subprocess.run([self.program, "serve", "fleet", "key", name], stdout=file,
                               check=True)
        rules = [self.program, "serve", "fleet", "rules", "--front", self.path("web")]
        rules += ["--executor", self.path("box-1"), "--executor", self.path("box-2")]
        port = free_port()
        with open(self.path("nats.conf"), "w") as file:
            file.write(f'listen: "127.0.0.1:{port}"\n')
            file.write(subprocess.run(rules, stdout=subprocess.PIPE, check=True, text=True).stdout)
        environment = {"PATH": "/usr/bin:/usr/sbin"}
        self.start(["nats-server", "-c", self.path("nats.conf")], env=environment,
                   stderr=subprocess.DEVNULL)
        time.sleep(1)
        fleet = ["--nats", f"nats://127.0.0.1:{port}", "--nats-creds"]
        for name in names[1:]:
            self.serve(*fleet, self.path(name))
        return self.serve(*fleet, self.path("web"), "--front", "--listen", "127.0.0.1:0",
                          programs=False)

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def requests(url, until):
    """Send requests until a time. Return the seconds that each took."""
    body = json.dumps({"command": ["/bin/true"]})
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    times = []
    while time.monotonic() < until:
        begin = time.monotonic()
        connection.request("POST", "/v1/runs", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"measure: {url} replies with status {answer.status}")
        times.append(time.monotonic() - begin)
    return times


def serve(options):
    services = Services(options)
    try:
        urls = {
            "one service": services.serve("--listen", "127.0.0.1:0"),
            "haproxy, two services": services.proxied(),
            "front end, two executors": services.relayed(),
        }
        for url in urls.values():
            for _ in range(100):
                try:
                    with urllib.request.urlopen(f"{url}/readyz") as answer:
                        if answer.status == 200 and json.load(answer).get("executors", 2) == 2:
                            break
                except OSError:
                    pass
                time.sleep(0.1)
        found = {}
        for clients in (1, 16):
            rates, medians = collections.defaultdict(list), collections.defaultdict(list)
            for _ in range(options.rounds):
                for name, url in urls.items():
                    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
                        until = time.monotonic() + 3
                        parts = [pool.submit(requests, url, until) for _ in range(clients)]
                        times = [one for part in parts for one in part.result()]
                    rates[name].append(len(times) / 3)
                    medians[name].append(statistics.median(times) * 1000)
            for name in urls:
                found[f"{clients} clients, {name}"] = {
                    "runs in a second": round(statistics.median(rates[name])),
                    "ms for a run": round(statistics.median(medians[name]), 2),
                }
        return found
    finally:
        services.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["latency", "throughput", "scale", "serve"])
    parser.add_argument("--programs", default="target/release", metavar="DIRECTORY",
                        help="where the programs were built; default: %(default)s")
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--submissions", default=60, **number,
                        help="for each worker; default: %(default)s")
    parser.add_argument("--idle", default=60, **number, help="seconds; default: %(default)s")
    parser.add_argument("--counts", default=[10, 100, 1000], type=int, nargs="+", metavar="N",
                        help="numbers of simulated workers; default: %(default)s")
    parser.add_argument("--slots", default=1, **number,
                        help="of each simulated worker; default: %(default)s")
    parser.add_argument("--rounds", default=5, **number,
                        help="of serve, with each service; default: %(default)s")
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL")
    parser.add_argument("--sites", default=1, **number,
                        help="processes of the site, with scale; default: %(default)s")
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)
    options.workers, options.lease, options.keep = 1, 30, False
    options.disk, options.clocks = 0, False
    if options.sites > 1 and not (options.postgres and options.what == "scale"):
        parser.error("--sites needs scale and --postgres")
    measures = {"latency": latency, "throughput": throughput, "scale": scale, "serve": serve}
    measure = measures[options.what]
    print(json.dumps(measure(options), indent=2))


if __name__ == "__main__":
    main()
