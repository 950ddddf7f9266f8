"""A site with workers on this machine, and its users, for the scripts beside this file."""

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

ADD = "a, b = map(int, input().split())\n"
SOURCES = [
    ("accepted", ADD + "print(a + b)\n"),
    ("accepted", "import time\ntime.sleep(0.5)\n" + ADD + "print(a + b)\n"),
    ("wrong answer", ADD + "print(a - b)\n"),
    ("run-time error", ADD + "print(a // 0)\n"),
]
# The response with its number may arrive after the verdict, so the file name identifies it.
POISON_NAME = "poison.py"
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


def random_url(urls):
    """Users choose one of the processes that serve the site."""
    return random.choice(urls)


class Part:
    """A process that can be killed, stopped and started again."""

    def __init__(self, world, name, command, user):
        self.world, self.name, self.command, self.user = world, name, command, user
        self.has_clock = False
        self.log = open(world.path(f"{name}.log"), "ab")
        self.process = None

    def start(self):
        clock = self.world.clock(self.name) if self.has_clock else {}
        self.process = self.world.popen(self.command, self.user, clock, stdout=self.log,
                                        stderr=self.log)

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
        self.directory = tempfile.mkdtemp(prefix="millibox-fleet-")
        self.options = options
        self.user = {}
        self.disk = None
        found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        self.faketime = found[0] if found and options.clocks else None
        if os.geteuid() == 0:
            if options.disk:
                size = f"size={options.disk}m,mode=755"
                subprocess.run(["mount", "-t", "tmpfs", "-o", size, "millibox", self.directory],
                               check=True)
                self.disk = self.path("filler")
            os.chmod(self.directory, 0o755)
            os.chown(self.directory, USER, USER)
            self.user = {"user": USER, "group": USER, "extra_groups": []}
        for name in PROGRAMS + ["libmillibox_ready.so"]:
            shutil.copy(os.path.join(options.programs, name), self.path(name))
        self.parts = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def clock(self, name):
        """Return variables with which the clock of a process can be set."""
        if not self.faketime:
            return {}
        self.set_clock(name, 0)
        return {"LD_PRELOAD": self.faketime, "FAKETIME_TIMESTAMP_FILE": self.path(f"{name}.clock"),
                "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

    def set_clock(self, name, seconds):
        with open(self.path(f"{name}.clock.new"), "w") as file:
            file.write(f"{seconds:+d}s\n")
        os.rename(self.path(f"{name}.clock.new"), self.path(f"{name}.clock"))

    def popen(self, command, user=None, variables=(), **streams):
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}
        environment |= {"HOME": self.directory, "TMPDIR": self.directory} | dict(variables)
        return subprocess.Popen(
            command, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
            **(user or self.user), **streams,
        )

    def run(self, command, user=None):
        process = self.popen(command, user, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = process.communicate()
        if process.returncode:
            sys.exit(f"fleet: {command[0]}: {errors.decode()}")
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

    def start(self, is_alone=False, is_simulated=False):
        """Start everything, or only a site that judges itself, or all except for the workers."""
        self.place = ["--data", self.path("data")]
        self.database = None
        if self.options.postgres:
            self.start_postgres()
        self.urls = [f"http://127.0.0.1:{free_port()}" for _ in range(self.options.sites)]
        common = [self.path("millibox-site"), *self.place, "--backend", "rlimit", "--listen"]
        self.sites = []
        for number, url in enumerate(self.urls):
            name = "site" if self.options.sites == 1 else f"site-{number + 1}"
            command = [*common, url.removeprefix("http://")]
            command += ["--process", name] if self.options.sites > 1 else []
            self.sites.append(self.part(name, command))
        self.sites[0].start()
        self.admin = Browser(self.urls[0])
        self.admin.wait()
        self.site = self.sites[0]
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
        nats = self.nats_url = f"nats://127.0.0.1:{port}"
        with open(self.path("nats.conf"), "w") as file:
            file.write(f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{monitor}"\n')
            file.write('include "rules.conf"\n')
        self.nats = self.part("nats", ["nats-server", "-c", "nats.conf"])
        self.nats.start()
        lease = str(self.options.lease)
        fleet = ["--nats", nats, "--nats-creds", "site.key", "--judge-here", "no"]
        self.site.kill(signal.SIGTERM)
        for site, url in zip(self.sites, self.urls):
            site.command += [*fleet, "--lease", lease]
            site.has_clock = True
            site.start()
            Browser(url).wait()
        self.workers = []
        if not is_simulated:
            self.start_workers(names)

    def start_workers(self, names):
        for place, name in enumerate(names):
            worker = []
            if self.options.slots == 1:
                # Otherwise all workers would use the last CPU.
                cpus = sorted(os.sched_getaffinity(0), reverse=True)
                worker = ["taskset", "-c", str(cpus[place % len(cpus)])]
            worker += [self.path("millibox-worker"), "--nats", self.nats_url]
            worker += ["--creds", f"{name}.key"]
            worker += ["--slots", str(self.options.slots), "--backend", "rlimit"]
            self.workers.append(self.part(name, [*worker, "--cache", self.path(name)]))
            self.workers[-1].has_clock = True
            self.workers[-1].start()
        self.twin = self.part("twin", [*worker, "--cache", self.path("twin")])

    def start_postgres(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs:
            sys.exit("fleet: PostgreSQL is not installed; install the package postgresql")
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
            if self.disk:
                subprocess.run(["umount", "--lazy", self.directory])
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
        sys.exit("fleet: the site does not start")

    def post(self, path, status=303, **fields):
        found = self.send(path, urllib.parse.urlencode(fields).encode())
        if found[0] != status:
            sys.exit(f"fleet: POST {path} has status {found[0]}: {found[2][:2000]}")
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
        fields = {"name": "test", "scope": scope, "days": 1}
        page = self.post("/account/tokens", 200, **fields)[2]
        return re.search(r'id="?token"?[^>]*>\s*([^<\s]+)', page)[1]


class Contest:
    """A contest of one problem, and its users."""

    def __init__(self, world):
        admin = self.admin = world.admin
        self.urls = world.urls
        with open(world.path(f"{world.site.name}.log")) as log:
            setup = re.findall(r"http\S+?(/setup/\S+)", log.read())[-1]
        admin.post(setup, login="admin", name="admin", password=PASSWORD)
        problem = self.number(admin.upload("/problems/new", package()))
        self.id = self.number(admin.post("/contests/new", name="Cup", visibility="public"))
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
            sys.exit(f"fleet: the site answers {answer}")
        return int(found[0])

    def user(self, name):
        """Sign up a user and enter the contest. Return the token of a program."""
        browser = Browser(self.urls[0])
        browser.send(self.link)
        browser.post("/sign-up", login=name, name=name, password=PASSWORD)
        browser.post(self.link)
        return browser.token("submit")

    def submit(self, token, source, key):
        """Submit with the token of a user. Return status and text of the answer."""
        name = POISON_NAME if source.startswith(POISON) else "a.py"
        body = {"round_problem": self.problem, "file_name": name, "source": source}
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        headers["Idempotency-Key"] = key
        browser = Browser(random_url(self.urls))
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
                    print(f"fleet: FAILED: a submission has status {status}: {text}", flush=True)
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
