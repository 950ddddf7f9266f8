//! A load generator: starts a site and visits it as the contestants of a contest do.
//!
//! 1. All users sign in, evenly within a time.
//! 2. All users send a program each, so that the ranking has rows. This is not measured.
//! 3. All users open the page of a problem within one second.
//! 4. Some users follow the ranking while it changes several times a second.
//! 5. In the last seconds, users submit; each follows the judging of the submission.
//!
//! With `--day-minutes`, it holds the contest of a school instead (`day.rs`).
//!
//! The result is a table, or JSON with `--json`: times of each kind of page, errors, lost
//! submissions, and the CPU time of pages, judging, database and this client.
//! `docs/reference/site-load.md` has figures.

#![allow(missing_docs, reason = "an example has no users")]
#![allow(clippy::print_stdout, reason = "the example is a command")]
#![allow(clippy::print_stderr, reason = "the example is a command")]

mod cpu;
mod day;
#[allow(unreachable_pub, reason = "tests share the module")]
#[path = "../../tests/support/postgres.rs"]
mod postgres;
mod report;

use clap::Parser;
use millibox_site_client::{Browser, Result, Site, built_site};
use report::{Phase, Records, Report};
use std::collections::HashSet;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

const PASSWORD: &str = "correct horse";
/// The pause of the script of the pages after it has loaded a changed part.
const LOAD_PAUSE: Duration = Duration::from_secs(1);
/// How long submissions may wait for their results.
const JUDGE_TIMEOUT: Duration = Duration::from_secs(1200);
const STATEMENT: &str = "Given two numbers $a$ and $b$ with $1 \\le a, b \\le 10^9$, write their \
    sum.\n\n## Input\n\nThe only line has $a$ and $b$.\n\n## Output\n\nWrite $a + b$. Note that \
    $$\\sum_{i=1}^{n} i = \\frac{n (n + 1)}{2} \\quad\\text{and}\\quad \
    \\sqrt{a^2 + b^2} \\le a + b.$$\n\n| input | output |\n| --- | --- |\n| 1 2 | 3 |\n";

/// Visits a site as the contestants of a contest do.
#[derive(Debug, Parser)]
struct Options {
    /// The program `millibox-site` [default: the one that was built with this example]
    #[arg(long)]
    site: Option<PathBuf>,
    /// Users
    #[arg(long, default_value_t = 1000)]
    users: usize,
    /// Seconds in which all users sign in
    #[arg(long, default_value_t = 60.0)]
    sign_in_seconds: f64,
    /// Users following the ranking
    #[arg(long, default_value_t = 500)]
    watchers: usize,
    /// Seconds for which the ranking is followed
    #[arg(long, default_value_t = 20.0)]
    ranking_seconds: f64,
    /// Changes of the ranking in a second
    #[arg(long, default_value_t = 10.0)]
    changes: f64,
    /// Submissions at the end of the test
    #[arg(long, default_value_t = 300)]
    submissions: usize,
    /// Seconds in which these users submit
    #[arg(long, default_value_t = 10.0)]
    submit_seconds: f64,
    /// Users in the ranking, each with a submission [default: all]
    #[arg(long)]
    rows: Option<usize>,
    /// Hold a contest with all users for this number of minutes, including sign-in, instead of the
    /// usual steps
    #[arg(long)]
    day_minutes: Option<f64>,
    /// With --day-minutes: submissions of an older contest that are rejudged during the round
    #[arg(long, default_value_t = 0)]
    rejudged: usize,
    /// Start a server of PostgreSQL for the site
    #[arg(long)]
    postgres: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Additional options of the site, such as `--workers 1`
    #[arg(last = true)]
    options: Vec<String>,
}

/// The contest of the test.
struct Contest {
    id: i64,
    problem: i64,
}

/// A user with a browser.
struct User {
    login: String,
    browser: Browser,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(options))
}

async fn run(options: Options) -> Result<()> {
    let mut site_options = options.options.clone();
    if !site_options.iter().any(|option| option == "--backend") {
        site_options.extend(["--backend", "rlimit"].map(str::to_owned));
    }
    if options.postgres {
        site_options.extend(["--database".to_owned(), postgres::database()?]);
    }
    let program = match &options.site {
        Some(program) => program.clone(),
        None => built_site()?,
    };
    let site = Site::start(&program, &site_options, Stdio::inherit())?;
    let records = Arc::new(Records::default());
    let mut report = Report::new(options.postgres);
    if let Some(minutes) = options.day_minutes {
        let size = day::Size {
            people: options.users,
            minutes,
            rejudged: options.rejudged,
        };
        let phase = Phase::begin("contest", &site);
        report.day(day::run(&site, size, &records).await?);
        report.add(phase, &site);
        report.pages(&records);
        site.end()?;
        print_report(&report, options.json)?;
        return Ok(());
    }
    eprintln!("load: creating {} users", options.users);
    let (mut admin, contest) = seed(&site, &options).await?;
    let contest = Arc::new(contest);

    let mut phase = Phase::begin("sign-in", &site);
    let mut users = sign_in(&site, &options, &contest, &records).await?;
    report.add(phase, &site);

    eprintln!("load: filling the ranking");
    phase = Phase::begin("ranking is filled", &site);
    let rows = options.rows.unwrap_or(users.len()).min(users.len());
    let first = fill(&mut users[..rows], &contest).await?;
    wait_until_judged(&mut admin, &contest, &first).await?;
    report.add(phase, &site);

    phase = Phase::begin("problem in one second", &site);
    let users = open_problem(users, &contest, &records).await?;
    report.add(phase, &site);

    phase = Phase::begin("ranking and submissions", &site);
    let sent = contest_end(
        &site,
        &options,
        &contest,
        &records,
        users,
        (&mut admin, &first),
    );
    let sent = sent.await?;
    report.add(phase, &site);

    phase = Phase::begin("rest of the judging", &site);
    let begin = Instant::now();
    let lost = wait_until_judged(&mut admin, &contest, &sent).await?;
    report.add(phase, &site);
    report.submissions(options.submissions, sent.len(), lost, begin.elapsed());
    report.pages(&records);
    site.end()?;
    print_report(&report, options.json)
}

fn print_report(report: &Report, is_json: bool) -> Result<()> {
    if is_json {
        println!("{}", serde_json::to_string_pretty(&report.json())?);
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

/// A package whose submissions add two numbers.
fn package() -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in [
        ("problem.yaml", "name: Sum\nlimits:\n  memory: 256\n"),
        (".timelimit", "5\n"),
        ("problem_statement/problem.md", STATEMENT),
        ("data/sample/1.in", "1 2\n"),
        ("data/sample/1.ans", "3\n"),
        ("data/secret/1.in", "20 22\n"),
        ("data/secret/1.ans", "42\n"),
        ("data/secret/2.in", "5 5\n"),
        ("data/secret/2.ans", "10\n"),
    ] {
        archive.start_file(name, options)?;
        archive.write_all(content.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Creates the administrator, the contest and the users.
async fn seed(site: &Site, options: &Options) -> Result<(Browser, Contest)> {
    let mut admin = Browser::new(&site.url);
    admin.sign_up(&site.setup()?, "admin", PASSWORD).await?;
    let fields = [("visibility", "private")];
    let package = package()?;
    let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
    let problem = added.await?.expect(303)?.id()?.to_string();
    let fields = [("name", "Load"), ("visibility", "public")];
    let id = admin
        .post("/contests/new", &fields)
        .await?
        .expect(303)?
        .id()?;
    let fields = [
        ("name", "Round"),
        ("begins", ""),
        ("ends", ""),
        ("full_results", ""),
        ("ranking_from", ""),
    ];
    let path = format!("/contests/{id}/rounds");
    let round = admin.post(&path, &fields).await?.expect(303)?.id()?;
    let fields = [
        ("problem", problem.as_str()),
        ("label", "A"),
        ("final_method", "best"),
        ("reveal", "status"),
    ];
    let path = format!("/rounds/{round}/problems");
    admin.post(&path, &fields).await?.expect(303)?;
    let page = admin.get(&format!("/rounds/{round}")).await?.expect(200)?;
    let problem = page.number_after("/round-problems/")?;
    let mut list = String::from("login,name,password\n");
    for number in 0..options.users {
        list += &format!("user{number},User Number {number},{PASSWORD}\n");
    }
    import_users(&mut admin, &list).await?;
    Ok((admin, Contest { id, problem }))
}

/// Adds the accounts of a list. The site applies only a plan that it has shown.
async fn import_users(admin: &mut Browser, list: &str) -> Result<()> {
    const PATH: &str = "/users/import";
    let mut fields = vec![("accounts", list)];
    let preview = admin.upload(PATH, &fields, ("", b"")).await?.expect(200)?;
    let plan = preview.body.split("name=\"plan\" value=\"").nth(1);
    let plan = plan.and_then(|rest| rest.split('"').next());
    fields.extend([("plan", plan.unwrap_or_default()), ("format", "page")]);
    let applied = admin
        .upload(&format!("{PATH}/apply"), &fields, ("", b""))
        .await?;
    applied.expect(200)?;
    Ok(())
}

/// All users sign in as people do: they open the first page, the form, and then the contest.
async fn sign_in(
    site: &Site,
    options: &Options,
    contest: &Arc<Contest>,
    records: &Arc<Records>,
) -> Result<Vec<User>> {
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..options.users {
        let share = number as f64 / options.users as f64;
        let at = begin + Duration::from_secs_f64(options.sign_in_seconds * share);
        let login = format!("user{number}");
        let browser = Browser::new(&site.url);
        let (contest, records) = (contest.clone(), records.clone());
        tasks.spawn(async move {
            let mut user = User { login, browser };
            sleep_until(at.into()).await;
            let fields = [("login", user.login.as_str()), ("password", PASSWORD)];
            records.time("home", 200, user.browser.get("/")).await;
            records
                .time("sign-in form", 200, user.browser.get("/sign-in"))
                .await;
            records
                .time("sign-in", 303, user.browser.post("/sign-in", &fields))
                .await;
            records
                .time("contests", 200, user.browser.get("/contests"))
                .await;
            let path = format!("/contests/{}", contest.id);
            records.time("contest", 200, user.browser.get(&path)).await;
            user
        });
    }
    Ok(tasks.join_all().await)
}

fn source(user: &str, number: usize) -> Vec<u8> {
    // Each source differs, so that each is compiled.
    format!("# {user} {number}\na, b = map(int, input().split())\nprint(a + b)\n").into_bytes()
}

async fn submit(
    browser: &mut Browser,
    contest: &Contest,
    source: &[u8],
) -> Result<millibox_site_client::Answer> {
    let path = format!("/round-problems/{}/submit", contest.problem);
    let fields = [("language", "")];
    browser.upload(&path, &fields, ("a.py", source)).await
}

/// Each user submits once. Returns the submissions.
async fn fill(users: &mut [User], contest: &Contest) -> Result<Vec<i64>> {
    let mut sent = Vec::new();
    for user in users {
        let source = source(&user.login, 0);
        let answer = submit(&mut user.browser, contest, &source).await?;
        sent.push(answer.expect(303)?.id()?);
    }
    Ok(sent)
}

/// Waits until all submissions have results. Returns the number of those that are lost.
async fn wait_until_judged(admin: &mut Browser, contest: &Contest, ids: &[i64]) -> Result<usize> {
    let limit = Instant::now() + JUDGE_TIMEOUT;
    let mut waiting: Vec<i64> = ids.to_vec();
    while !waiting.is_empty() && Instant::now() < limit {
        // The last submission is judged last.
        let path = format!("/submissions/{}", waiting[waiting.len() - 1]);
        let page = admin.get(&path).await?;
        let is_pending = page.status == 200 && !page.body.contains("Accepted");
        if is_pending {
            sleep(Duration::from_millis(500)).await;
            continue;
        }
        if page.status != 200 {
            break;
        }
        waiting.pop();
    }
    let found = listed(admin, contest).await?;
    let listed = ids.iter().filter(|id| found.contains(id)).count();
    Ok((ids.len() - listed).max(waiting.len()))
}

/// All submissions in the staff's list.
async fn listed(admin: &mut Browser, contest: &Contest) -> Result<HashSet<i64>> {
    let mut found = HashSet::new();
    let mut before = String::new();
    loop {
        let path = format!("/contests/{}/submissions{before}", contest.id);
        let page = admin.get(&path).await?.expect(200)?;
        let numbers = page.body.split("href=\"/submissions/").skip(1);
        let numbers: Vec<i64> = numbers
            .filter_map(|rest| rest.split('"').next()?.parse().ok())
            .collect();
        let Some(last) = numbers.iter().min() else {
            return Ok(found);
        };
        before = format!("?before={last}");
        found.extend(numbers);
    }
}

/// All users open the problem within one second.
async fn open_problem(
    users: Vec<User>,
    contest: &Arc<Contest>,
    records: &Arc<Records>,
) -> Result<Vec<User>> {
    let begin = Instant::now() + Duration::from_millis(200);
    let count = users.len().max(1);
    let mut tasks = JoinSet::new();
    for (number, mut user) in users.into_iter().enumerate() {
        // The factor spreads the users over the second in an order unrelated to that of their
        // connections.
        let share = (number * 7919 % count) as f64 / count as f64;
        let at = begin + Duration::from_secs_f64(share);
        let (contest, records) = (contest.clone(), records.clone());
        tasks.spawn(async move {
            sleep_until(at.into()).await;
            let path = format!("/round-problems/{}", contest.problem);
            let page = records.time("problem", 200, user.browser.get(&path)).await;
            let notices = match page {
                Some(page) => follow_notices(&mut user.browser, &page, &records).await,
                None => None,
            };
            (user, notices)
        });
    }
    let opened = tasks.join_all().await;
    // The users leave the page for another one later, which ends its stream.
    Ok(opened.into_iter().map(|(user, _)| user).collect())
}

/// Users follow the ranking, which changes, and others submit. Returns the submissions.
async fn contest_end(
    site: &Site,
    options: &Options,
    contest: &Arc<Contest>,
    records: &Arc<Records>,
    mut users: Vec<User>,
    (admin, first): (&mut Browser, &[i64]),
) -> Result<Vec<i64>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(options.ranking_seconds.max(options.submit_seconds));
    let submitters = users.split_off(users.len() - options.submissions.min(users.len()));
    let mut watchers = JoinSet::new();
    for (number, user) in users.into_iter().take(options.watchers).enumerate() {
        let (contest, records) = (contest.clone(), records.clone());
        let is_over = is_over.clone();
        let path = format!("/contests/{}/ranking", contest.id);
        let at = begin + Duration::from_millis(u64::try_from(number)? * 2);
        watchers.spawn(async move {
            sleep_until(at.into()).await;
            follow(
                user.browser,
                &path,
                ["ranking", "ranking, changed"],
                &records,
                &is_over,
            )
            .await
        });
    }
    let last = Duration::from_secs_f64(options.submit_seconds);
    let mut tasks = JoinSet::new();
    let count = submitters.len().max(1);
    for (number, mut user) in submitters.into_iter().enumerate() {
        let share = number as f64 / count as f64;
        let at = end - last + last.mul_f64(share);
        let (contest, records) = (contest.clone(), records.clone());
        let is_over = is_over.clone();
        tasks.spawn(async move {
            sleep_until(at.into()).await;
            let path = format!("/round-problems/{}/submit", contest.problem);
            records
                .time("submit form", 200, user.browser.get(&path))
                .await;
            let source = source(&user.login, 1);
            let sending = submit(&mut user.browser, &contest, &source);
            let answer = records.time("submit", 303, sending).await?;
            let id = answer.id().ok()?;
            let path = format!("/submissions/{id}");
            let kinds = ["submission", "submission, changed"];
            tokio::spawn(async move {
                follow(user.browser, &path, kinds, &records, &is_over).await;
            });
            Some(id)
        });
    }
    // The staff changes which submissions count, so the ranking changes.
    let mut changed = 0;
    while Instant::now() < end {
        let pause = Duration::from_secs_f64(f64::from(changed + 1) / options.changes);
        sleep_until((begin + pause).min(end).into()).await;
        if let Some(id) = first.get(usize::try_from(changed)? / 2 % first.len().max(1)) {
            let kind = if changed % 2 == 0 {
                "ignored"
            } else {
                "normal"
            };
            let path = format!("/submissions/{id}/kind");
            let fields = [("kind", kind)];
            let change = admin.post(&path, &fields);
            records.time("change of the staff", 303, change).await;
        }
        changed += 1;
    }
    let sent = tasks.join_all().await;
    sleep(LOAD_PAUSE).await;
    is_over.store(true, Ordering::SeqCst);
    watchers.join_all().await;
    let _ = site;
    Ok(sent.into_iter().flatten().collect())
}

/// The value of an attribute of a page.
fn attribute(page: &millibox_site_client::Answer, name: &str) -> Option<String> {
    let value = page.body.split(&format!("{name}=\"")).nth(1)?;
    Some(value.split('"').next()?.replace("&amp;", "&"))
}

/// Opens the stream of notices of a page, and loads the current notice, like the script.
async fn follow_notices(
    browser: &mut Browser,
    page: &millibox_site_client::Answer,
    records: &Records,
) -> Option<millibox_site_client::Events> {
    let (stream, notice) = (
        attribute(page, "data-stream")?,
        attribute(page, "data-notice")?,
    );
    let opening = async {
        let begin = Instant::now();
        let events = browser.twin().events(&stream).await;
        (events, begin.elapsed())
    };
    let (events, passed) = opening.await;
    match events {
        Ok(events) => {
            records.add("stream of notices", passed);
            records.time("notice", 200, browser.get(&notice)).await;
            Some(events)
        }
        Err(error) => {
            records.fail("stream of notices", &error.to_string());
            None
        }
    }
}

/// Loads a page and follows its changes, as the script of the pages does.
async fn follow(
    mut browser: Browser,
    path: &str,
    [first, changed]: [&'static str; 2],
    records: &Records,
    is_over: &AtomicBool,
) {
    let Some(page) = records.time(first, 200, browser.get(path)).await else {
        return;
    };
    let live = page.body.split("name=\"live\" content=\"").nth(1);
    let Some(live) = live.and_then(|rest| rest.split('"').next()) else {
        // Nothing can change any more.
        return;
    };
    let live = live.replace("&amp;", "&");
    let part = attribute(&page, "data-live-source").unwrap_or_else(|| path.to_owned());
    let mut events = match browser.twin().events(&live).await {
        Ok(events) => events,
        Err(error) => return records.fail("events", &error.to_string()),
    };
    // The page may have changed before the stream was open.
    if let Some(notice) = attribute(&page, "data-notice") {
        records.time("notice", 200, browser.get(&notice)).await;
    }
    records
        .time(changed, 200, browser.get_compressed(&part))
        .await;
    while !is_over.load(Ordering::SeqCst) {
        let data = match timeout(LOAD_PAUSE, events.next()).await {
            Ok(Ok(Some(data))) => data,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return records.fail("events", &error.to_string()),
            // A second without a change.
            Err(_) => continue,
        };
        records.event();
        let tag: String = form_urlencoded::byte_serialize(data.as_bytes()).collect();
        // As the script does.
        let address = match part.split_once('?') {
            Some(_) => format!("{part}&event={tag}"),
            None => part.clone(),
        };
        let loading = browser.get_compressed(&address);
        records.time(changed, 200, loading).await;
        sleep(LOAD_PAUSE).await;
        events.skip();
    }
}
