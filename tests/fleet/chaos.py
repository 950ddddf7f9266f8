#!/usr/bin/python3
"""Judge submissions while workers, message server, site and database fail, and check the results.

Starts all of them on this machine, with a contest. Users submit sources whose verdicts are known.
Meanwhile, processes are killed, stopped for longer than a lease, or started twice. One submission
kills each worker that judges it. At the end, each submission must have exactly one current
judgement with the expected verdict, that one submission must be a fault, and the ranking must agree
with the submissions.

Needs nats-server, and postgresql for --postgres. If started by root, everything runs as an
unprivileged user, in a directory that is mounted in memory, so that the disk can be full. If
libfaketime is installed (Debian package faketime), the clocks of processes can jump. `make chaos`
builds the programs and runs this script.
"""

import argparse
import glob
import json
import os
import random
import signal
import sys
import threading
import time

from world import POISON_NAME, STORED, Contest, Load, World

# The failed attempts of a judgement that ends its workers: of two workers, or three of one.
ATTEMPTS = (2, 3)


class Faults:
    """Processes that fail, one after another."""

    def __init__(self, world, options):
        self.world, self.random = world, random.Random(options.seed)
        self.long = options.lease * 1.5
        self.interval = options.interval
        self.counts = {}
        self.bag = []
        self.kinds = [self.kill_worker, self.kill_worker, self.stop_worker, self.end_worker,
                      self.start_twin, self.kill_nats, self.stop_nats, self.kill_site,
                      self.stop_site]
        if options.postgres:
            self.kinds.append(self.kill_postgres)
        if world.disk:
            self.kinds.append(self.fill_disk)
        if world.faketime:
            self.kinds.append(self.set_clock)
        print("chaos: faults:", ", ".join(sorted({kind.__name__ for kind in self.kinds})))

    def next(self):
        if not self.bag:
            # Each kind has its turn.
            self.bag = self.random.sample(self.kinds, len(self.kinds))
        kind = self.bag.pop()
        self.count(kind.__name__)
        kind()
        time.sleep(self.random.expovariate(1 / self.interval))

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def again(self, part, number):
        part.kill(number)
        time.sleep(self.random.uniform(0, 2))
        part.start()

    def stop(self, part, seconds):
        part.send(signal.SIGSTOP)
        time.sleep(seconds)
        part.send(signal.SIGCONT)

    def kill_worker(self):
        self.again(self.random.choice(self.world.workers), signal.SIGKILL)

    def stop_worker(self):
        """Longer than its leases."""
        self.stop(self.random.choice(self.world.workers), self.long)

    def end_worker(self):
        self.again(self.random.choice(self.world.workers), signal.SIGTERM)

    def start_twin(self):
        """A second worker with the name of the last one."""
        self.world.twin.start()
        time.sleep(self.long)
        self.world.twin.kill(signal.SIGTERM)

    def kill_nats(self):
        self.again(self.world.nats, signal.SIGKILL)

    def stop_nats(self):
        """The network between the site and all workers is down."""
        self.stop(self.world.nats, self.long)

    def kill_site(self):
        self.again(self.random.choice(self.world.sites), signal.SIGKILL)

    def stop_site(self):
        self.stop(self.random.choice(self.world.sites), self.long)

    def fill_disk(self):
        """Nothing can be written. A database that ends for this reason is started again."""
        with open(self.world.disk, "wb", 0) as file:
            try:
                while file.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass
        time.sleep(self.random.uniform(1, self.long))
        os.unlink(self.world.disk)
        for part in self.world.parts:
            if part is not self.world.twin and part.process.poll() is not None:
                part.start()

    def set_clock(self):
        """The clock of a machine jumps, and is corrected after some time."""
        part = self.random.choice([*self.world.sites, *self.world.workers])
        self.world.set_clock(part.name, self.random.choice([-7200, -60, 60, 7200]))
        time.sleep(self.random.uniform(1, self.long))
        self.world.set_clock(part.name, 0)

    def kill_postgres(self):
        """SIGQUIT ends all processes of PostgreSQL without writing what is in memory."""
        self.again(self.world.postgres, signal.SIGQUIT)


def poison_workers(world, faults, ended):
    """Kill each worker that judges the one submission."""
    killed = None
    sql = f"""SELECT state, attempt, worker FROM judgement
        JOIN source ON source.submission_id = judgement.submission_id
        WHERE file_name = '{POISON_NAME}'"""
    while not ended.is_set():
        time.sleep(0.3)
        for state, attempt, worker in world.rows(sql):
            if state == "running" and attempt != killed:
                killed = attempt
                part = next(part for part in world.workers if worker.startswith(part.name + "/"))
                # A twin may be the one that judges it.
                for one in (part, world.twin):
                    if one.process is not None and one.process.poll() is None:
                        one.process.kill()
                        one.process.wait()
                faults.count("poison")
                part.start()


def waiting(world):
    """Return how many submissions have no verdict."""
    states = judged(world)
    return states.get("queued", 0) + states.get("running", 0)


def judged(world):
    sql = "SELECT state, COUNT(*) FROM judgement GROUP BY state ORDER BY state"
    return {state: int(count) for state, count in world.rows(sql)}


def wait_for_verdicts(world):
    begin = time.monotonic()
    while waiting(world) and time.monotonic() - begin < 600:
        time.sleep(0.5)


def close_faults(world, load):
    """Close the faults of submissions whose attempts failed several times by chance, as the staff
    would. Return their number. The one that kills its workers becomes a fault again."""
    sql = f"""SELECT id FROM judgement
        WHERE state = 'fault' AND submission_id <> {load.poison}"""
    unlucky = len(world.rows(sql))
    if unlucky:
        for (number,) in world.rows("SELECT id FROM fault WHERE closed_at IS NULL"):
            world.admin.post(f"/faults/{number}/close")
        wait_for_verdicts(world)
    return unlucky


def check(world, contest, load):
    """Return what is wrong."""
    wrong = []
    sql = """SELECT submission.id, COUNT(judgement.id), SUM(judgement.current), MAX(state),
            MAX(verdict), MAX(failures)
        FROM submission LEFT JOIN judgement ON judgement.submission_id = submission.id
        GROUP BY submission.id"""
    found = {int(row[0]): row[1:] for row in world.rows(sql)}
    if set(found) != {*load.sent, load.poison}:
        lost, other = {*load.sent, load.poison} - set(found), set(found) - {*load.sent, load.poison}
        wrong.append(f"submissions that are lost: {lost}; that were stored twice: {other}")
    for number, (name, verdict) in load.sent.items():
        judgements, current, state, stored = found.get(number, ["0"] * 5)[:4]
        expected = ["1", "1", "done", STORED[verdict]]
        if [judgements, current, state, stored] != expected:
            wrong.append(f"submission {number} of {name}: {found.get(number)}, not {expected}")
    poison = found.get(load.poison)
    if not poison or poison[2] != "fault" or int(poison[4]) not in ATTEMPTS:
        wrong.append(f"the submission that kills its workers: {poison}, not a fault")
    headers = {"Authorization": f"Bearer {contest.token}"}
    ranking = json.loads(contest.admin.send(f"/api/v1/contests/{contest.id}/ranking",
                                            headers=headers)[2])
    rows = [row for table in ranking["tables"] for row in table["rows"]]
    shown = {row["name"]: row["total"]["points"] for row in rows}
    users = {name for name, _ in load.sent.values()}
    right = {name for name, verdict in load.sent.values() if verdict == "accepted"}
    for name in users:
        expected = "100" if name in right else "0"
        if shown.get(name) != expected:
            wrong.append(f"the ranking shows {shown.get(name)} points of {name}, not {expected}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--programs", default="target/release", metavar="DIRECTORY",
                        help="where the programs were built; default: %(default)s")
    parser.add_argument("--submissions", default=300, **number, help="default: %(default)s")
    parser.add_argument("--users", default=20, **number,
                        help="each submits up to 20 sources in a minute; default: %(default)s")
    parser.add_argument("--workers", default=3, **number, help="default: %(default)s")
    parser.add_argument("--slots", default=2, **number, help="of each worker; default: %(default)s")
    parser.add_argument("--lease", default=6, **number, help="in seconds; default: %(default)s")
    parser.add_argument("--interval", default=3.0, type=float, metavar="N",
                        help="mean seconds between two faults; default: %(default)s")
    parser.add_argument("--seed", default=random.randrange(10**6), **number,
                        help="of the faults; default: random")
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL, which fails, too")
    parser.add_argument("--sites", default=1, **number,
                        help="processes that serve the site, with --postgres; default: %(default)s")
    parser.add_argument("--disk", default=0, **number,
                        help="MiB of the disk, which is full at times; needs root; 0: never full")
    parser.add_argument("--clocks", action="store_true",
                        help="the clocks of processes jump; needs libfaketime")
    parser.add_argument("--keep", action="store_true", help="keep the directory with all logs")
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)
    if options.sites > 1 and not options.postgres:
        parser.error("--sites needs --postgres")
    if options.disk and os.geteuid() != 0:
        parser.error("--disk needs root, which mounts the disk")
    if options.clocks and not glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"):
        parser.error("--clocks needs libfaketime; install the package faketime")

    if options.disk and "MILLIBOX_CHAOS" not in os.environ:
        # Other processes do not see the mount of the disk, and it ends with the script.
        os.environ["MILLIBOX_CHAOS"] = "1"
        own = ["unshare", "--mount", "--propagation", "private", sys.executable]
        os.execvp("unshare", [*own, *sys.argv])
    # Ctrl-C and SIGTERM end all processes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    world = World(options)
    print(f"chaos: seed {options.seed}, files in {world.directory}", flush=True)
    try:
        status = run(world, options)
    finally:
        world.end()
    sys.exit(status)


def run(world, options):
    world.start()
    contest = Contest(world)
    load = Load(world, contest, options)
    faults = Faults(world, options)
    ended = threading.Event()
    watch = threading.Thread(target=poison_workers, args=(world, faults, ended), daemon=True)
    begin = time.monotonic()
    load.start()
    watch.start()
    # Faults end before the queue does, so that the last ones are not in vain.
    while load.is_sending() or waiting(world) > options.submissions // 10:
        faults.next()
        print(f"chaos: {time.monotonic() - begin:.0f} s: {judged(world)}", flush=True)
    failing = time.monotonic() - begin
    quiet = time.monotonic()
    wait_for_verdicts(world)
    drained = time.monotonic() - quiet
    unlucky = close_faults(world, load)
    ended.set()
    wrong = check(world, contest, load)
    sql = "SELECT SUM(attempt), SUM(failures) FROM judgement"
    attempts, failures = world.rows(sql)[0]
    print(f"chaos: {failing:.0f} s of faults, {len(load.sent) + 1} submissions, "
          f"{attempts} attempts, {failures} of them failed")
    print("chaos: faults:", ", ".join(f"{name} {n}" for name, n in sorted(faults.counts.items())))
    print(f"chaos: the queue was empty {drained:.1f} s after the last fault")
    print(f"chaos: {unlucky} other submissions were a fault until the staff closed it")
    for line in wrong:
        print("chaos: WRONG:", line)
    print("chaos: FAILED" if wrong else "chaos: nothing is lost, and all results are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
