//! Limits on how often actions may be repeated. `wrong_passwords_are_throttled` tests the sign-in.

use super::support::{Answer, Browser, Site};
use super::{contestant, first_admin, make_contest};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// The first answer with the status 429, and the number of answers before it.
fn refused_after(limit: usize, mut request: impl FnMut() -> Answer) -> (usize, Answer) {
    for number in 0..=limit {
        let answer = request();
        if answer.status == 429 {
            assert!(answer.headers.contains_key("retry-after"), "{answer:#?}");
            return (number, answer);
        }
    }
    panic!("no request was refused")
}

#[test]
fn sign_ups_of_one_address_are_limited() {
    let site = Site::start(None);
    first_admin(&site);
    let mut eve = Browser::new(&site);
    let fields = [
        ("login", "a b"),
        ("name", "Eve"),
        ("password", "correct horse"),
    ];
    let (before, _) = refused_after(700, || eve.post("/sign-up", &fields));
    assert!((100..=600).contains(&before), "{before}");
    let right = [
        ("login", "eve"),
        ("name", "Eve"),
        ("password", "correct horse"),
    ];
    assert_eq!(eve.post("/sign-up", &right).status, 429);
    // Users can still sign in.
    let fields = [("login", "ada"), ("password", "correct horse")];
    assert_eq!(eve.post("/sign-in", &fields).status, 303);
}

#[test]
fn submissions_of_one_user_are_limited_on_pages_and_for_programs() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let mut bob = contestant(&site, &mut admin, &contest, "bob");
    let path = format!("/round-problems/{}/submit", contest.problem);
    let source: &[u8] = b"print(3)\n";
    let send = |browser: &mut Browser| browser.upload(&path, &[("language", "")], ("a.py", source));
    let (before, _) = refused_after(30, || send(&mut bob));
    assert_eq!(before, 20);
    let token = super::api::token(&mut bob, "submit");
    let body = serde_json::json!({
        "round_problem": contest.problem, "file_name": "a.py", "source": "print(3)",
    });
    let refused = bob.post_json(&token, "/api/v1/submissions", "", &body.to_string());
    assert_eq!(refused.status, 429, "{refused:#?}");
    let mut eve = contestant(&site, &mut admin, &contest, "eve");
    assert_eq!(send(&mut eve).status, 303, "another user");
}

#[test]
fn requests_of_programs_are_limited() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    let token = super::api::token(&mut admin, "read");
    let path = "/api/v1/contests";
    let mut program = Browser::new(&site);
    let (before, answer) = refused_after(1300, || program.get_as(&token, path));
    assert_eq!(before, 1200);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    // Another user and programs without a token are counted separately.
    assert_eq!(program.get_as("", path).status, 200);
    let wrong = "0".repeat(64);
    let (before, _) = refused_after(1300, || program.get_as(&wrong, path));
    assert_eq!(before, 1199);
    assert_eq!(program.get_as("", path).status, 429);
    assert_eq!(admin.get("/contests").status, 200, "pages are not counted");
}

/// Opens a stream of events through a proxy that has added an address. Returns the connection and
/// the status.
fn follow(site: &Site, browser: &Browser, path: &str, forwarded: &str) -> (TcpStream, u16) {
    let host = site.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("a connection");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {}\r\nx-forwarded-for: {forwarded}\r\n\r\n",
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

#[test]
fn streams_of_one_user_and_of_one_address_are_limited() {
    allow_open_files();
    let site = Site::start_with(None, &["--behind-proxy"]);
    let mut admin = first_admin(&site);
    let fields = [("name", "Cup"), ("visibility", "public")];
    let contest = admin.post("/contests/new", &fields).id();
    let path = format!("/contests/{contest}/live");
    let guest = Browser::new(&site);
    let open = |browser: &Browser, address: &str, count: usize| -> Vec<TcpStream> {
        let streams = (0..count).map(|number| {
            let (stream, status) = follow(&site, browser, &path, address);
            assert_eq!(status, 200, "{number}");
            stream
        });
        streams.collect()
    };
    let mut of_user = open(&admin, "192.0.2.1", 64);
    assert_eq!(follow(&site, &admin, &path, "192.0.2.2").1, 429, "a user");
    assert_eq!(follow(&site, &guest, &path, "192.0.2.1").1, 200, "a guest");
    // The place of a closed stream becomes free when the site notices the end.
    of_user.pop();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while follow(&site, &admin, &path, "192.0.2.1").1 != 200 {
        assert!(std::time::Instant::now() < end, "the place stays taken");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // A school with 1,000 contestants needs no more than this from one address.
    let of_school = open(&guest, "198.51.100.1", 2048);
    let (mut refused, status) = follow(&site, &guest, &path, "198.51.100.1");
    assert_eq!(status, 429, "an address");
    let mut answer = [0; 2048];
    let read = refused.read(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.contains("Too many open pages"), "{answer}");
    assert_eq!(follow(&site, &guest, &path, "198.51.100.2").1, 200);
    drop((of_user, of_school));
}
