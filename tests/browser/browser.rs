//! A headless Chromium, driven by chromedriver.

use crate::server::Server;
use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use millibox_tests::{is_root, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use ureq::http::Method;
use url::{ParseError, Url};

/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);
/// The same for a whole test.
const TEST_TIMEOUT: Duration = Duration::from_secs(600);

/// The maximum size of a picture in the documentation, in bytes.
const MAX_IMAGE_BYTES: u64 = 100 << 10;

/// The minimum width of a window. For narrower screens, Chromium emulates a phone.
const MIN_WINDOW_WIDTH: u32 = 500;

/// How a browser is started.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether pages may run scripts.
    pub script: bool,
    /// Whether the system prefers dark pages.
    pub dark: bool,
    /// The size of the window.
    pub size: (u32, u32),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            script: true,
            dark: false,
            size: (1440, 1000),
        }
    }
}

/// A window of a browser.
pub struct Window {
    /// The connection to the browser.
    pub client: Client,
    /// The beginning of the addresses of its pages.
    url: String,
}

/// A browser with one page of a service.
pub struct Browser {
    window: Window,
    /// The service.
    pub server: Server,
    _driver: Driver,
}

impl Deref for Browser {
    type Target = Window;

    fn deref(&self) -> &Window {
        &self.window
    }
}

/// A chromedriver, which ends when this value is dropped. Its browsers end with it. If root runs
/// the tests, all of them also end if the test is killed.
pub struct Driver {
    child: Child,
    port: u16,
    _profile: tempfile::TempDir,
}

impl Driver {
    /// Starts a chromedriver, or returns the reason why it cannot.
    pub fn start() -> Result<Driver, String> {
        let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut child = command()
            .arg("--port=0")
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|_| {
                "chromedriver is not installed; install the packages chromium and chromium-driver"
            })?;
        let stdout = child.stdout.take().ok_or("chromedriver has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        // chromedriver ends if nothing reads its output.
        std::thread::spawn(move || lines.for_each(drop));
        match port {
            Some(port) => Ok(Driver {
                child,
                port,
                _profile: profile,
            }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err("chromedriver does not start".to_owned())
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // unshare(1) ignores SIGTERM, and browsers in the PID namespace die with chromedriver.
        let signal = if is_root() {
            Signal::KILL
        } else {
            Signal::TERM
        };
        let pid = i32::try_from(self.child.id()).ok();
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
        let _ = self.child.wait();
    }
}

/// The command of a chromedriver. Started by root, it is the first process of a PID namespace,
/// which ends with the thread of the test.
fn command() -> Command {
    if !is_root() {
        return Command::new("chromedriver");
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare"]);
    command.args([
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "chromedriver",
    ]);
    command
}

/// Starts a service and a browser and runs a test in it. Without a browser, the test is skipped.
pub fn with_browser(options: Options, config: &str, test: impl AsyncFnOnce(&Browser)) {
    let driver = match Driver::start() {
        Ok(driver) => driver,
        Err(reason) => return skip(&reason),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let server = Server::with_config("", config);
    within_limit(&runtime, async {
        let browser = Browser {
            window: driver.open(options, &server.url).await,
            server,
            _driver: driver,
        };
        test(&browser).await;
        browser.client.clone().close().await.expect("an end");
    });
}

/// Runs a test. chromedriver may never reply to a command, and then the test fails.
pub fn within_limit(runtime: &tokio::runtime::Runtime, test: impl Future<Output = ()>) {
    runtime.block_on(async {
        let ended = tokio::time::timeout(TEST_TIMEOUT, test).await;
        assert!(ended.is_ok(), "the browser hangs");
    });
}

impl Driver {
    /// Opens a window for pages whose addresses begin with `url`. The window has no cookies.
    pub async fn open(&self, options: Options, url: &str) -> Window {
        Window {
            client: connect(self.port, options).await,
            url: url.to_owned(),
        }
    }
}

async fn connect(port: u16, options: Options) -> Client {
    let (width, height) = options.size;
    let mut arguments = vec![
        "--headless=new".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--hide-scrollbars".to_owned(),
        format!("--window-size={width},{height}"),
    ];
    if options.dark {
        arguments.push("--force-dark-mode".to_owned());
    }
    if is_root() {
        // Chromium's own sandbox does not start as root.
        arguments.push("--no-sandbox".to_owned());
    }
    let mut chrome = json!({ "args": arguments });
    if width < MIN_WINDOW_WIDTH {
        let metrics = json!({ "width": width, "height": height, "pixelRatio": 2, "touch": true });
        chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics });
    }
    if !options.script {
        chrome["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
    }
    let capabilities = json!({
        "goog:chromeOptions": chrome,
        "goog:loggingPrefs": { "browser": "ALL" },
    });
    let Value::Object(capabilities) = capabilities else {
        unreachable!("capabilities are an object");
    };
    ClientBuilder::new(HttpConnector::new())
        .capabilities(capabilities)
        .connect(&format!("http://127.0.0.1:{port}"))
        .await
        .expect("a browser")
}

/// The command that returns and forgets the messages of the browser's console.
#[derive(Debug)]
struct TakeLog;

impl WebDriverCompatibleCommand for TakeLog {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

impl Window {
    /// Opens a page.
    pub async fn open(&self, path: &str) {
        let url = format!("{}{path}", self.url);
        self.client.goto(&url).await.expect("a page");
    }

    /// The path of the page.
    pub async fn path(&self) -> String {
        let url = self.client.current_url().await.expect("an address");
        url.path().to_owned()
    }

    /// Errors and warnings of the console since the last call: failed scripts and requests, and
    /// violations of the Content-Security-Policy.
    pub async fn messages(&self) -> Vec<String> {
        let log = self.client.issue_cmd(TakeLog).await.expect("a log");
        let entries = log.as_array().expect("a list of messages");
        let is_serious = |entry: &&Value| {
            ["SEVERE", "WARNING"]
                .map(Value::from)
                .contains(&entry["level"])
        };
        let serious = entries.iter().filter(is_serious);
        serious.map(|entry| entry["message"].to_string()).collect()
    }

    /// Checks the page with axe-core, whose script is `axe`.
    pub async fn check_with_axe(&self, axe: &str, page: &str) {
        let violations = self.violations(axe).await;
        assert!(violations.is_empty(), "{page}: {violations:#?}");
    }

    /// What axe-core, whose script is `axe`, finds in the page.
    pub async fn violations(&self, axe: &str) -> Vec<Value> {
        self.script(axe, json!([])).await;
        let run = "const done = arguments[0]; axe.run(document).then((result) => \
            done([result.violations, result.passes.length]), (error) => done(String(error)))";
        let found = self.client.execute_async(run, vec![]).await;
        let found = found.expect("a report");
        assert!(found[1].as_u64() > Some(10), "{found}");
        found[0].as_array().expect("a list").clone()
    }

    /// Waits for the one element that a selector matches.
    pub async fn element(&self, selector: &str) -> Element {
        let wait = self.client.wait().at_most(HANG_TIMEOUT);
        match wait.for_element(Locator::Css(selector)).await {
            Ok(element) => element,
            Err(error) => {
                let page = self.client.source().await.unwrap_or_default();
                panic!("{selector}: {error} in {page}");
            }
        }
    }

    /// Waits until an element has a text. The answer to a form may arrive after the click.
    pub async fn shows(&self, selector: &str, text: &str) {
        let end = Instant::now() + HANG_TIMEOUT;
        loop {
            let found = self.text(selector).await;
            if found == text {
                return;
            }
            assert!(Instant::now() < end, "{selector}: {found:?}, not {text:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The visible text of an element.
    pub async fn text(&self, selector: &str) -> String {
        loop {
            match self.element(selector).await.text().await {
                // A live page has replaced the element.
                Err(error) if error.is_stale_element_reference() => {}
                text => return text.expect("a text"),
            }
        }
    }

    /// How many elements a selector matches now.
    pub async fn count(&self, selector: &str) -> usize {
        let found = self.client.find_all(Locator::Css(selector)).await;
        found.expect("elements").len()
    }

    /// The value of a form field.
    pub async fn value(&self, selector: &str) -> String {
        let value = self.element(selector).await.prop("value").await;
        value.expect("a property").unwrap_or_default()
    }

    /// Clicks on an element.
    pub async fn click(&self, selector: &str) {
        loop {
            match self.element(selector).await.click().await {
                // A live page has replaced the element.
                Err(error) if error.is_stale_element_reference() => {}
                clicked => return clicked.expect("a click"),
            }
        }
    }

    /// Replaces the text of a field as a person would.
    pub async fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        element.clear().await.expect("an empty field");
        element.send_keys(text).await.expect("typed text");
    }

    /// Replaces the text of the editor at once: typing would indent each new line.
    pub async fn set_code(&self, code: &str) {
        let script = "const area = document.getElementById('code'); area.value = arguments[0]; \
            area.dispatchEvent(new Event('input'));";
        self.script(script, json!([code])).await;
    }

    /// Chooses a language.
    pub async fn choose(&self, runtime: &str) {
        let select = self.element("#runtime").await;
        select.select_by_value(runtime).await.expect("a language");
    }

    /// Presses keys in the element with the focus.
    pub async fn press(&self, keys: &str) {
        let active = self.client.active_element().await.expect("a focus");
        active.send_keys(keys).await.expect("pressed keys");
    }

    /// The id of the element with the focus.
    pub async fn focus(&self) -> String {
        let id = self
            .script("return document.activeElement.id", json!([]))
            .await;
        id.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page.
    pub async fn script(&self, script: &str, arguments: Value) -> Value {
        let Value::Array(arguments) = arguments else {
            panic!("arguments are an array");
        };
        let result = self.client.execute(script, arguments).await;
        result.expect("a script")
    }

    /// Waits for a script to return true.
    pub async fn eventually(&self, script: &str) {
        self.eventually_with(script, json!([])).await;
    }

    /// Waits for a script with these arguments to return true.
    pub async fn eventually_with(&self, script: &str, arguments: Value) {
        let end = std::time::Instant::now() + HANG_TIMEOUT;
        while self.script(script, arguments.clone()).await != json!(true) {
            if std::time::Instant::now() > end {
                let (messages, page) = (self.messages().await, self.text("main").await);
                panic!("{script}: {messages:#?} in {page}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the page shows a result of this kind.
    pub async fn result(&self, kind: &str) {
        let selector = format!("#result[data-kind={kind}]:not([aria-busy=true])");
        self.element(&selector).await;
    }

    /// Whether the service has a language. If not, reports the test as skipped.
    pub async fn needs(&self, runtime: &str) -> bool {
        self.open("/").await;
        let is_installed = self
            .count(&format!("#runtime option[value={runtime}]"))
            .await
            > 0;
        if !is_installed {
            skip(&format!("the language {runtime} is not installed"));
        }
        is_installed
    }

    /// Writes a picture of the page without its frame to `target/screenshots` and, for the
    /// documentation, to the directory that `MILLIBOX_IMAGES` names.
    pub async fn picture(&self, name: &str) {
        let main = self.element("main").await;
        let path = save(name, &main.screenshot().await.expect("a picture"));
        let directory = std::env::var_os("MILLIBOX_IMAGES").filter(|path| !path.is_empty());
        if let Some(directory) = directory {
            let bytes = path.metadata().expect("the picture").len();
            assert!(bytes < MAX_IMAGE_BYTES, "{name}: {bytes} bytes");
            let to = Path::new(&directory).join(format!("{name}.png"));
            std::fs::copy(path, to).expect("a copy of the picture");
        }
    }

    /// Writes a picture of the window to `target/screenshots`.
    pub async fn screenshot(&self, name: &str) {
        save(name, &self.client.screenshot().await.expect("a picture"));
    }
}

/// Writes a picture to `target/screenshots`. Returns its path.
fn save(name: &str, picture: &[u8]) -> PathBuf {
    let directory = target().join("screenshots");
    std::fs::create_dir_all(&directory).expect("a directory for screenshots");
    let path = directory.join(format!("{name}.png"));
    std::fs::write(&path, picture).expect("a file for the picture");
    path
}

/// Control and Enter.
pub fn control_enter() -> String {
    // The last key releases Control.
    let keys = [Key::Control, Key::Enter, Key::Null];
    keys.into_iter().map(char::from).collect()
}

/// One key.
pub fn key(key: Key) -> String {
    char::from(key).to_string()
}

/// The script of axe-core, unless it was not downloaded.
pub fn axe() -> Option<String> {
    let axe = std::fs::read_to_string(target().join("axe/package/axe.min.js")).ok();
    if axe.is_none() {
        skip("axe-core is not downloaded; `make test-browser` downloads it");
    }
    axe
}

/// The directory of build products.
pub fn target() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::env::var_os("CARGO_TARGET_DIR").map_or(default, PathBuf::from)
}
