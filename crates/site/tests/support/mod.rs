//! A running site, and headless browsers.

pub mod contest;
pub mod postgres;

pub use millibox_tests::nats;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The site runs as this user if root starts the tests, because the site refuses to run as root.
const USER: &str = "61234";
/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// A site with its own directory.
pub struct Site {
    child: Child,
    /// The beginning of its addresses.
    pub url: String,
    /// The path of the link for the first administrator.
    pub setup: Option<String>,
    /// The password of the users of the example contest, if the site has created one.
    pub demo: Option<String>,
    directory: tempfile::TempDir,
    database: Option<String>,
    options: &'static [&'static str],
    /// The message server and the worker that judges, if the site itself does not.
    elsewhere: Option<Elsewhere>,
}

/// What judges for a site if the variable `MILLIBOX_TEST_FLEET` is set.
struct Elsewhere {
    _nats: nats::Nats,
    worker: Child,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.worker.kill();
        let _ = self.worker.wait();
    }
}

/// A site that was started.
struct Launched {
    child: Child,
    url: String,
    setup: Option<String>,
    demo: Option<String>,
}

/// The result of a subcommand.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    /// Shown by failed assertions.
    #[allow(dead_code, reason = "the format for debugging shows it")]
    pub error: String,
}

impl Ran {
    fn of(command: &mut Command) -> Ran {
        let output = command.output().expect("a program");
        Ran {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            error: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The output of a subcommand that has succeeded.
    pub fn output(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.out
    }
}

fn open(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(directory, mode).expect("an open directory");
}

/// Returns the path of an executable that was built for the tests.
pub fn built(name: &str) -> PathBuf {
    // The test is in `deps`, below the directory of the programs.
    let test = std::env::current_exe().expect("the path of the test");
    test.ancestors().nth(2).expect("a directory").join(name)
}

/// Copies built programs to a directory that every user can read.
///
/// Another process writes the copies. If this process wrote them, a child that another thread forks
/// at that moment would inherit a writable descriptor, and the copy could not be executed until the
/// child has executed its own program (`ETXTBSY`).
fn copy_programs(names: &[&str], to: &Path) {
    let from = names.iter().map(|name| built(name));
    let status = Command::new("cp").args(from).arg(to).status();
    assert!(status.expect("cp").success(), "build all programs first");
}

impl Site {
    /// Starts a site with a database of SQLite, or with the database at this address.
    pub fn start(database: Option<String>) -> Site {
        Site::start_with(database, &[])
    }

    /// Starts a site with additional options, which also apply when it is started again.
    pub fn start_with(database: Option<String>, options: &'static [&'static str]) -> Site {
        Site::start_with_file(database, options, None)
    }

    /// Starts a site with additional options, which may name a file in its directory.
    pub fn start_with_file(
        database: Option<String>,
        options: &'static [&'static str],
        file: Option<(&str, &str)>,
    ) -> Site {
        let directory = tempfile::tempdir().expect("a directory");
        open(directory.path());
        if let Some((name, content)) = file {
            let path = directory.path().join(name);
            std::fs::write(&path, content).expect("a written file");
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(path, mode).expect("a readable file");
        }
        copy_programs(&["millibox-site", "millibox-supervisor"], directory.path());
        let elsewhere = std::env::var_os("MILLIBOX_TEST_FLEET").is_some();
        // Such a site is started again below, and only the second start has the options.
        let first = if elsewhere { &[] } else { options };
        let launched = launch(directory.path(), database.as_deref(), first);
        let mut site = Site {
            child: launched.child,
            url: launched.url,
            setup: launched.setup,
            demo: launched.demo,
            directory,
            database,
            options,
            elsewhere: None,
        };
        if elsewhere {
            site.judge_elsewhere();
        }
        site
    }

    /// Starts the site again with a worker that judges for it.
    fn judge_elsewhere(&mut self) {
        for (name, arguments) in [("site", &["site"][..]), ("worker", &["add", "worker"])] {
            let file = self.run(&["fleet"], arguments).output();
            self.write_secret(&format!("{name}.key"), &file);
        }
        let rules = self.run(&["fleet"], &["rules"]).output();
        let nats = nats::Nats::start(&self.path(""), &rules, false);
        let own = [
            "--nats",
            &nats.url(),
            "--nats-creds",
            "site.key",
            "--judge-here",
            "no",
        ];
        let options = self.options.iter().chain(&own);
        let options: Vec<&'static str> = options
            .map(|option| &*Box::leak((*option).to_owned().into_boxed_str()))
            .collect();
        self.options = Box::leak(options.into_boxed_slice());
        self.kill_and_restart();
        let mut command = self.companion("millibox-worker");
        let worker = command
            .args(["--nats", &nats.url(), "--creds", "worker.key"])
            .args([
                "--cache",
                "cache-of-worker",
                "--slots",
                "1",
                "--backend",
                "rlimit",
            ])
            .stdout(Stdio::null())
            .spawn();
        self.elsewhere = Some(Elsewhere {
            _nats: nats,
            worker: worker.expect("a worker"),
        });
    }

    /// Sets the options with which the site is started again.
    pub fn with_options(mut self, options: &'static [&'static str]) -> Site {
        self.options = options;
        self
    }

    /// The options with which the site is started again.
    pub fn options(&self) -> &'static [&'static str] {
        self.options
    }

    /// Like [`Site::with_options`], for a site that was killed.
    pub fn set_options(&mut self, options: &'static [&'static str]) {
        self.options = options;
    }

    fn launch_again(&mut self) {
        let database = self.database.as_deref();
        let launched = launch(self.directory.path(), database, self.options);
        self.child = launched.child;
        self.url = launched.url;
        self.setup = launched.setup;
        self.demo = launched.demo;
    }

    /// Kills the site and starts it again with the same data.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    /// The process of the site.
    pub fn process(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Kills the site.
    pub fn kill(&mut self) {
        self.child.kill().expect("a running site");
        self.child.wait().expect("an end");
    }

    /// Starts the killed site with the same data.
    pub fn restart(&mut self) {
        self.launch_again();
    }

    /// Starts another process that serves the same site, with additional options. The site has a
    /// database of PostgreSQL.
    pub fn beside(&self, options: &[&str]) -> Beside {
        let launched = launch(self.directory.path(), self.database.as_deref(), options);
        Beside {
            child: launched.child,
            url: launched.url,
        }
    }

    /// Tries to start another process that serves the same site, and returns its end.
    pub fn refused(&self, options: &[&str]) -> Ran {
        let mut command = command(self.directory.path(), self.database.as_deref(), options);
        Ran::of(&mut command)
    }

    /// Starts a site beside the program `millibox`, if that is built.
    pub fn with_command() -> Option<Site> {
        let site = built("millibox").is_file().then(|| Site::start(None))?;
        copy_programs(&["millibox"], site.directory.path());
        Some(site)
    }

    /// Runs `millibox submit` for this site.
    pub fn submit(&self, file: &str, target: &[&str], options: &[&str]) -> Ran {
        let mut command = program(self.directory.path(), "millibox");
        command
            .args(["submit", file, "--site", &self.url])
            .args(target)
            .args(options);
        Ran::of(&mut command)
    }

    /// Runs a subcommand for the data of this site, in its directory.
    pub fn run(&self, subcommand: &[&str], arguments: &[&str]) -> Ran {
        self.run_for("data", self.database.as_deref(), subcommand, arguments)
    }

    /// Runs a subcommand for other data in the directory of this site.
    pub fn run_for(
        &self,
        data: &str,
        database: Option<&str>,
        subcommand: &[&str],
        arguments: &[&str],
    ) -> Ran {
        let mut command = program(self.directory.path(), "millibox-site");
        command
            .arg(subcommand[0])
            .args(["--data", data])
            .args(database.iter().flat_map(|url| ["--database", url]))
            .args(&subcommand[1..])
            .args(arguments);
        Ran::of(&mut command)
    }

    /// Starts a subcommand for the data of this site. It reads the input that the caller writes.
    pub fn begin(&self, subcommand: &str, arguments: &[&str]) -> Child {
        let mut command = program(self.directory.path(), "millibox-site");
        command
            .args([subcommand, "--data", "data"])
            .args(self.database.iter().flat_map(|url| ["--database", url]))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.spawn().expect("a program")
    }

    /// Returns a command for a program, which is copied beside the site.
    pub fn companion(&self, name: &str) -> Command {
        if !self.path(name).exists() {
            copy_programs(&[name], self.directory.path());
        }
        program(self.directory.path(), name)
    }

    /// Writes a file that only the user of the site can read.
    pub fn write_secret(&self, name: &str, content: &str) {
        use std::os::unix::fs::{PermissionsExt, chown};
        let path = self.path(name);
        std::fs::write(&path, content).expect("a written file");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("a closed file");
        if rustix::process::geteuid().is_root() {
            let user = USER.parse().ok();
            chown(&path, user, user).expect("a new owner");
        }
    }

    /// The peak memory of the site, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a running site");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
        peak.and_then(|peak| peak.parse().ok()).expect("a number")
    }

    /// The address of the database; `None` for a file.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Gives a directory in the directory of this site to the user of the site.
    pub fn open_directory(&self, name: &str) {
        open(&self.path(name));
        if rustix::process::geteuid().is_root() {
            let user = USER.parse().ok();
            std::os::unix::fs::chown(self.path(name), user, user).expect("a new owner");
        }
    }

    /// A path in the directory of this site.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Ends the site and starts it with other data in its directory.
    pub fn restart_with(&mut self, data: &str, database: Option<String>) {
        self.kill();
        std::fs::remove_dir_all(self.path("data")).expect("old data");
        std::fs::rename(self.path(data), self.path("data")).expect("new data");
        self.database = database;
        self.launch_again();
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

/// Another process of a site.
pub struct Beside {
    child: Child,
    url: String,
}

impl Beside {
    /// The same browser at this process.
    pub fn browser(&self, browser: &Browser) -> Browser {
        Browser {
            url: self.url.clone(),
            ..browser.clone()
        }
    }

    /// Kills the process.
    pub fn kill(mut self) {
        self.child.kill().expect("a running process");
        self.child.wait().expect("an end");
    }

    /// Asks the process to end, and waits for its end.
    pub fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a process");
        self.child.wait().expect("an end");
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command for a program, as an unprivileged user if this process is root's.
fn program(directory: &Path, name: &str) -> Command {
    let program = directory.join(name);
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command
            .args([
                "--reuid",
                USER,
                "--regid",
                USER,
                "--clear-groups",
                "--inh-caps=-all",
            ])
            .arg("--")
            .arg(program);
        command
    } else {
        Command::new(program)
    };
    command
        .env("TMPDIR", directory)
        .env("HOME", directory)
        .current_dir(directory)
        .stdin(Stdio::null());
    command
}

/// The command that serves a site.
fn command(directory: &Path, database: Option<&str>, options: &[&str]) -> Command {
    let mut command = program(directory, "millibox-site");
    command
        .args([
            "--listen",
            "127.0.0.1:0",
            "--backend",
            "rlimit",
            "--workers",
            "1",
        ])
        .arg("--data")
        .arg(directory.join("data"))
        .args(options);
    if let Some(database) = database {
        command.args(["--database", database]);
    }
    command
}

fn launch(directory: &Path, database: Option<&str>, options: &[&str]) -> Launched {
    let mut command = command(directory, database, options);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a site");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let url = line(&mut lines).expect("an address");
    let url = url.rsplit(' ').next().expect("an address").to_owned();
    // The site writes all lines at once.
    let (mut setup, mut demo) = (None, None);
    while !lines.buffer().is_empty() {
        let line = line(&mut lines).expect("a line");
        if let Some((_, path)) = line.split_once(&url) {
            setup = Some(path.to_owned());
        } else if let Some((_, password)) = line.split_once("password of each is ") {
            demo = Some(password.to_owned());
        }
    }
    Launched {
        child,
        url,
        setup,
        demo,
    }
}

fn line(lines: &mut BufReader<ChildStdout>) -> Option<String> {
    let mut line = String::new();
    lines.read_line(&mut line).ok()?;
    let line = line.trim_end().to_owned();
    (!line.is_empty()).then_some(line)
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub location: Option<String>,
    pub headers: ureq::http::HeaderMap,
    pub body: String,
}

impl Answer {
    /// The number at the end of the address to which the answer redirects.
    pub fn id(&self) -> i64 {
        let location = self.location.as_deref();
        let id = location.and_then(|path| path.split('/').find_map(|part| part.parse().ok()));
        id.unwrap_or_else(|| panic!("{self:#?}"))
    }
}

/// The header with which browsers ask for pages.
const ACCEPT: (&str, &str) = ("accept", "text/html,*/*;q=0.8");

/// A browser with its cookies.
#[derive(Clone)]
pub struct Browser {
    agent: ureq::Agent,
    url: String,
    cookies: BTreeMap<String, String>,
    /// The token with which [`Browser::raw`] sends requests to the API; empty means no token.
    pub token: String,
}

impl Browser {
    /// Creates a browser without a cookie.
    pub fn new(site: &Site) -> Browser {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(HANG_TIMEOUT))
            .build();
        Browser {
            agent: config.into(),
            url: site.url.clone(),
            cookies: BTreeMap::new(),
            token: String::new(),
        }
    }

    /// Returns the same browser after the site was started again.
    pub fn moved(self, site: &Site) -> Browser {
        Browser {
            url: site.url.clone(),
            ..self
        }
    }

    /// The header with the cookies.
    pub fn cookie(&self) -> String {
        let pairs = self.cookies.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn read(&mut self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
        let mut answer = answer.expect("an answer");
        let headers = answer.headers().clone();
        let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        for cookie in headers.get_all("set-cookie") {
            let pair = cookie.to_str().ok().and_then(|text| text.split(';').next());
            if let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Answer {
            status: answer.status().as_u16(),
            location: text("location"),
            body: {
                let body = answer.body_mut().with_config().limit(u64::MAX);
                let body = body.read_to_vec().expect("a body");
                String::from_utf8_lossy(&body).into_owned()
            },
            headers,
        }
    }

    /// Loads a page.
    pub fn get(&mut self, path: &str) -> Answer {
        self.get_with(path, ACCEPT)
    }

    /// Loads a page with an additional header.
    pub fn get_with(&mut self, path: &str, (name, value): (&str, &str)) -> Answer {
        let request = self.agent.get(format!("{}{path}", self.url));
        let mut request = request.header(name, value);
        if name != ACCEPT.0 {
            request = request.header(ACCEPT.0, ACCEPT.1);
        }
        let request = request.header("cookie", self.cookie());
        let answer = request.call();
        self.read(answer)
    }

    /// Loads a page and returns the answer as it was sent, with its headers. For a stream of
    /// events, this is the part that was sent until the stream paused for `patience`.
    pub fn raw(&self, path: &str, patience: Duration) -> String {
        let host = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).expect("a connection");
        let who = match path.starts_with("/api/v1/") && !self.token.is_empty() {
            true => format!("authorization: Bearer {}", self.token),
            false => format!("cookie: {}\r\naccept: {}", self.cookie(), ACCEPT.1),
        };
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {host}\r\n{who}\r\nconnection: close\r\n\r\n"
        )
        .expect("a request");
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        let mut is_stream = false;
        loop {
            let timeout = if is_stream { patience } else { HANG_TIMEOUT };
            stream.set_read_timeout(Some(timeout)).expect("a timeout");
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => answer.extend_from_slice(&buffer[..read]),
                Err(_) if is_stream => break,
                Err(error) => panic!("{path}: {error}"),
            }
            let text = String::from_utf8_lossy(&answer);
            let head = text.split("\r\n\r\n").next().unwrap_or_default();
            is_stream |= head.contains("content-type: text/event-stream");
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a form like a page of this site.
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from("same-origin", path, fields)
    }

    /// Sends a form like a page of the given site.
    pub fn post_from(&mut self, site: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_with(("sec-fetch-site", site), path, fields)
    }

    /// Sends a form with an additional header.
    pub fn post_with(
        &mut self,
        (name, value): (&str, &str),
        path: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let request = self.agent.post(format!("{}{path}", self.url));
        let mut request = request.header("cookie", self.cookie()).header(name, value);
        if name != ACCEPT.0 {
            request = request.header(ACCEPT.0, ACCEPT.1);
        }
        let answer = request.send_form(fields.iter().copied());
        self.read(answer)
    }

    /// Sends a form on a page of this site.
    pub fn post_on(&mut self, page: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = format!("{}{page}", self.url);
        self.post_with(("referer", &page), path, fields)
    }

    /// Loads an address with a bearer token. Omits the token if it is empty.
    pub fn get_as(&mut self, token: &str, path: &str) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.call();
        self.read(answer)
    }

    /// Sends JSON with a bearer token and an idempotency key. Omits either if it is empty.
    pub fn post_json(&mut self, token: &str, path: &str, key: &str, body: &str) -> Answer {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !key.is_empty() {
            request = request.header("idempotency-key", key);
        }
        let answer = request.content_type("application/json").send(body);
        self.read(answer)
    }

    /// Sends a form with a file.
    pub fn upload(&mut self, path: &str, fields: &[(&str, &str)], file: (&str, &[u8])) -> Answer {
        self.upload_on(path, path, fields, file)
    }

    /// Sends a form with a file, which is on a page of this site.
    pub fn upload_on(
        &mut self,
        page: &str,
        path: &str,
        fields: &[(&str, &str)],
        file: (&str, &[u8]),
    ) -> Answer {
        self.upload_all(page, path, fields, &[file])
    }

    /// Sends a form with several files, which is on a page of this site.
    pub fn upload_all(
        &mut self,
        page: &str,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &[u8])],
    ) -> Answer {
        const BOUNDARY: &str = "a-boundary-of-the-tests";
        const DISPOSITION: &str = "Content-Disposition: form-data";
        let mut body = Vec::new();
        for (field, value) in fields {
            write!(
                body,
                "--{BOUNDARY}\r\n{DISPOSITION}; name=\"{field}\"\r\n\r\n{value}\r\n"
            )
            .expect("memory");
        }
        for (name, content) in files {
            write!(
                body,
                "--{BOUNDARY}\r\n{DISPOSITION}; name=\"file\"; filename=\"{name}\"\r\n\r\n"
            )
            .expect("memory");
            body.extend_from_slice(content);
            body.extend_from_slice(b"\r\n");
        }
        write!(body, "--{BOUNDARY}--\r\n").expect("memory");
        let request = self.agent.post(format!("{}{path}", self.url));
        let answer = request
            .header("cookie", self.cookie())
            .header("sec-fetch-site", "same-origin")
            .header("referer", format!("{}{page}", self.url))
            .header(ACCEPT.0, ACCEPT.1)
            .header(
                "content-type",
                format!("multipart/form-data; boundary={BOUNDARY}"),
            )
            .send(&body[..]);
        self.read(answer)
    }

    /// Signs up a new user.
    pub fn sign_up(&mut self, path: &str, login: &str) {
        let fields = [
            ("login", login),
            ("name", login),
            ("password", "correct horse"),
        ];
        let answer = self.post(path, &fields);
        assert_eq!(answer.status, 303, "{answer:#?}");
    }

    /// Loads a page until it contains a text.
    pub fn wait_for(&mut self, path: &str, text: &str) -> Answer {
        self.wait_until(path, |body| body.contains(text))
    }

    /// Loads the page of a submission until it has a result. Single tests have results earlier, so
    /// only the place of the result counts.
    pub fn wait_for_result(&mut self, path: &str, result: &str) -> Answer {
        self.wait_until(path, |body| result_of(body).contains(result))
    }

    /// Loads a page until it is as expected.
    pub fn wait_until(&mut self, path: &str, is_expected: impl Fn(&str) -> bool) -> Answer {
        let end = Instant::now() + HANG_TIMEOUT;
        loop {
            let answer = self.get(path);
            if is_expected(&answer.body) {
                return answer;
            }
            assert!(
                Instant::now() < end,
                "{path} is never as expected: {answer:#?}"
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The result on the page of a submission; empty on other pages.
pub fn result_of(body: &str) -> &str {
    let shown = body.split_once("id=\"result\"");
    let shown = shown.and_then(|(_, rest)| rest.split_once("</dd>"));
    shown.map_or("", |(shown, _)| shown)
}

/// The rest of the tag of the first field with this name.
pub fn tag_after<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\""))
        .expect("a field");
    rest.split('>').next().unwrap_or_default()
}

/// Runs a test with a new site of each kind of database. In a part of all tests (.ci/rotation), one
/// of the databases has its turn.
pub fn with_each(test: impl Fn(Site)) {
    with_each_database(|database| test(Site::start(database)));
}

/// Runs a test with SQLite (`None`) and with the address of a new database of PostgreSQL, or with
/// the one that has its turn (see [`with_each`]).
pub fn with_each_database(test: impl Fn(Option<String>)) {
    let variant = millibox_tests::rotating_variant(2);
    if variant != Some(1) {
        test(None);
    }
    if variant != Some(0) {
        match postgres::database() {
            Ok(url) => test(Some(url)),
            Err(reason) => eprintln!("SKIPPED with PostgreSQL: {reason}"),
        }
    }
}

/// The files of a package whose submissions add two numbers.
pub fn files_of_sum() -> Vec<(&'static str, &'static str)> {
    vec![
        ("problem.yaml", "name: Sum\nlimits:\n  memory: 256\n"),
        (".timelimit", "5\n"),
        (
            "problem_statement/problem.md",
            "Add $a$ and $b$.\n<script>alert(1)</script>\n",
        ),
        ("data/sample/1.in", "1 2\n"),
        ("data/sample/1.ans", "3\n"),
        ("data/secret/hidden-test.in", "20 22\n"),
        ("data/secret/hidden-test.ans", "42\n"),
    ]
}

/// Creates a zip archive.
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in files {
        archive.start_file(*name, options).expect("an entry");
        archive.write_all(content.as_bytes()).expect("memory");
    }
    archive.finish().expect("an archive").into_inner()
}
