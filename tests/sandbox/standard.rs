//! The standard world: what programs find on a usual machine.

use millibox::{
    Backend, BackendChoice, Mount, Network, Outcome, Output, Prepare, Prepared, Request, Start,
    Supervisor, World,
};
use millibox_tests::{skip, start};

const PYTHON: &str = "/usr/bin/python3";
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 64 << 20;

/// A supervisor whose limits may be weaker, because without cgroups they must be requested by name.
fn supervisor() -> Supervisor {
    let automatic = crate::supervisor();
    match automatic.info().backend() {
        Backend::Rlimit => start(crate::builder().backend(BackendChoice::Rlimit)),
        _ => automatic,
    }
}

fn world() -> World {
    World::standard()
        .network(Network::Loopback)
        .memory(MEMORY_BYTES)
}

fn output(supervisor: &Supervisor, request: Request) -> Output {
    let request = request.memory_limit(MEMORY_BYTES).process_limit(20);
    supervisor
        .output(&request, MAX_OUTPUT_BYTES)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn text(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let result = &output.result;
    assert_eq!(result.outcome, Outcome::Exited(0), "{result}: {stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shell(supervisor: &Supervisor, script: &str) -> String {
    let request = Request::new("/bin/sh").args(["-c", script]).world(&world());
    text(&output(supervisor, request))
}

/// Whether copies of Python are possible here.
fn python_or_skips(supervisor: &Supervisor) -> Option<Prepared> {
    if supervisor.info().backend() == Backend::Cgroup2 {
        skip("copies need Linux 6.12 with version 2 cgroups");
        return None;
    }
    let prepare = Prepare::python(PYTHON, ["json"]);
    Some(
        world()
            .prepare(&prepare)
            .unwrap_or_else(|error| panic!("{error}")),
    )
}

/// Runs a script as a program of its own, and as a copy.
fn python(supervisor: &Supervisor, script: &str) -> Vec<String> {
    let request = Request::new(PYTHON).args(["-c", script]);
    let mut all = vec![text(&output(supervisor, request.clone().world(&world())))];
    if let Some(prepared) = python_or_skips(supervisor) {
        let output = output(supervisor, request.prepared(&prepared));
        let start = &output.result.start;
        assert!(matches!(start, Start::Prepared { .. }), "{start}");
        all.push(text(&output));
    }
    all
}

#[test]
fn user_and_host_have_names() {
    let supervisor = supervisor();
    let found = shell(
        &supervisor,
        "id -un; id -gn; hostname; cat /proc/sys/kernel/hostname; wc -l < /etc/passwd",
    );
    assert_eq!(found, "millibox\nmillibox\nmillibox\nmillibox\n3\n");
    let names = "import getpass, pwd, os, socket; \
                 print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, socket.gethostname(), \
                 socket.gethostbyname('localhost'), socket.gethostbyname(socket.gethostname()))";
    for found in python(&supervisor, names) {
        assert_eq!(found, "millibox /tmp millibox 127.0.0.1 127.0.0.1\n");
    }
}

#[test]
fn etc_has_certificates_of_authorities_but_not_that_of_the_host() {
    if !std::path::Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        return skip("this machine has no certificates of authorities");
    }
    let supervisor = supervisor();
    let script = "import os, ssl\n\
                  shown = set(os.listdir('/etc/ssl/certs'))\n\
                  print(shown - {'ca-bundle.crt', 'ca-certificates.crt', 'java'})\n\
                  print(len(ssl.create_default_context().get_ca_certs()) > 10)\n\
                  print([n for n in ('profile', 'bash.bashrc') if os.path.exists('/etc/' + n)])";
    for found in python(&supervisor, script) {
        let is_linked = std::path::Path::new("/usr/lib/ssl/cert.pem").exists();
        let is_found = if is_linked { "True" } else { "False" };
        assert_eq!(found, format!("set()\n{is_found}\n[]\n"));
    }
}

#[test]
fn shadow_cannot_be_opened_and_settings_of_python_are_found() {
    let supervisor = supervisor();
    let script = "import glob, os\n\
                  try: open('/etc/shadow')\n\
                  except OSError as error: print(error.errno)\n\
                  files = glob.glob('/usr/lib/python3*/*.py')\n\
                  print([file for file in files if not os.path.exists(file)])";
    for found in python(&supervisor, script) {
        assert_eq!(found, "13\n[]\n");
    }
}

#[test]
fn shared_memory_and_semaphores_work_and_are_empty_for_each_run() {
    let supervisor = supervisor();
    let script = "import multiprocessing as m, os\n\
                  from multiprocessing import shared_memory\n\
                  print(os.listdir('/dev/shm'), oct(os.stat('/dev/shm').st_mode))\n\
                  with m.Pool(2) as pool: print(pool.map(abs, [-1, 2]))\n\
                  open('/dev/shm/left', 'w').write('x')\n\
                  s = shared_memory.SharedMemory(create=True, size=1000)\n\
                  s.buf[0] = 7\n\
                  t = shared_memory.SharedMemory(s.name)\n\
                  print(t.buf[0])\n\
                  t.close(); s.close(); s.unlink()";
    for _ in 0..2 {
        for found in python(&supervisor, script) {
            assert_eq!(found, "[] 0o41777\n[1, 2]\n7\n");
        }
    }
}

#[test]
fn shared_memory_is_bounded_and_charged() {
    let supervisor = supervisor();
    let free = shell(&supervisor, "stat -f -c '%b %S %c' /dev/shm");
    assert_eq!(free, "65536 4096 20000\n");
    if supervisor.info().backend() == Backend::Rlimit {
        return skip("the backend rlimit does not charge files in memory");
    }
    let request = Request::new("/bin/sh")
        .args(["-c", "head -c 128M /dev/zero > /dev/shm/large"])
        .world(&world());
    let outcome = output(&supervisor, request).result.outcome;
    assert_eq!(outcome, Outcome::MemoryLimit);
}

#[test]
fn proc_states_what_the_run_may_use_and_nothing_else() {
    let supervisor = supervisor();
    let script = "import os\n\
        print(open('/proc/meminfo').readline().split()[1])\n\
        print(open('/proc/cpuinfo').read().count('processor\\t') >= os.cpu_count() - 1)\n\
        print(os.getloadavg(), open('/proc/loadavg').read().strip())\n\
        print(open('/proc/stat').readline().strip())\n\
        listed = set(os.listdir('/proc')) - {'self', 'thread-self'}\n\
        print(all(name.isdigit() for name in listed))\n\
        hidden = 'interrupts kallsyms keys locks kcore cmdline modules vmstat sysrq-trigger'\n\
        print([name for name in hidden.split() if os.path.exists('/proc/' + name)])\n\
        print(os.path.exists('/proc/sys/kernel/core_pattern'))\n\
        for name in ('meminfo', 'sys/kernel/hostname', 'sys/new'):\n\
        \x20   try: print(open('/proc/' + name, 'w'))\n\
        \x20   except OSError as error: print(error.errno in (13, 30))";
    for found in python(&supervisor, script) {
        let lines: Vec<&str> = found.lines().collect();
        let [memory, cpus, load, statistics, rest @ ..] = lines.as_slice() else {
            panic!("{found}");
        };
        assert_eq!(*memory, (MEMORY_BYTES >> 10).to_string());
        assert_eq!(*cpus, "True");
        assert!(load.ends_with("0.00 0.00 0.00 1/1 2"), "{load}");
        assert_eq!(*statistics, "cpu  0 0 0 0 0 0 0 0 0 0");
        assert_eq!(rest, ["True", "[]", "False", "True", "True", "True"]);
    }
}

#[test]
fn stated_memory_is_at_most_the_limit() {
    let is_same = |bytes, other| {
        let world = World::standard().memory(bytes);
        world.mounts() == World::standard().memory(other).mounts()
    };
    // 0b1111 << 20 has four digits, so one byte less is another value. 0b11111 has five.
    assert!(!is_same(15 << 20, (15 << 20) - 1));
    assert!(is_same(31 << 20, (31 << 20) - 1));
    // /tmp is rounded up, so it is larger for a limit that /proc/meminfo rounds down.
    assert!(!is_same(31 << 20, 30 << 20));
}

#[test]
fn tmp_states_the_memory_limit_as_its_size() {
    let supervisor = supervisor();
    let script = "import shutil; usage = shutil.disk_usage('/tmp'); \
                  print(usage.total, usage.used, usage.free == usage.total)";
    for found in python(&supervisor, script) {
        assert_eq!(found, format!("{MEMORY_BYTES} 0 True\n"));
    }
    let found = shell(&supervisor, "df --output=target,size /tmp");
    assert!(
        found.ends_with(&format!(" {}\n", MEMORY_BYTES >> 10)),
        "{found}"
    );
}

#[test]
fn tmp_without_a_stated_limit_has_the_size_of_memory() {
    let supervisor = supervisor();
    let request = Request::new("/bin/sh")
        .args(["-c", "stat -f -c '%b %a %f' /tmp"])
        .world(&World::minimal());
    let found = text(&output(&supervisor, request));
    let blocks: Vec<u64> = found
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let [total, available, free] = blocks.as_slice() else {
        panic!("{found}");
    };
    assert!(
        *total > 1000 && available == total && free == total,
        "{found}"
    );
}

#[test]
fn tmp_is_full_after_its_size() {
    let supervisor = supervisor();
    // The request has a limit of 64 MiB, the world states 16 MiB.
    let world = World::standard().memory(16 << 20);
    let request = Request::new("/bin/sh")
        .args([
            "-c",
            "head -c 20M /dev/zero > /tmp/large; stat -c %s /tmp/large",
        ])
        .world(&world);
    let found = output(&supervisor, request);
    let message = String::from_utf8_lossy(&found.stderr);
    assert!(message.contains("No space left on device"), "{message}");
    assert_eq!(text(&found), format!("{}\n", 16 << 20));
}

#[test]
fn links_in_proc_lead_to_the_process() {
    let supervisor = supervisor();
    let script = "import os\n\
        print(os.readlink('/proc/mounts'), os.readlink('/proc/net'))\n\
        read = lambda path: open(path).read()\n\
        print(read('/proc/mounts') == read('/proc/self/mounts'))\n\
        print(any(line.split()[1] == '/tmp' for line in open('/proc/mounts')))\n\
        print(read('/proc/net/unix').splitlines()[0].split()[0])\n\
        for path in ('/proc/mounts', '/proc/net'):\n\
        \x20   try: os.unlink(path)\n\
        \x20   except OSError as error: print(error.errno in (1, 13, 16, 30))";
    for found in python(&supervisor, script) {
        assert_eq!(found, "self/mounts self/net\nTrue\nTrue\nNum\nTrue\nTrue\n");
    }
}

#[test]
fn cpus_in_sys_are_those_that_the_run_may_use() {
    let supervisor = supervisor();
    let script = "import os\n\
        def cpus(name):\n\
        \x20   text = open('/sys/devices/system/cpu/' + name).read().strip()\n\
        \x20   pairs = [part.split('-') for part in text.split(',')]\n\
        \x20   return {cpu for pair in pairs for cpu in range(int(pair[0]), int(pair[-1]) + 1)}\n\
        names = ('online', 'possible', 'present')\n\
        print([cpus(name) >= os.sched_getaffinity(0) for name in names])\n\
        print(os.sysconf('SC_NPROCESSORS_CONF') == len(cpus('possible')))\n\
        print(os.listdir('/sys'), os.listdir('/sys/devices/system'))";
    for found in python(&supervisor, script) {
        assert_eq!(found, "[True, True, True]\nTrue\n['devices'] ['cpu']\n");
    }
}

#[test]
fn random_ids_in_proc_are_not_those_of_the_host() {
    let supervisor = supervisor();
    let script = "import os, uuid\n\
        read = lambda name: open('/proc/sys/kernel/random/' + name).read().strip()\n\
        ids = [uuid.UUID(read('uuid')) for _ in range(3)]\n\
        print(len(set(ids)), {id.version for id in ids})\n\
        print(uuid.UUID(read('boot_id')).version, sorted(os.listdir('/proc/sys/kernel/random')))\n\
        print(read('boot_id'), ids[0])";
    let hosts = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        for found in python(&supervisor, script) {
            let lines: Vec<&str> = found.lines().collect();
            let [ids, boot, random] = lines.as_slice() else {
                panic!("{found}");
            };
            assert_eq!(*ids, "3 {4}");
            assert_eq!(*boot, "4 ['boot_id', 'entropy_avail', 'poolsize', 'uuid']");
            let (boot_id, id) = random.split_once(' ').unwrap();
            assert_ne!(boot_id, hosts.trim());
            seen.push(id.to_owned());
        }
    }
    seen.sort();
    let count = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), count, "a UUID appears twice");
}

#[test]
fn settings_of_the_kernel_are_readable() {
    let supervisor = supervisor();
    let script = "cd /proc/sys && cat kernel/osrelease kernel/pid_max kernel/cap_last_cap \
                  kernel/ostype kernel/ngroups_max vm/overcommit_memory vm/max_map_count \
                  net/core/somaxconn net/ipv4/ip_local_port_range > /dev/null && uname -r && \
                  cat kernel/osrelease";
    let found = shell(&supervisor, script);
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{found}");
}

#[test]
fn each_run_has_pseudo_terminals_of_its_own() {
    let supervisor = supervisor();
    let script = "import os, pty, sys, termios, tty\n\
        print(os.path.exists('/dev/tty'), oct(os.stat('/dev/ptmx').st_mode))\n\
        print(os.listdir('/dev/pts'))\n\
        emulator, terminal = os.openpty()\n\
        print(os.ttyname(terminal), os.isatty(emulator), os.get_terminal_size(terminal))\n\
        tty.setraw(terminal)\n\
        os.write(terminal, b'raw\\n'); print(os.read(emulator, 100))\n\
        sys.stdout.flush()\n\
        child, emulator = pty.fork()\n\
        if child == 0:\n\
        \x20   termios.tcsetwinsize(0, (10, 40))\n\
        \x20   print(os.ttyname(0), os.get_terminal_size(0), os.tcgetpgrp(0) == os.getpid())\n\
        \x20   sys.stdout.flush(); os._exit(0)\n\
        print(os.read(emulator, 1000).decode().strip()); os.waitpid(child, 0)";
    let world = world().terminals();
    for _ in 0..2 {
        let request = Request::new(PYTHON).args(["-c", script]).world(&world);
        let mut all = vec![text(&output(&supervisor, request))];
        if supervisor.info().backend() != Backend::Cgroup2 {
            let prepared = world.prepare(&Prepare::python(PYTHON, ["pty"])).unwrap();
            let request = Request::new(PYTHON)
                .args(["-c", script])
                .prepared(&prepared);
            let output = output(&supervisor, request);
            let start = &output.result.start;
            assert!(matches!(start, Start::Prepared { .. }), "{start}");
            all.push(text(&output));
        }
        for found in all {
            assert_eq!(
                found,
                "False 0o20666\n['ptmx']\n\
                 /dev/pts/0 True os.terminal_size(columns=0, lines=0)\n\
                 b'raw\\n'\n\
                 /dev/pts/1 os.terminal_size(columns=40, lines=10) True\n"
            );
        }
    }
}

#[test]
fn run_has_at_most_sixteen_pseudo_terminals() {
    let supervisor = supervisor();
    let script = "import os\n\
        count = 0\n\
        try:\n\
        \x20   while True: os.openpty(); count += 1\n\
        except OSError as error: print(count, error.errno)";
    let request = Request::new(PYTHON)
        .args(["-c", script])
        .world(&world().terminals());
    let found = text(&output(&supervisor, request));
    assert_eq!(found, format!("16 {}\n", libc::ENOSPC));
}

#[test]
fn programs_that_create_terminals_work() {
    if !std::path::Path::new("/usr/bin/script").exists() {
        return skip("this machine has no script(1)");
    }
    let supervisor = supervisor();
    let script = "script --quiet --return --command 'stty size; tty; exit 3' /dev/null; echo $?";
    let request = Request::new("/bin/sh")
        .args(["-c", script])
        .world(&world().terminals());
    let found = text(&output(&supervisor, request));
    assert_eq!(found, "0 0\r\n/dev/pts/0\r\n3\n");
}

#[test]
fn each_run_has_a_loopback_of_its_own() {
    let supervisor = supervisor();
    let script = "import asyncio, socket\n\
        tcp = [line.split() for line in open('/proc/self/net/snmp') if line.startswith('Tcp:')]\n\
        print(tcp[1][tcp[0].index('ActiveOpens')])\n\
        async def hello(reader, writer):\n\
        \x20   writer.write(b'hi'); await writer.drain(); writer.close()\n\
        async def main():\n\
        \x20   for host in ('127.0.0.1', '::1', 'localhost'):\n\
        \x20       server = await asyncio.start_server(hello, host, 8000)\n\
        \x20       reader, writer = await asyncio.open_connection(host, 8000)\n\
        \x20       print(await reader.read()); writer.close(); server.close()\n\
        \x20       await server.wait_closed()\n\
        asyncio.run(main())\n\
        print(sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)}))\n\
        left = socket.create_server(('127.0.0.1', 8001))\n\
        name = socket.socket(socket.AF_UNIX); name.bind('\\0left')";
    for _ in 0..2 {
        for found in python(&supervisor, script) {
            assert_eq!(found, "0\nb'hi'\nb'hi'\nb'hi'\n['127.0.0.1', '::1']\n");
        }
    }
}

#[test]
fn copies_use_different_network_namespaces() {
    let supervisor = supervisor();
    let Some(prepared) = python_or_skips(&supervisor) else {
        return;
    };
    let script = "import os, socket\n\
                  print(os.readlink('/proc/self/ns/net'), len(socket.if_nameindex()))\n\
                  s = socket.socket(); s.settimeout(1)\n\
                  print(s.connect_ex(('127.0.0.1', 8001)))\n\
                  socket.create_server(('127.0.0.1', 8001)); os._exit(0)";
    let script = script.replace("os._exit(0)", "import sys; sys.stdout.flush()");
    let run = || {
        let request = Request::new(PYTHON)
            .args(["-c", &script])
            .prepared(&prepared);
        text(&output(&supervisor, request))
    };
    let [first, second] = [run(), run()];
    for found in [&first, &second] {
        assert!(
            found.ends_with(&format!(" 1\n{}\n", libc::ECONNREFUSED)),
            "{found}"
        );
    }
    assert_ne!(first, second);
}

#[test]
fn other_worlds_are_unchanged() {
    let paths = |world: World| -> Vec<String> {
        let path = |mount: &Mount| mount.path().display().to_string();
        world.mounts().iter().map(path).collect()
    };
    let added: Vec<String> = paths(World::standard())
        .into_iter()
        .filter(|path| !paths(World::minimal()).contains(path))
        .collect();
    assert!(added.iter().any(|path| path == "/etc"), "{added:?}");
    let minimal = paths(World::minimal());
    assert!(
        !minimal
            .iter()
            .any(|path| path == "/dev/shm" || path == "/proc")
    );
}
