//! A headless browser, and a site that is started for it.

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE, USER_AGENT,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// Why a request has no answer, or a site does not start.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

/// The site runs as this user if root starts this program, because the site refuses to run as root.
const USER: &str = "61234";

/// An answer with its body.
#[derive(Debug)]
pub struct Answer {
    /// The status of HTTP.
    pub status: u16,
    /// The address to which the answer redirects.
    pub location: Option<String>,
    /// The body as text.
    pub body: String,
    /// The length of the body as it was sent.
    pub bytes: usize,
}

impl Answer {
    /// Fails unless the answer has this status.
    pub fn expect(self, status: u16) -> Result<Answer> {
        if self.status == status {
            return Ok(self);
        }
        let body: String = self.body.chars().take(2000).collect();
        Err(format!("the status is {}, not {status}: {body}", self.status).into())
    }

    /// The first number in the address to which the answer redirects.
    pub fn id(&self) -> Result<i64> {
        let location = self.location.as_deref().unwrap_or_default();
        let id = location
            .split(['/', '?'])
            .find_map(|part| part.parse().ok());
        id.ok_or_else(|| format!("the answer redirects to {location:?}").into())
    }

    /// The number after a text in the body.
    pub fn number_after(&self, text: &str) -> Result<i64> {
        let rest = self.body.split(text).nth(1).unwrap_or_default();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits
            .parse()
            .map_err(|_| format!("the page lacks a number after {text:?}").into())
    }
}

/// A browser with cookies and one connection that stays open.
pub struct Browser {
    host: String,
    cookies: BTreeMap<String, String>,
    connection: Option<SendRequest<Full<Bytes>>>,
    encoding: &'static str,
}

/// A stream of server-sent events.
pub struct Events {
    body: Incoming,
    _browser: Browser,
    /// The data of an event that was not returned.
    waiting: Option<String>,
}

impl Events {
    /// Waits for an event and returns its data. `None` if the stream has ended.
    pub async fn next(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(data) = self.waiting.take() {
                return Ok(Some(data));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            self.take(&frame?.into_data().unwrap_or_default());
        }
    }

    /// Comments, which keep the connection open, have no data.
    fn take(&mut self, frame: &[u8]) {
        let text = String::from_utf8_lossy(frame);
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        if let Some(data) = data.next_back() {
            self.waiting = Some(data.trim().to_owned());
        }
    }

    /// Merges the events that have already arrived into one.
    pub fn skip(&mut self) {
        while let Some(Some(Ok(frame))) = self.body.frame().now_or_never() {
            self.take(&frame.into_data().unwrap_or_default());
        }
    }
}

impl Browser {
    /// A browser for a site such as `http://127.0.0.1:8090`.
    pub fn new(site: &str) -> Browser {
        Browser {
            host: site.trim_start_matches("http://").to_owned(),
            cookies: BTreeMap::new(),
            connection: None,
            encoding: "identity",
        }
    }

    /// Another connection with the same cookies.
    pub fn twin(&self) -> Browser {
        Browser {
            host: self.host.clone(),
            cookies: self.cookies.clone(),
            ..Browser::new("")
        }
    }

    /// Opens a stream of events.
    pub async fn events(mut self, path: &str) -> Result<Events> {
        let response = self.send(Method::GET, path, (None, Vec::new())).await?;
        if response.status() != StatusCode::OK {
            return Err(format!("{path}: {}", response.status()).into());
        }
        Ok(Events {
            body: response.into_body(),
            _browser: self,
            waiting: None,
        })
    }

    /// Loads a page and accepts compression, as browsers do. The content of the answer is
    /// discarded.
    pub async fn get_compressed(&mut self, path: &str) -> Result<Answer> {
        self.encoding = "gzip";
        let answer = self.get(path).await;
        self.encoding = "identity";
        answer
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let stream = TcpStream::connect(&self.host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // The next request detects that the connection has failed.
            let _ = connection.await;
        });
        Ok(sender)
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        (media, body): (Option<String>, Vec<u8>),
    ) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(&method)
            .uri(path)
            .header(HOST, &self.host)
            .header(USER_AGENT, "millibox-site example")
            .header(ACCEPT, "text/html,*/*")
            .header(ACCEPT_ENCODING, self.encoding);
        if method == Method::POST {
            // The request looks like a form of this site, because the site refuses the forms of
            // others.
            request = request
                .header(ORIGIN, format!("http://{}", self.host))
                .header("sec-fetch-site", "same-origin");
        }
        if !self.cookies.is_empty() {
            let pairs = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            request = request.header(COOKIE, pairs.collect::<Vec<_>>().join("; "));
        }
        if let Some(media) = media {
            request = request.header(CONTENT_TYPE, media);
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        let mut connection = match self.connection.take() {
            Some(connection) if !connection.is_closed() => connection,
            _ => self.connect().await?,
        };
        connection.ready().await?;
        let response = connection.send_request(request).await?;
        self.connection = Some(connection);
        self.store_cookies(response.headers());
        Ok(response)
    }

    fn store_cookies(&mut self, headers: &HeaderMap) {
        for value in headers.get_all(SET_COOKIE) {
            let pair = value.to_str().unwrap_or_default();
            let pair = pair.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    async fn request(
        &mut self,
        method: Method,
        path: &str,
        content: (Option<String>, Vec<u8>),
    ) -> Result<Answer> {
        let response = self.send(method, path, content).await?;
        let location = response.headers().get(LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let (status, location) = (response.status().as_u16(), location.map(str::to_owned));
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Answer {
            status,
            location,
            bytes: body.len(),
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    /// Loads a page.
    pub async fn get(&mut self, path: &str) -> Result<Answer> {
        self.request(Method::GET, path, (None, Vec::new())).await
    }

    /// Sends a form.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Result<Answer> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let media = "application/x-www-form-urlencoded".to_owned();
        let content = (Some(media), body.into_bytes());
        self.request(Method::POST, path, content).await
    }

    /// Sends a form with a file.
    pub async fn upload(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        (name, content): (&str, &[u8]),
    ) -> Result<Answer> {
        const BOUNDARY: &str = "boundary-of-the-example-7d1f";
        const PART: &str = "Content-Disposition: form-data";
        let mut head = String::new();
        for (field, value) in fields {
            write!(
                head,
                "--{BOUNDARY}\r\n{PART}; name=\"{field}\"\r\n\r\n{value}\r\n"
            )?;
        }
        let file = format!("{PART}; name=\"file\"; filename=\"{name}\"");
        write!(head, "--{BOUNDARY}\r\n{file}\r\n\r\n")?;
        let mut body = head.into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        let media = format!("multipart/form-data; boundary={BOUNDARY}");
        self.request(Method::POST, path, (Some(media), body)).await
    }

    /// Signs in.
    pub async fn sign_in(&mut self, login: &str, password: &str) -> Result<()> {
        let fields = [("login", login), ("password", password)];
        self.post("/sign-in", &fields).await?.expect(303)?;
        Ok(())
    }

    /// Signs up a new user, at `/sign-up` or by a link.
    pub async fn sign_up(&mut self, path: &str, login: &str, password: &str) -> Result<()> {
        let fields = [("login", login), ("name", login), ("password", password)];
        self.post(path, &fields).await?.expect(303)?;
        Ok(())
    }
}

/// A site with its own data. Dropping this value removes both.
pub struct Site {
    child: Child,
    /// Its address, such as `http://127.0.0.1:8090`.
    pub url: String,
    /// The lines that the site prints at its start, after its address.
    pub lines: Vec<String>,
    _directory: tempfile::TempDir,
}

impl Site {
    /// Starts the program `millibox-site` with these options, as an unprivileged user. Its messages
    /// go to `errors`.
    pub fn start(program: &Path, options: &[String], errors: Stdio) -> Result<Site> {
        let directory = tempfile::Builder::new()
            .prefix("millibox-site-")
            .tempdir()?;
        open(directory.path())?;
        let from = program.parent().unwrap_or(Path::new("."));
        for name in ["millibox-site", "millibox-supervisor"] {
            let source = match name {
                "millibox-site" => program.to_owned(),
                name => from.join(name),
            };
            std::fs::copy(&source, directory.path().join(name))
                .map_err(|error| format!("{}: {error}", source.display()))?;
        }
        let site = directory.path().join("millibox-site");
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
            command.args(["--inh-caps=-all", "--"]).arg(site);
            command
        } else {
            Command::new(site)
        };
        command
            .args(["--listen", "127.0.0.1:0", "--data"])
            .arg(directory.path().join("data"))
            .args(options)
            .env("TMPDIR", directory.path())
            .env("HOME", directory.path())
            .env_remove("CARGO_TARGET_DIR")
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = command.spawn()?;
        let out = child.stdout.take().ok_or("the site has no output")?;
        let mut reader = BufReader::new(out);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let url = first
            .trim()
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        if !url.starts_with("http://") {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the site does not start".into());
        }
        // The site writes all lines at once.
        let mut lines = Vec::new();
        while !reader.buffer().is_empty() {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            lines.push(line.trim().to_owned());
        }
        Ok(Site {
            child,
            url,
            lines,
            _directory: directory,
        })
    }

    /// The process. Its descendants judge.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The path of the link for the first administrator.
    pub fn setup(&self) -> Result<String> {
        let mut links = self
            .lines
            .iter()
            .filter_map(|line| line.split_once(&self.url));
        let link = links.next().map(|(_, path)| path.to_owned());
        link.ok_or_else(|| "the site has printed no link for an administrator".into())
    }

    /// Stops the site like an administrator, and waits for its end. Fails if the site did not end
    /// cleanly.
    pub fn end(mut self) -> Result<()> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the site has ended with {status}").into()),
                None if Instant::now() > limit => return Err("the site does not end".into()),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open(directory: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o777);
    Ok(std::fs::set_permissions(directory, mode)?)
}

/// The program `millibox-site` beside this program. Examples are one directory deeper.
pub fn built_site() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let directories = this.ancestors().skip(1).take(2);
    let mut sites = directories.map(|directory| directory.join("millibox-site"));
    let site = sites.find(|site| site.exists());
    site.ok_or_else(|| "millibox-site does not exist; build it with `make site`".into())
}
