//! `millibox submit`: sends a source to a contest site, and shows its protocol test by test.

use crate::failure::{Failure, answer, complain, say};
use crate::values;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use ureq::http::StatusCode;
use ureq::http::Uri;

/// Bytes of the longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a request is repeated after a failure that may pass.
const RETRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// Exit status if the submission was judged and not accepted.
const NOT_ACCEPTED: u8 = 1;

/// Options of `millibox submit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Create a token on your account page, and store it in a file that only you can read.

The exit status is 0 if the submission is accepted according to the results that you may see, 1 if
it is not accepted, and 125 if it was not sent or its result is unknown.

Examples:
  millibox submit a.cpp --site http://127.0.0.1:8090 --contest 3 --problem A
  millibox submit sum.py --site https://contest.example.org --problem 12 --json")]
pub struct Args {
    /// The source file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The address of the site
    #[arg(long, value_name = "URL")]
    site: Uri,
    /// The number of the contest, which is in its address
    #[arg(long, value_name = "NUMBER")]
    contest: Option<i64>,
    /// The label of a problem in the contest or, without --contest, the number of a problem
    #[arg(long, value_name = "PROBLEM")]
    problem: String,
    /// Submit for practice, after the round
    #[arg(long, requires = "contest")]
    practice: bool,
    /// The language [default: determined by the file's extension]
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    language: String,
    /// The file with the token [default: ~/.config/millibox/token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Print the site's description of the judged submission as JSON
    #[arg(long)]
    json: bool,
    /// Print the number of the submission, and do not wait for the result
    #[arg(long, conflicts_with = "json")]
    no_wait: bool,
    /// Wait at most this long for the result
    #[arg(long, value_name = "TIME", value_parser = values::time_limit, default_value = "10m")]
    timeout: Duration,
    /// Send the token without encryption to another machine
    ///
    /// Every machine between this one and the site can then read and use it.
    #[arg(long)]
    allow_http: bool,
}

#[derive(Debug, Serialize)]
struct New<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    round_problem: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<i64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    practice: bool,
    language: &'a str,
    file_name: &'a str,
    source: &'a str,
}

#[derive(Debug, Deserialize)]
struct Contest {
    rounds: Vec<Round>,
}

#[derive(Debug, Deserialize)]
struct Round {
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    id: i64,
    label: String,
}

#[derive(Debug, Deserialize)]
struct Submission {
    id: i64,
    pending: bool,
    judge_error: bool,
    #[serde(default)]
    cancelled: bool,
    initial_verdict: Option<String>,
    verdict: Option<String>,
    score: Option<f64>,
    max_score: Option<f64>,
    #[serde(default)]
    messages: String,
    #[serde(default)]
    tests: Vec<Test>,
}

#[derive(Debug, Deserialize)]
struct Test {
    name: String,
    verdict: Option<String>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    comment: String,
    cpu_time_ns: Option<u64>,
    memory_bytes: Option<u64>,
}

/// Problem details (RFC 9457).
#[derive(Debug, Deserialize)]
struct Details {
    title: String,
    detail: String,
}

/// A site, and the token for it.
struct Site {
    agent: ureq::Agent,
    base: String,
    authorization: String,
}

/// Sends a source and waits for the result.
pub fn main(args: &Args) -> Result<ExitCode, Failure> {
    check_address(args)?;
    let source = std::fs::read(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let source = String::from_utf8(source)
        .map_err(|_| Failure::option(format!("{}: not UTF-8", args.file.display())))?;
    let name = args.file.file_name().and_then(|name| name.to_str());
    let site = Site::new(args)?;
    let (round_problem, problem) = site.target(args)?;
    let new = New {
        round_problem,
        problem,
        practice: args.practice,
        language: &args.language,
        file_name: name.unwrap_or_default(),
        source: &source,
    };
    let body = serde_json::to_string(&new).map_err(Failure::sandbox)?;
    let (sent, _): (Submission, _) = site.request("/submissions", Some(&body))?;
    if args.no_wait {
        answer(sent.id)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.json {
        say(format_args!(
            "submission {}: {}/submissions/{}",
            sent.id, site.base, sent.id
        ))?;
    }
    follow(&site, args, sent.id)
}

/// Rejects addresses to which a token would travel unprotected.
fn check_address(args: &Args) -> Result<(), Failure> {
    let host = args.site.host().unwrap_or_default();
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match args.site.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_local || args.allow_http => Ok(()),
        Some("http") => Err(Failure::option(format!(
            "{host} is another machine, and without https others can read the token; use an \
             address with https, or --allow-http in a network that you trust"
        ))),
        _ => Err(Failure::option(
            "--site needs an address such as http://127.0.0.1:8090",
        )),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::option(format!("cannot read {}: {error}", path.display()))
}

fn token(args: &Args) -> Result<String, Failure> {
    let path = match (&args.token_file, std::env::var_os("HOME")) {
        (Some(path), _) => path.clone(),
        (None, Some(home)) => Path::new(&home).join(".config/millibox/token"),
        (None, None) => {
            return Err(Failure::option(
                "HOME is not set; pass the file that contains the token with --token-file",
            ));
        }
    };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Failure::option(format!(
            "{} does not contain a token; create one on your account page",
            path.display()
        )));
    }
    Ok(token.to_owned())
}

impl Site {
    fn new(args: &Args) -> Result<Site, Failure> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A redirection could lead the token elsewhere.
            .max_redirects(0)
            .timeout_global(Some(REQUEST_TIMEOUT))
            .user_agent(concat!("millibox/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Site {
            agent: config.into(),
            base: args.site.to_string().trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {}", token(args)?),
        })
    }

    /// The problem of a round, or the problem outside contests.
    fn target(&self, args: &Args) -> Result<(Option<i64>, Option<i64>), Failure> {
        let Some(contest) = args.contest else {
            let number = args.problem.parse().map_err(|_| {
                Failure::option(format!(
                    "{} is not the number of a problem; name the contest with --contest",
                    args.problem
                ))
            })?;
            return Ok((None, Some(number)));
        };
        let (found, _): (Contest, _) = self.request(&format!("/contests/{contest}"), None)?;
        let mut problems = found.rounds.iter().flat_map(|round| &round.problems);
        let problem = problems.find(|one| one.label.eq_ignore_ascii_case(&args.problem));
        let known = || {
            let all = found.rounds.iter().flat_map(|round| &round.problems);
            let labels: Vec<&str> = all.map(|one| one.label.as_str()).collect();
            Failure::option(format!(
                "the contest has no problem {} that you can see; its problems are: {}",
                args.problem,
                labels.join(" ")
            ))
        };
        Ok((Some(problem.ok_or_else(known)?.id), None))
    }

    /// Sends a request, again if a failure may pass. A submission has a key, so that it is added
    /// once. Returns the answer also as the site has sent it.
    fn request<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        body: Option<&str>,
    ) -> Result<(T, String), Failure> {
        let key = key()?;
        let mut pause = FIRST_PAUSE;
        let mut left = RETRIES;
        loop {
            let (why, wait) = match self.try_request(path, body, &key) {
                Ok((status, _, text)) if status.is_success() => {
                    let value = serde_json::from_str(&text).map_err(|error| {
                        Failure::sandbox(format!("{}: unexpected response: {error}", self.base))
                    })?;
                    return Ok((value, text));
                }
                Ok((status, retry, text)) => {
                    let why = refusal(status, &text);
                    let may_pass = status == StatusCode::TOO_MANY_REQUESTS
                        || status == StatusCode::SERVICE_UNAVAILABLE;
                    if !may_pass {
                        return Err(Failure::sandbox(why));
                    }
                    (why, retry)
                }
                Err(error) => (format!("{}: {error}", self.base), None),
            };
            if left == 0 {
                return Err(Failure::sandbox(why));
            }
            left -= 1;
            std::thread::sleep(wait.unwrap_or(pause).min(REQUEST_TIMEOUT));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn try_request(
        &self,
        path: &str,
        body: Option<&str>,
        key: &str,
    ) -> Result<(StatusCode, Option<Duration>, String), ureq::Error> {
        let address = format!("{}/api/v1{path}", self.base);
        let mut response = match body {
            None => {
                let request = self.agent.get(address);
                request.header("authorization", &self.authorization).call()
            }
            Some(body) => {
                let request = self.agent.post(address);
                request
                    .header("authorization", &self.authorization)
                    .header("idempotency-key", key)
                    .content_type("application/json")
                    .send(body)
            }
        }?;
        let retry = response.headers().get("retry-after");
        let retry = retry.and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES);
        let text = body.read_to_string()?;
        Ok((response.status(), retry.map(Duration::from_secs), text))
    }
}

/// A random name for a request.
fn key() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty());
    if filled != Ok(bytes.len()) {
        return Err(Failure::sandbox(
            "cannot get random numbers from the kernel",
        ));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn refusal(status: StatusCode, text: &str) -> String {
    match serde_json::from_str::<Details>(text) {
        Ok(details) => format!("{}: {}", details.title, details.detail),
        Err(_) => format!("the site answered {status}; is this the address of a site?"),
    }
}

/// Shows tests as they get results, and the result.
fn follow(site: &Site, args: &Args, id: i64) -> Result<ExitCode, Failure> {
    let begin = Instant::now();
    let path = format!("/submissions/{id}");
    let mut shown = 0;
    let mut pause = FIRST_PAUSE;
    loop {
        let (found, text): (Submission, String) = site.request(&path, None)?;
        if !args.json {
            for test in found.tests.iter().skip(shown) {
                say(line(test))?;
            }
            shown = shown.max(found.tests.len());
        }
        if !found.pending {
            if args.json {
                answer(text)?;
            } else {
                finish(&found)?;
            }
            return Ok(exit(&found));
        }
        if begin.elapsed() >= args.timeout {
            return Err(Failure::sandbox(format!(
                "submission {id} has no result yet; it is still being judged"
            )));
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
}

fn line(test: &Test) -> String {
    let verdict = test.verdict.as_deref().unwrap_or("not judged");
    let mut line = format!("test {}: {}", test.name, words(verdict));
    if let Some(time) = test.cpu_time_ns {
        line += &format!(", {} ms", time / 1_000_000);
    }
    if let Some(bytes) = test.memory_bytes {
        line += &format!(", {} MiB", bytes.div_ceil(1 << 20));
    }
    for remark in [&test.reason, &test.comment] {
        if !remark.is_empty() {
            line += &format!(" ({})", remark.trim());
        }
    }
    line
}

fn words(verdict: &str) -> String {
    verdict.replace('_', " ")
}

fn finish(found: &Submission) -> Result<(), Failure> {
    if !found.messages.is_empty() {
        complain(format_args!("{}", found.messages.trim_end()));
    }
    let points = match (found.score, found.max_score) {
        (Some(score), Some(max)) => format!(", {score} of {max} points"),
        (Some(score), None) => format!(", {score} points"),
        (None, _) => String::new(),
    };
    say(match (&found.verdict, &found.initial_verdict) {
        _ if found.cancelled => "the judging was stopped".to_owned(),
        _ if found.judge_error => "the judge has failed".to_owned(),
        (Some(verdict), _) => format!("result: {}{points}", words(verdict)),
        (None, Some(verdict)) => format!(
            "initial tests: {}{points}; the full result is shown later",
            words(verdict)
        ),
        (None, None) => "the result is shown later".to_owned(),
    })
}

fn exit(found: &Submission) -> ExitCode {
    let known = found.verdict.as_ref().or(found.initial_verdict.as_ref());
    let is_accepted =
        known.is_none_or(|verdict| verdict == "accepted") && !found.judge_error && !found.cancelled;
    if is_accepted {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(NOT_ACCEPTED)
    }
}
