#!/usr/bin/python3
"""Judge submissions while workers, message server, site and database fail, and check the results.

Starts all of them on this machine, with a contest. Users submit sources whose verdicts are known.
Meanwhile, processes are killed, stopped for longer than a lease, or started twice. One submission
kills each worker that judges it. At the end, each submission must have exactly one current
judgement with the expected verdict, that one submission must be a fault, and the ranking must agree
with the submissions.

Needs nats-server, and postgresql for --postgres. If started by root, everything runs as an
unprivileged user. `make chaos` builds the programs and runs this script.
"""

import argparse
import glob
import http.cookiejar
import io
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zipfile

USER = 61234  # an unused user id
PROGRAMS = ["millibox", "millibox-site", "millibox-stage", "millibox-supervisor", "millibox-worker"]
PASSWORD = "correct horse battery staple"
# The site accepts 20 submissions of a user in a minute.
SUBMISSION_PAUSE = 3.1
# The most failed attempts of a judgement.
ATTEMPTS = 3

ADD = "a, b = map(int, input().split())\n"
SOURCES = [
    ("accepted", ADD + "print(a + b)\n"),
    ("accepted", "import time\ntime.sleep(0.5)\n" + ADD + "print(a + b)\n"),
    ("wrong answer", ADD + "print(a - b)\n"),
    ("run-time error", ADD + "print(a // 0)\n"),
]
POISON = "import time\ntime.sleep(8)\n" + ADD + "print(a + b)\n"
STORED = {
    "accepted": "accepted", "wrong answer": "wrong_answer", "run-time error": "run_time_error"
}


def package():
    """Return a package whose submissions add two numbers."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("problem.yaml", "name: Sum\nlimits:\n  memory: 256\n")
        files.writestr(".timelimit", "10\n")
        files.writestr("problem_statement/problem.md", "Add two numbers.\n")
        for name, numbers in [("sample/1", (1, 2)), ("secret/1", (20, 22)), ("secret/2", (5, 7))]:
            files.writestr(f"data/{name}.in", f"{numbers[0]} {numbers[1]}\n")
            files.writestr(f"data/{name}.ans", f"{sum(numbers)}\n")
    return archive.getvalue()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Part:
    """A process that can be killed, stopped and started again."""

    def __init__(self, world, name, command, user):
        self.world, self.name, self.command, self.user = world, name, command, user
        self.log = open(world.path(f"{name}.log"), "ab")
        self.process = None

    def start(self):
        self.process = self.world.popen(self.command, self.user, stdout=self.log, stderr=self.log)

    def send(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self, number=signal.SIGKILL):
        self.send(signal.SIGCONT)
        self.send(number)
        self.process.wait()


class World:
    """Everything that runs, in a temporary directory."""

    def __init__(self, options):
        self.directory = tempfile.mkdtemp(prefix="millibox-chaos-")
        self.options = options
        self.user = {}
        if os.geteuid() == 0:
            os.chmod(self.directory, 0o755)
            os.chown(self.directory, USER, USER)
            self.user = {"user": USER, "group": USER, "extra_groups": []}
        for name in PROGRAMS + ["libmillibox_ready.so"]:
            shutil.copy(os.path.join(options.programs, name), self.path(name))
        self.parts = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def popen(self, command, user=None, **streams):
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}
        environment |= {"HOME": self.directory, "TMPDIR": self.directory}
        return subprocess.Popen(
            command, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
            **(user or self.user), **streams,
        )

    def run(self, command, user=None):
        process = self.popen(command, user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = process.communicate()
        if process.returncode:
            sys.exit(f"chaos: {command[0]}: {errors.decode()}")
        return output.decode()

    def part(self, name, command, user=None):
        self.parts.append(Part(self, name, command, user))
        return self.parts[-1]

    def fleet(self, name, *arguments):
        """Write what `millibox site fleet` prints to a file that other users cannot read."""
        command = [self.path("millibox-site"), "fleet", *self.place, *arguments]
        text = self.run(command)
        with open(os.open(self.path(name), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
        if self.user:
            os.chown(self.path(name), USER, USER)

    def start(self, is_alone=False):
        """Start everything, or only a site that judges itself with one worker."""
        self.place = ["--data", self.path("data")]
        self.database = None
        if self.options.postgres:
            self.start_postgres()
        self.url = f"http://127.0.0.1:{free_port()}"
        listen = ["--listen", self.url.removeprefix("http://"), "--backend", "rlimit"]
        site = [self.path("millibox-site"), *self.place, *listen]
        self.site = self.part("site", site)
        self.site.start()
        self.admin = Browser(self.url)
        self.admin.wait()
        if is_alone:
            return
        # The site knows its workers before it serves them.
        self.fleet("site.key", "site")
        names = [f"w{number}" for number in range(self.options.workers)]
        for name in names:
            self.fleet(f"{name}.key", "add", name)
        self.fleet("rules.conf", "rules")
        port, monitor = free_port(), free_port()
        self.monitor = f"http://127.0.0.1:{monitor}"
        nats = f"nats://127.0.0.1:{port}"
        with open(self.path("nats.conf"), "w") as file:
            file.write(f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{monitor}"\n')
            file.write('include "rules.conf"\n')
        self.nats = self.part("nats", ["nats-server", "-c", "nats.conf"])
        self.nats.start()
        lease = str(self.options.lease)
        site += ["--nats", nats, "--nats-creds", "site.key", "--judge-here", "no", "--lease", lease]
        self.site.kill(signal.SIGTERM)
        self.site.start()
        self.admin.wait()
        self.workers = []
        for place, name in enumerate(names):
            worker = []
            if self.options.slots == 1:
                # Otherwise all workers would use the last CPU.
                cpus = sorted(os.sched_getaffinity(0), reverse=True)
                worker = ["taskset", "-c", str(cpus[place % len(cpus)])]
            worker += [self.path("millibox-worker"), "--nats", nats, "--creds", f"{name}.key"]
            worker += ["--slots", str(self.options.slots), "--backend", "rlimit"]
            self.workers.append(self.part(name, [*worker, "--cache", self.path(name)]))
            self.workers[-1].start()
        self.twin = self.part("twin", [*worker, "--cache", self.path("twin")])

    def start_postgres(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            sys.exit("chaos: PostgreSQL is not installed; install the package postgresql")
        directory, port = self.path("postgres"), free_port()
        os.mkdir(directory)
        user = {}
        if self.user:
            # PostgreSQL needs a user with an account, and Debian's package has created one.
            account = pwd.getpwnam("postgres")
            user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(directory, account.pw_uid, account.pw_gid)
        data = f"{directory}/data"
        self.run([f"{programs[-1]}/initdb", "-D", data, "-A", "trust", "-U", "site"], user)
        server = [f"{programs[-1]}/postgres", "-D", data, "-p", str(port), "-k", directory]
        self.postgres = self.part("database", [*server, "-c", "listen_addresses="], user)
        self.postgres.start()
        self.psql = ["psql", "-h", directory, "-p", str(port), "-U", "site", "-AtF", "\t", "-d"]
        for _ in range(100):
            if self.popen([*self.psql, "postgres", "-c", "SELECT 1"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).wait() == 0:
                break
            time.sleep(0.2)
        self.run([*self.psql, "postgres", "-c", "CREATE DATABASE site"])
        where = urllib.parse.quote(directory, safe="")
        self.database = f"postgres:///site?host={where}&port={port}&user=site"
        self.place += ["--database", self.database]

    def rows(self, sql):
        """Return the rows of a query as lists of texts. Waits while the database is away."""
        while True:
            try:
                if not self.database:
                    file = f"file:{self.path('data/site.db')}?mode=ro"
                    with sqlite3.connect(file, uri=True, timeout=30) as db:
                        return [[str(value) for value in row] for row in db.execute(sql)]
                done = subprocess.run([*self.psql, "site", "-c", sql], capture_output=True)
                if done.returncode == 0:
                    return [line.split("\t") for line in done.stdout.decode().splitlines()]
            except sqlite3.OperationalError:
                pass
            time.sleep(0.5)

    def end(self):
        for part in self.parts:
            if part.process is not None:
                part.kill(signal.SIGKILL if part.name != "database" else signal.SIGQUIT)
            part.log.close()
        if not self.options.keep:
            shutil.rmtree(self.directory, ignore_errors=True)


class Browser:
    """A browser with cookies."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    def __init__(self, url):
        self.url = url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(self.Stay, cookies)

    def send(self, path, body=None, headers=()):
        """Return status, location and text of an answer."""
        request = urllib.request.Request(self.url + path, body, dict(headers))
        request.add_header("Origin", self.url)
        try:
            with self.opener.open(request, timeout=30) as answer:
                return answer.status, "", answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Location", ""), error.read().decode()

    def wait(self):
        """Wait until the site answers."""
        for _ in range(600):
            try:
                return self.send("/")
            except OSError:
                time.sleep(0.1)
        sys.exit("chaos: the site does not start")

    def post(self, path, status=303, **fields):
        found = self.send(path, urllib.parse.urlencode(fields).encode())
        if found[0] != status:
            sys.exit(f"chaos: POST {path} has status {found[0]}: {found[2][:2000]}")
        return found

    def upload(self, path, content):
        boundary = uuid.uuid4().hex
        part = f"--{boundary}\r\nContent-Disposition: form-data; name="
        head = part + '"visibility"\r\n\r\nprivate\r\n'
        head += part + '"file"; filename="sum.zip"'
        body = head.encode() + b"\r\n\r\n" + content + f"\r\n--{boundary}--\r\n".encode()
        media = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self.send(path, body, media)

    def token(self, scope):
        fields = {"name": "chaos", "scope": scope, "days": 1}
        page = self.post("/account/tokens", 200, **fields)[2]
        return re.search(r'id="?token"?[^>]*>\s*([^<\s]+)', page)[1]


class Contest:
    """A contest of one problem, and its users."""

    def __init__(self, world):
        admin = self.admin = world.admin
        with open(world.path("site.log")) as log:
            setup = re.findall(r"http\S+?(/setup/\S+)", log.read())[-1]
        admin.post(setup, login="admin", name="admin", password=PASSWORD)
        problem = self.number(admin.upload("/problems/new", package()))
        self.id = self.number(admin.post("/contests/new", name="Chaos", visibility="public"))
        times = {"begins": "", "ends": "", "full_results": "", "ranking_from": ""}
        round_ = self.number(admin.post(f"/contests/{self.id}/rounds", name="Round", **times))
        admin.post(f"/rounds/{round_}/problems", problem=problem, label="A", final_method="best",
                   reveal="status")
        page = admin.send(f"/rounds/{round_}")[2]
        self.problem = int(re.search(r"/round-problems/(\d+)", page)[1])
        page = admin.post(f"/contests/{self.id}/link", 200)[2]
        self.link = re.search(r"/enter/[0-9a-f]{64}", page)[0]
        self.token = admin.token("manage")

    @staticmethod
    def number(answer):
        found = re.search(r"\d+", answer[1])
        if not found:
            sys.exit(f"chaos: the site answers {answer}")
        return int(found[0])

    def user(self, name):
        """Sign up a user and enter the contest. Return the token of a program."""
        browser = Browser(self.admin.url)
        browser.send(self.link)
        browser.post("/sign-up", login=name, name=name, password=PASSWORD)
        browser.post(self.link)
        return browser.token("submit")

    def submit(self, token, source, key):
        """Submit with the token of a user. Return status and text of the answer."""
        body = {"round_problem": self.problem, "file_name": "a.py", "source": source}
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        headers["Idempotency-Key"] = key
        browser = Browser(self.admin.url)
        status, _, text = browser.send("/api/v1/submissions", json.dumps(body).encode(), headers)
        return status, text


class Load:
    """Users that submit until the site has accepted the planned number."""

    def __init__(self, world, contest, options):
        self.world, self.contest, self.options = world, contest, options
        self.lock = threading.Lock()
        self.left = options.submissions
        self.sent = {}  # the expected verdict by the number of the submission
        self.poison = None
        self.threads = []
        for number in range(options.users):
            name = f"user{number}"
            arguments = (name, contest.user(name), random.Random(f"{options.seed} {name}"))
            self.threads.append(threading.Thread(target=self.work, args=arguments, daemon=True))

    def start(self):
        for thread in self.threads:
            thread.start()

    def is_sending(self):
        return any(thread.is_alive() for thread in self.threads)

    def submit(self, token, source):
        """Submit until the site has answered. The key makes repetitions harmless."""
        key = uuid.uuid4().hex
        while True:
            try:
                status, text = self.contest.submit(token, source, key)
                if status == 201:
                    return json.loads(text)["id"]
                if status not in (429, 500, 502, 503):
                    print(f"chaos: FAILED: a submission has status {status}: {text}", flush=True)
                    # The main thread ends all processes.
                    os.kill(os.getpid(), signal.SIGTERM)
                    return None
            except OSError:
                pass
            except ValueError:
                pass  # the site ended in the middle of its answer
            time.sleep(1)

    def work(self, name, token, choice):
        time.sleep(choice.uniform(0, SUBMISSION_PAUSE))
        while True:
            with self.lock:
                if self.left <= 0:
                    return
                self.left -= 1
                is_poison = self.poison is None and self.left < self.options.submissions // 2
                if is_poison:
                    self.poison = 0
            verdict, source = ("", POISON) if is_poison else choice.choice(SOURCES)
            number = self.submit(token, source + f"# {name} {uuid.uuid4()}\n")
            with self.lock:
                if is_poison:
                    self.poison = number
                else:
                    self.sent[number] = (name, verdict)
            time.sleep(SUBMISSION_PAUSE)


class Faults:
    """Processes that fail, one after another."""

    def __init__(self, world, options):
        self.world, self.random = world, random.Random(options.seed)
        self.long = options.lease * 1.5
        self.interval = options.interval
        self.counts = {}
        self.kinds = [self.kill_worker, self.kill_worker, self.stop_worker, self.end_worker,
                      self.start_twin, self.kill_nats, self.stop_nats, self.kill_site,
                      self.stop_site]
        if options.postgres:
            self.kinds.append(self.kill_postgres)

    def next(self):
        kind = self.random.choice(self.kinds)
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
        self.again(self.world.site, signal.SIGKILL)

    def stop_site(self):
        self.stop(self.world.site, self.long)

    def kill_postgres(self):
        """SIGQUIT ends all processes of PostgreSQL without writing what is in memory."""
        self.again(self.world.postgres, signal.SIGQUIT)


def poison_workers(world, load, faults, ended):
    """Kill each worker that judges the one submission."""
    killed = None
    while not ended.is_set():
        time.sleep(0.3)
        if not load.poison:
            continue
        sql = f"SELECT state, attempt, worker FROM judgement WHERE submission_id = {load.poison}"
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
    """Close the faults of submissions whose attempts failed three times by chance, as the staff
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
    if not poison or poison[2] != "fault" or int(poison[4]) != ATTEMPTS:
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
    parser.add_argument("--keep", action="store_true", help="keep the directory with all logs")
    options = parser.parse_args()
    options.programs = os.path.abspath(options.programs)

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
    watch = threading.Thread(target=poison_workers, args=(world, load, faults, ended), daemon=True)
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
