//! Shared pools: a greedy user or guest takes all that it can, and a modest one is still served.
//! Each test prints how much slower the modest one becomes; the machine may be busy, so no test
//! asserts it.

use super::accounts::{new_user, sign_in};
use super::support::{Browser, Site, archive, files_of_sum};
use super::{contestant, first_admin, make_contest};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PASSWORD: &str = "correct horse";
/// Event streams of guests that the site allows.
const STREAMS_OF_GUESTS: usize = 512;
/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// The time within which 99 of 100 responses arrived.
fn p99(count: u32, mut request: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|_| {
            let begin = Instant::now();
            request();
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[(times.len() * 99 / 100).min(times.len() - 1)]
}

fn report(pool: &str, idle: Duration, busy: Duration) {
    let ratio = busy.as_secs_f64() / idle.as_secs_f64();
    eprintln!("{pool}: p99 {idle:?} idle, {busy:?} beside a greedy one, ratio {ratio:.1}");
}

/// Repeats a request on some threads while a function runs.
fn beside<T>(
    greedy: &[Browser],
    request: impl Fn(&mut Browser) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for browser in greedy {
            let (is_over, request) = (&is_over, &request);
            let mut browser = browser.clone();
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    request(&mut browser);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        // After a panic, the threads must end, too.
        let result = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn connect(site: &Site) -> TcpStream {
    let host = site.url.trim_start_matches("http://");
    let stream = TcpStream::connect(host).expect("a connection");
    stream
        .set_read_timeout(Some(HANG_TIMEOUT))
        .expect("a timeout");
    stream
}

/// Opens a stream of events through a proxy that has added an address. Returns the connection and
/// the status.
fn follow(site: &Site, browser: &Browser, path: &str, forwarded: &str) -> (TcpStream, u16) {
    let mut stream = connect(site);
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: a\r\ncookie: {}\r\nx-forwarded-for: {forwarded}\r\n\r\n",
        browser.cookie()
    )
    .expect("a request");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("a status");
    let status = String::from_utf8_lossy(&start[9..]).parse();
    (stream, status.expect("a status"))
}

/// Allows this process as many open files as the test needs.
fn allow_open_files() {
    const WANTED: u64 = 8192;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < WANTED) {
        limit.current = Some(limit.maximum.map_or(WANTED, |maximum| maximum.min(WANTED)));
        setrlimit(Resource::Nofile, limit).expect("a limit of open files");
    }
}

/// The path of a new public contest's events.
fn news(admin: &mut Browser) -> String {
    let fields = [("name", "Cup"), ("visibility", "public")];
    let contest = admin.post("/contests/new", &fields).id();
    format!("/contests/{contest}/clarifications/live")
}

#[test]
fn guests_with_all_connections_do_not_lock_out_others() {
    allow_open_files();
    let site = Site::start_with(None, &["--behind-proxy"]);
    let mut admin = first_admin(&site);
    let path = news(&mut admin);
    let idle = p99(100, || assert_eq!(admin.get("/account").status, 200));
    let held: Vec<TcpStream> = (0..4200)
        .map(|number| {
            let mut stream = connect(&site);
            let host = number % 3 + 1;
            // A connection that the site has already closed is no failure.
            let _ = write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 192.0.2.{host}\r\n\r\n"
            );
            stream
        })
        .collect();
    let mut newcomer = Browser::new(&site);
    assert_eq!(sign_in(&mut newcomer, "ada", PASSWORD).0, 303);
    let busy = p99(100, || assert_eq!(newcomer.get("/account").status, 200));
    report("connections", idle, busy);
    drop(held);
}

#[test]
fn streams_of_guests_leave_those_of_users_at_the_same_address() {
    allow_open_files();
    let site = Site::start_with(None, &["--behind-proxy"]);
    let mut admin = first_admin(&site);
    let path = news(&mut admin);
    let guest = Browser::new(&site);
    let greedy: Vec<_> = (0..STREAMS_OF_GUESTS)
        .map(|number| {
            let (stream, status) = follow(&site, &guest, &path, "192.0.2.1");
            assert_eq!(status, 200, "{number}");
            stream
        })
        .collect();
    let (mut refused, status) = follow(&site, &guest, &path, "192.0.2.1");
    assert_eq!(status, 429, "no other address has more");
    let mut answer = [0; 4096];
    let read = refused.read(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]).to_lowercase();
    assert!(answer.contains("too many open pages"), "{answer}");
    assert!(answer.contains("retry-after: 30"), "{answer}");
    // The address with the most streams loses some to another one.
    let other: Vec<_> = (0..10)
        .map(|_| follow(&site, &guest, &path, "192.0.2.2"))
        .collect();
    assert!(other.iter().all(|(_, status)| *status == 200));
    // Users have places of their own, up to a bound for each.
    let mut of_user: Vec<_> = (0..64)
        .map(|_| follow(&site, &admin, &path, "192.0.2.1"))
        .collect();
    assert!(of_user.iter().all(|(_, status)| *status == 200));
    assert_eq!(follow(&site, &admin, &path, "192.0.2.9").1, 429, "a user");
    // The place of a closed stream becomes free when the site notices the end.
    of_user.pop();
    let end = Instant::now() + HANG_TIMEOUT;
    while follow(&site, &admin, &path, "192.0.2.1").1 != 200 {
        assert!(Instant::now() < end, "the place stays taken");
        std::thread::sleep(Duration::from_millis(100));
    }
    drop((greedy, other, of_user));
}

#[test]
fn wrong_passwords_of_a_rival_do_not_lock_a_known_browser() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let mut bob = new_user(&site, "bob");
    bob.post("/sign-out", &[]);
    let mut rival = Browser::new(&site);
    for _ in 0..10 {
        assert_eq!(sign_in(&mut rival, "bob", "wrong horse").0, 422);
    }
    assert_eq!(
        sign_in(&mut rival, "bob", PASSWORD).0,
        429,
        "a strange browser"
    );
    assert_eq!(sign_in(&mut bob, "bob", PASSWORD).0, 303, "a known browser");
    // A known browser has a count of its own, and a new password ends it.
    bob.post("/sign-out", &[]);
    for _ in 0..10 {
        assert_eq!(sign_in(&mut bob, "bob", "wrong horse").0, 422);
    }
    assert_eq!(sign_in(&mut bob, "bob", PASSWORD).0, 429);
    // Nor does a rival prevent a signed-in user from confirming something.
    for _ in 0..10 {
        assert_eq!(sign_in(&mut rival, "ada", "wrong horse").0, 422);
    }
    let fields = [("old", PASSWORD), ("new", "battery staple")];
    assert_eq!(admin.post("/password", &fields).status, 303);
    assert_eq!(sign_in(&mut admin.clone(), "ada", "battery staple").0, 303);
}

#[test]
fn relaxed_time_lets_strange_browsers_sign_in() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    new_user(&site, "bob");
    let mut rival = Browser::new(&site);
    for _ in 0..10 {
        assert_eq!(sign_in(&mut rival, "bob", "wrong horse").0, 422);
    }
    let mut bob = Browser::new(&site);
    assert_eq!(sign_in(&mut bob, "bob", PASSWORD).0, 429);
    for (hours, status) in [("25", 422), ("x", 422), ("3", 303)] {
        let changed = admin.post("/settings/relax", &[("hours", hours)]);
        assert_eq!(changed.status, status, "{hours}");
    }
    assert_eq!(rival.post("/settings/relax", &[("hours", "1")]).status, 404);
    assert!(admin.get("/settings").body.contains("id=\"relaxed\""));
    assert_eq!(sign_in(&mut bob, "bob", PASSWORD).0, 303);
    assert_eq!(admin.post("/settings/relax", &[("hours", "0")]).status, 303);
    assert_eq!(sign_in(&mut Browser::new(&site), "bob", PASSWORD).0, 429);
}

#[test]
fn right_sign_ins_of_one_user_are_limited_and_leave_those_of_others() {
    let site = Site::start(None);
    first_admin(&site);
    new_user(&site, "bob");
    let modest = Browser::new(&site);
    let mut known = modest.clone();
    assert_eq!(sign_in(&mut known, "bob", PASSWORD).0, 303);
    let request = || assert_eq!(sign_in(&mut modest.clone(), "bob", PASSWORD).0, 303);
    let idle = p99(10, request);
    let greedy: Vec<Browser> = (0..8).map(|_| Browser::new(&site)).collect();
    let busy = beside(
        &greedy,
        |browser| {
            let status = sign_in(browser, "ada", PASSWORD).0;
            assert!([303, 429].contains(&status), "{status}");
        },
        || {
            let busy = p99(10, request);
            let mut ada = Browser::new(&site);
            let end = Instant::now() + HANG_TIMEOUT;
            while sign_in(&mut ada, "ada", PASSWORD).0 != 429 {
                assert!(Instant::now() < end, "right sign-ins are not limited");
            }
            busy
        },
    );
    report("threads that hash passwords", idle, busy);
}

#[test]
fn long_pages_of_one_user_do_not_delay_others() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut greedy = contestant(&site, &mut admin, &contest, "greedy");
    let mut modest = contestant(&site, &mut admin, &contest, "modest");
    let path = format!("/round-problems/{}/submit", contest.problem);
    let mut pages = Vec::new();
    for number in 0..12 {
        // Equal lines in another order take the longest to compare.
        let lines = (0..4000).map(|line| format!("x{} = 1\n", (line * 7919 + number) % 4001));
        let source: String = lines.collect();
        let sent = greedy.upload(&path, &[("language", "")], ("a.py", source.as_bytes()));
        pages.push(format!("/submissions/{}", sent.id()));
    }
    let page = format!("/contests/{}", contest.id);
    let mut request = || assert_eq!(modest.get(&page).status, 200);
    let idle = p99(50, &mut request);
    let crowd: Vec<Browser> = (0..8).map(|_| greedy.clone()).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let busy = beside(
        &crowd,
        |browser| {
            let page = &pages[next.fetch_add(1, Ordering::Relaxed) % pages.len()];
            let status = browser.get(page).status;
            assert!([200, 503].contains(&status), "{status}");
        },
        || p99(50, request),
    );
    report("rendering", idle, busy);
    // Larger sources are shown as they are.
    let large = "x = 'y'\n".repeat(20 << 10);
    let sent = greedy.upload(&path, &[("language", "")], ("a.py", large.as_bytes()));
    let shown = greedy.get(&format!("/submissions/{}", sent.id())).body;
    assert!(shown.contains("64 KiB") && !shown.contains("token-string"));
}

#[test]
fn trials_of_one_user_leave_those_of_others() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let greedy = contestant(&site, &mut admin, &contest, "greedy");
    let mut modest = contestant(&site, &mut admin, &contest, "modest");
    let path = format!("/round-problems/{}/try", contest.problem);
    let run = |browser: &mut Browser, source: &str| {
        let fields = [("language", ""), ("input", "")];
        let answer = browser.upload(&path, &fields, ("a.py", source.as_bytes()));
        (answer.status, Instant::now())
    };
    let idle = p99(2, || assert_eq!(run(&mut modest, "print(1)\n").0, 200));
    let slow = "import time\nend = time.time() + 2\nwhile time.time() < end: pass\n";
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let mut browser = greedy.clone();
                scope.spawn(move || run(&mut browser, slow))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        let begin = Instant::now();
        let (status, end) = run(&mut modest, "print(1)\n");
        assert_eq!(status, 200);
        report("trials", idle, end - begin);
        let statuses = threads
            .into_iter()
            .map(|it| it.join().expect("an answer").0);
        let statuses: Vec<u16> = statuses.collect();
        let count = |wanted| statuses.iter().filter(|it| **it == wanted).count();
        // One trial runs and one waits. A late request may find the first one ended.
        assert!(count(200) >= 2 && count(503) >= 1, "{statuses:?}");
        assert_eq!(count(200) + count(503), 8, "{statuses:?}");
    });
}

/// Begins to send a large package, and stops.
fn stalled_upload(site: &Site, browser: &Browser) -> TcpStream {
    let mut stream = connect(site);
    write!(
        stream,
        "POST /problems/new HTTP/1.1\r\nhost: a\r\ncookie: {}\r\nsec-fetch-site: same-origin\r\n\
         content-type: multipart/form-data; boundary=x\r\ncontent-length: 90000000\r\n\r\n\
         --x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.zip\"\r\n\r\nPK",
        browser.cookie()
    )
    .expect("a request");
    stream
}

#[test]
fn uploads_of_one_user_leave_those_of_others() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let greedy = new_user(&site, "greedy");
    site.run(&["user", "set-role"], &["greedy", "teacher"])
        .output();
    let package = archive(&files_of_sum());
    let fields = [("visibility", "private")];
    let add = |browser: &mut Browser| {
        let added = browser.upload("/problems/new", &fields, ("sum.zip", &package));
        added.status
    };
    let idle = p99(3, || assert_eq!(add(&mut admin), 303));
    let held: Vec<TcpStream> = (0..20).map(|_| stalled_upload(&site, &greedy)).collect();
    std::thread::sleep(Duration::from_millis(500));
    let busy = p99(3, || assert_eq!(add(&mut admin), 303));
    report("uploads", idle, busy);
    assert_eq!(add(&mut greedy.clone()), 503, "the user has a share");
    drop(held);
}

#[test]
fn files_of_one_user_are_bounded() {
    let site = Site::start_with(None, &["--user-disk", "1"]);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    // A sparse file takes the room without filling the disk of this machine.
    let blobs = site.data().join("blobs");
    let stored = std::fs::read_dir(blobs).expect("files").next();
    let stored = stored.expect("a package").expect("a package").path();
    let file = std::fs::File::options().write(true).open(&stored);
    file.expect("a file")
        .set_len(2 << 30)
        .expect("a large file");
    let fields = [("visibility", "private")];
    let package = archive(&files_of_sum());
    let refused = admin.upload("/problems/new", &fields, ("a.zip", &package));
    assert_eq!(refused.status, 403, "{refused:#?}");
    assert!(refused.body.contains("1 GiB"), "{refused:#?}");
    let measure = format!("/problems/{}/limits", contest.package);
    assert_eq!(
        admin.post(&measure, &[]).status,
        403,
        "a job stores files, too"
    );
}

#[test]
fn equal_jobs_are_one_and_waiting_jobs_are_bounded() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let compile = format!("/problems/{}/compile", contest.package);
    let mut jobs: Vec<i64> = (0..60).map(|_| admin.post(&compile, &[]).id()).collect();
    jobs.dedup();
    // A job that runs is not joined, because it may have missed the change.
    assert!(jobs.len() < 60, "{jobs:?}");
}

#[test]
fn forms_of_guests_take_little_memory() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let idle = p99(50, || {
        assert_eq!(admin.post("/language", &[("language", "en")]).status, 303);
    });
    let before = site.peak_memory();
    let part = vec![b'x'; 900 << 10];
    let held: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = connect(&site);
            write!(
                stream,
                "POST /sign-in HTTP/1.1\r\nhost: a\r\nsec-fetch-site: same-origin\r\n\
                 content-type: application/x-www-form-urlencoded\r\ncontent-length: 1000000\r\n\r\n"
            )
            .expect("a request");
            stream.write_all(&part).expect("a part of a form");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let busy = p99(50, || {
        assert_eq!(admin.post("/language", &[("language", "en")]).status, 303);
    });
    report("bodies", idle, busy);
    let used = site.peak_memory().saturating_sub(before);
    assert!(used < 24 << 10, "{used} KiB");
    // The answer arrives when the whole form was sent.
    let mut stream = held.into_iter().next().expect("a connection");
    stream
        .write_all(&vec![b'x'; 1_000_000 - part.len()])
        .expect("the rest");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("a status");
    assert_eq!(&start[9..], b"413");
    // Users can send long forms.
    let long = "x".repeat(100 << 10);
    let mut guest = Browser::new(&site);
    let fields = [("login", "ada"), ("password", long.as_str())];
    assert_eq!(guest.post("/sign-in", &fields).status, 413);
    assert_ne!(admin.post("/sign-in", &fields).status, 413);
}

#[test]
fn unknown_group_of_a_ranking_has_no_page() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let page = format!("/contests/{}/ranking", contest.id);
    assert_eq!(admin.get(&page).status, 200);
    for path in [
        "ranking",
        "ranking.csv",
        "ranking.json",
        "statistics",
        "projector",
    ] {
        let path = format!("/contests/{}/{path}?group=nobody", contest.id);
        assert_eq!(admin.get(&path).status, 404, "{path}");
    }
}
