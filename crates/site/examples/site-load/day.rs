//! The day of a contest: pupils enter with the passwords on their slips, wait for the start,
//! submit, ask, follow the ranking, which is frozen, and are stopped by the end. If wanted, the
//! staff rejudges an older contest beside it.

use crate::report::{Records, milliseconds};
use crate::{attribute, package, source, wait_until_judged};
use millibox_site_client::{Answer, Browser, Result, Site};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

/// Submissions of each person during the contest.
const SUBMISSIONS: usize = 4;
/// Each third person asks a question.
const ASKERS: usize = 3;
/// How long a page may open after the start before it counts as not opened.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// The delay within which everyone must have the problems.
const WANTED_DELAY: Duration = Duration::from_secs(2);
const JUDGE_TIMEOUT: Duration = Duration::from_secs(600);
/// How often the staff looks for questions and at a rejudging.
const STAFF_PAUSE: Duration = Duration::from_secs(2);

/// The size of the contest.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub people: usize,
    pub minutes: f64,
    /// Submissions of the older contest, which are judged again; 0 for none.
    pub rejudged: usize,
}

/// The times of the contest on this machine's clock.
#[derive(Debug, Clone, Copy)]
struct Times {
    entry: Instant,
    begin: Instant,
    end: Instant,
}

/// The measurements of all pupils.
#[derive(Debug, Default)]
struct Found {
    /// From the start to the page with the problems; `None` if the page did not open.
    delays: Vec<Option<Duration>>,
    /// From the submission to its verdict, and whether a rejudging ran.
    verdicts: Vec<(Duration, bool)>,
    submissions: Vec<i64>,
    unjudged: usize,
    questions: Vec<String>,
    /// Submissions after the end, which the site must reject.
    late_accepted: usize,
}

/// What all people share.
struct Shared {
    contest: i64,
    problem: i64,
    times: Times,
    records: Arc<Records>,
    found: Mutex<Found>,
    is_rejudging: AtomicBool,
    is_over: AtomicBool,
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Found)) {
        change(&mut self.found.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A number from 0 to 1 that is unrelated to its argument, and the same in each run.
fn share(number: usize) -> f64 {
    (number * 7919 % 10_007) as f64 / 10_007.0
}

/// A point in time for a form, in UTC.
fn form_time(after: Duration) -> Result<String> {
    let time = jiff::Timestamp::now().checked_add(after)?;
    Ok(time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

/// Adds a class with generated passwords. Returns the logins and passwords on the slips.
async fn add_class(admin: &mut Browser, people: usize) -> Result<(String, Vec<(String, String)>)> {
    let class = admin.post("/classes", &[("name", "Load")]).await?;
    let class = class.expect(303)?.id()?.to_string();
    let path = format!("/classes/{class}/import");
    let mut slips = Vec::new();
    let logins: Vec<String> = (0..people).map(|number| format!("pupil{number}")).collect();
    for part in logins.chunks(100) {
        let lines: Vec<String> = part
            .iter()
            .map(|login| format!("{login},Pupil {login}\n"))
            .collect();
        let list = format!("login,name\n{}", lines.concat());
        let mut fields = vec![("list", list.as_str())];
        let preview = admin.upload(&path, &fields, ("", b"")).await?.expect(200)?;
        let plan = attribute(&preview, "name=\"plan\" value").unwrap_or_default();
        fields = vec![
            ("accounts", list.as_str()),
            ("plan", plan.as_str()),
            ("issue", "passwords"),
            ("format", "csv"),
        ];
        let path = format!("{path}/apply");
        let file = admin.upload(&path, &fields, ("", b"")).await?.expect(200)?;
        for line in file.body.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            if let [login, _, password, ..] = cells[..] {
                slips.push((login.to_owned(), password.to_owned()));
            }
        }
    }
    if slips.len() != people {
        return Err(format!("{} slips for {people} people", slips.len()).into());
    }
    Ok((class, slips))
}

/// Adds a contest with one round and one problem. Returns its number and that of the problem.
async fn add_contest(admin: &mut Browser, fields: &[(&str, &str)]) -> Result<(i64, i64)> {
    let id = admin
        .post("/contests/new", fields)
        .await?
        .expect(303)?
        .id()?;
    let page = admin.get(&format!("/contests/{id}")).await?.expect(200)?;
    Ok((id, page.number_after("/round-problems/")?))
}

/// An older contest with judged submissions.
async fn add_old(
    admin: &mut Browser,
    problem: &str,
    class: &str,
    slips: &[(String, String)],
    count: usize,
) -> Result<i64> {
    let fields = [
        ("name", "Old"),
        ("visibility", "private"),
        ("round_name", "Old round"),
        ("mode", "points"),
        ("problems", problem),
        ("classes", class),
    ];
    let (contest, problem) = add_contest(admin, &fields).await?;
    let mut sent = Vec::new();
    for (number, (login, password)) in slips.iter().enumerate() {
        let own = count / slips.len() + usize::from(number < count % slips.len());
        if own == 0 {
            break;
        }
        let mut browser = admin.twin();
        browser.sign_in(login, password).await?;
        for attempt in 0..own {
            let source = source(login, 100 + attempt);
            let path = format!("/round-problems/{problem}/submit");
            let answer = browser.upload(&path, &[("language", "")], ("a.py", &source));
            sent.push(answer.await?.expect(303)?.id()?);
        }
    }
    let old = crate::Contest {
        id: contest,
        problem,
    };
    let lost = wait_until_judged(admin, &old, &sent).await?;
    match lost {
        0 => Ok(contest),
        lost => Err(format!("{lost} submissions of the older contest are lost").into()),
    }
}

/// Holds the contest. Returns its figures.
pub async fn run(site: &Site, size: Size, records: &Arc<Records>) -> Result<Value> {
    let mut admin = Browser::new(&site.url);
    admin
        .sign_up(&site.setup()?, "admin", crate::PASSWORD)
        .await?;
    let (fields, package) = ([("visibility", "private")], package()?);
    let added = admin.upload("/problems/new", &fields, ("sum.zip", &package));
    let problem = added.await?.expect(303)?.id()?.to_string();
    eprintln!("load: creating {} pupils with slips", size.people);
    let (class, slips) = add_class(&mut admin, size.people).await?;
    let old = match size.rejudged {
        0 => None,
        count => {
            eprintln!("load: judging {count} submissions of an older contest");
            Some(add_old(&mut admin, &problem, &class, &slips, count).await?)
        }
    };
    let all = Duration::from_secs_f64(size.minutes * 60.0);
    // A fifth of the time is for the entry. The ranking is frozen for the last fifth of the round.
    let (entry, round) = (all / 5, all * 4 / 5);
    let entry_begin = Instant::now();
    let begins = form_time(entry)?;
    let times = Times {
        entry: entry_begin,
        begin: entry_begin + entry,
        end: entry_begin + entry + round,
    };
    let fields = [
        ("name", "Day"),
        ("visibility", "private"),
        ("round_name", "Round"),
        ("begins", begins.as_str()),
        ("ends", &form_time(all)?),
        ("mode", "icpc"),
        ("problems", &problem),
        ("classes", &class),
    ];
    let (contest, problem) = add_contest(&mut admin, &fields).await?;
    let page = admin
        .get(&format!("/contests/{contest}"))
        .await?
        .expect(200)?;
    let number = page.number_after("/rounds/")?;
    let rules = [
        ("mode", "icpc"),
        ("penalty_minutes", "20"),
        ("window_minutes", ""),
        ("freeze_at", &form_time(entry + round * 4 / 5)?),
        ("thaw_at", ""),
    ];
    let path = format!("/rounds/{number}");
    admin.post(&path, &rules).await?.expect(303)?;
    let shared = Arc::new(Shared {
        contest,
        problem,
        times,
        records: records.clone(),
        found: Mutex::default(),
        is_rejudging: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
    });
    let mut people = JoinSet::new();
    for (number, (login, password)) in slips.into_iter().enumerate() {
        let (browser, shared) = (Browser::new(&site.url), shared.clone());
        let at = times.entry + entry.mul_f64(0.8 * number as f64 / size.people as f64);
        people.spawn(async move {
            sleep_until(at.into()).await;
            take_part(browser, number, &login, &password, &shared).await;
        });
    }
    let staff = tokio::spawn(answer_questions(admin.twin(), shared.clone()));
    let rejudging = old.map(|old| tokio::spawn(rejudge(admin.twin(), old, shared.clone())));
    people.join_all().await;
    shared.is_over.store(true, Ordering::SeqCst);
    let _ = staff.await;
    if let Some(rejudging) = rejudging {
        rejudging.await??;
    }
    figures(&mut admin, &shared).await
}

/// A pupil from the slip to the end of the contest.
async fn take_part(
    mut browser: Browser,
    number: usize,
    login: &str,
    password: &str,
    shared: &Arc<Shared>,
) {
    let Shared { records, times, .. } = &**shared;
    let contest = format!("/contests/{}", shared.contest);
    records
        .time("sign-in form", 200, browser.get("/sign-in"))
        .await;
    let fields = [("login", login), ("password", password)];
    records
        .time("sign-in", 303, browser.post("/sign-in", &fields))
        .await;
    let page = records.time("countdown", 200, browser.get(&contest)).await;
    let delay = wait_for_start(&mut browser, page, &contest, shared).await;
    shared.change(|found| found.delays.push(delay));
    let path = format!("/round-problems/{}", shared.problem);
    records.time("problem", 200, browser.get(&path)).await;
    let mut plan: Vec<(f64, usize)> = (0..SUBMISSIONS)
        .map(|attempt| (share(number * SUBMISSIONS + attempt + 1), attempt))
        .collect();
    plan.sort_by(|one, two| one.0.total_cmp(&two.0));
    let round = times.end.duration_since(times.begin);
    for (part, attempt) in plan {
        // The last submissions have time for their verdicts.
        sleep_until((times.begin + round.mul_f64(0.02 + 0.9 * part)).into()).await;
        if attempt == 0 && number.is_multiple_of(ASKERS) {
            ask(&mut browser, login, shared).await;
        }
        submit(&mut browser, login, attempt, shared).await;
        let ranking = format!("{contest}/ranking");
        records
            .time("ranking", 200, browser.get_compressed(&ranking))
            .await;
    }
    sleep_until((times.end + Duration::from_secs(1)).into()).await;
    let late = source(login, SUBMISSIONS);
    let path = format!("{path}/submit");
    let upload = browser.upload(&path, &[("language", "")], ("a.py", &late));
    if upload.await.is_ok_and(|answer| answer.status == 303) {
        shared.change(|found| found.late_accepted += 1);
    }
    records
        .time("contest, over", 200, browser.get(&contest))
        .await;
}

/// Follows the page with the countdown until it has the problems.
async fn wait_for_start(
    browser: &mut Browser,
    page: Option<Answer>,
    contest: &str,
    shared: &Shared,
) -> Option<Duration> {
    let begin = shared.times.begin;
    let live = page.and_then(|page| attribute(&page, "name=\"live\" content"));
    let mut events = match live {
        Some(live) => browser.twin().events(&live).await.ok(),
        None => None,
    };
    loop {
        let left = (begin + MAX_DELAY).checked_duration_since(Instant::now())?;
        // A stream ends after some time, and the script opens it again.
        let opened = match &mut events {
            Some(events) => timeout(left, events.next()).await.ok()?.ok().flatten(),
            None => None,
        };
        if opened.is_none() {
            sleep(Duration::from_millis(500)).await;
        }
        let loading = browser.get(contest);
        let page = shared.records.time("contest, opened", 200, loading).await?;
        if page.body.contains("/round-problems/") {
            return Some(Instant::now().saturating_duration_since(begin));
        }
        if opened.is_none() {
            let live = attribute(&page, "name=\"live\" content");
            events = match live {
                Some(live) => browser.twin().events(&live).await.ok(),
                None => None,
            };
        }
    }
}

async fn submit(browser: &mut Browser, login: &str, attempt: usize, shared: &Shared) {
    let records = &shared.records;
    let path = format!("/round-problems/{}/submit", shared.problem);
    records.time("submit form", 200, browser.get(&path)).await;
    // Every second submission is wrong.
    let text = match attempt % 2 {
        0 => source(login, attempt),
        _ => format!("# {login} {attempt}\nprint(3)\n").into_bytes(),
    };
    let begin = Instant::now();
    let was_rejudging = shared.is_rejudging.load(Ordering::SeqCst);
    let sending = browser.upload(&path, &[("language", "")], ("a.py", &text));
    let Some(answer) = records.time("submit", 303, sending).await else {
        return;
    };
    let Ok(id) = answer.id() else { return };
    shared.change(|found| found.submissions.push(id));
    match verdict(browser, id, records).await {
        Some(at) => {
            let passed = at.duration_since(begin);
            let is_rejudging = was_rejudging && shared.is_rejudging.load(Ordering::SeqCst);
            // A verdict that was given partly beside a rejudging belongs to neither.
            if is_rejudging == was_rejudging {
                shared.change(|found| found.verdicts.push((passed, is_rejudging)));
            }
        }
        None => shared.change(|found| found.unjudged += 1),
    }
}

/// Follows the page of a submission until it has a verdict. Returns the time of the verdict.
async fn verdict(browser: &mut Browser, id: i64, records: &Records) -> Option<Instant> {
    let path = format!("/submissions/{id}");
    let limit = Instant::now() + JUDGE_TIMEOUT;
    let mut events = None;
    while Instant::now() < limit {
        let page = records.time("submission", 200, browser.get(&path)).await?;
        let shown = page.body.split("id=\"result\"").nth(1);
        let shown = shown.and_then(|rest| rest.split("</dd>").next());
        let is_final = shown.is_some_and(|shown| {
            let has_verdict = shown.contains("Accepted") || shown.contains("Wrong answer");
            has_verdict && !shown.contains("Initial")
        });
        if is_final {
            return Some(Instant::now());
        }
        if events.is_none() {
            let live = attribute(&page, "name=\"live\" content")?;
            events = browser.twin().events(&live).await.ok();
            // The page may have changed before the stream was open.
            continue;
        }
        if let Some(stream) = &mut events {
            match timeout(Duration::from_secs(5), stream.next()).await {
                Ok(Ok(Some(_))) => records.event(),
                Ok(_) => events = None,
                Err(_) => {}
            }
        }
    }
    None
}

async fn ask(browser: &mut Browser, login: &str, shared: &Shared) {
    let path = format!("/contests/{}/clarifications", shared.contest);
    let text = format!("question of {login}");
    let fields = [("problem", ""), ("text", text.as_str())];
    let asking = browser.post(&path, &fields);
    if shared.records.time("question", 303, asking).await.is_some() {
        shared.change(|found| found.questions.push(text.clone()));
    }
}

/// The staff answers questions until the contest is over.
async fn answer_questions(mut admin: Browser, shared: Arc<Shared>) {
    let path = format!(
        "/contests/{}/clarifications?show=unanswered",
        shared.contest
    );
    while !shared.is_over.load(Ordering::SeqCst) {
        let loading = admin.get(&path);
        if let Some(page) = shared.records.time("questions", 200, loading).await
            && let Ok(id) = page.number_after("href=\"/clarifications/")
        {
            let fields = [
                ("answered", ""),
                ("answer", "No comment"),
                ("audience", "author"),
            ];
            let path = format!("/clarifications/{id}");
            let answering = admin.post(&path, &fields);
            shared.records.time("answer", 303, answering).await;
        } else {
            sleep(STAFF_PAUSE).await;
        }
    }
}

/// Judges an older contest again, from the middle of the round on, until the end of the round.
async fn rejudge(mut admin: Browser, old: i64, shared: Arc<Shared>) -> Result<()> {
    let times = shared.times;
    let middle = times.begin + times.end.duration_since(times.begin) / 2;
    sleep_until(middle.into()).await;
    let old = old.to_string();
    while Instant::now() < times.end {
        let fields = [("contest", old.as_str())];
        let set = admin.post("/rejudgings/new", &fields).await?.expect(303)?;
        let path = set.location.unwrap_or_default();
        shared.is_rejudging.store(true, Ordering::SeqCst);
        let apply = format!("action=\"{path}/apply\"");
        while Instant::now() < times.end {
            let page = admin.get(&path).await?.expect(200)?;
            if page.body.contains(&apply) {
                break;
            }
            sleep(STAFF_PAUSE).await;
        }
        shared.is_rejudging.store(false, Ordering::SeqCst);
        admin.post(&format!("{path}/drop"), &[]).await?;
    }
    Ok(())
}

/// The numbers of all submissions, and of questions, that the staff sees.
async fn figures(admin: &mut Browser, shared: &Shared) -> Result<Value> {
    let (sent, questions) = {
        let found = shared.found.lock().unwrap_or_else(PoisonError::into_inner);
        (found.submissions.clone(), found.questions.clone())
    };
    let contest = crate::Contest {
        id: shared.contest,
        problem: shared.problem,
    };
    let listed = crate::listed(admin, &contest).await?;
    let lost = sent.iter().filter(|id| !listed.contains(id)).count();
    // All questions of up to 300 people fit into one page of the list.
    let path = format!("/contests/{}/clarifications", shared.contest);
    let page = admin.get(&path).await?.expect(200)?;
    let missing = questions
        .iter()
        .filter(|text| !page.body.contains(*text))
        .count();
    let found = shared.found.lock().unwrap_or_else(PoisonError::into_inner);
    let mut delays: Vec<f64> = found
        .delays
        .iter()
        .flatten()
        .map(|one| milliseconds(*one))
        .collect();
    delays.sort_by(f64::total_cmp);
    let in_time = |one: &&Option<Duration>| one.is_some_and(|delay| delay <= WANTED_DELAY);
    let verdicts = |with: bool| {
        let mut all: Vec<f64> = found
            .verdicts
            .iter()
            .filter(|(_, is_rejudging)| *is_rejudging == with)
            .map(|(passed, _)| milliseconds(*passed))
            .collect();
        all.sort_by(f64::total_cmp);
        json!({
            "count": all.len(), "p50_ms": crate::report::quantile(&all, 0.5),
            "p99_ms": crate::report::quantile(&all, 0.99),
        })
    };
    Ok(json!({
        "people": found.delays.len(),
        "start": {
            "in_time": found.delays.iter().filter(in_time).count(),
            "not_opened": found.delays.iter().filter(|one| one.is_none()).count(),
            "p50_ms": crate::report::quantile(&delays, 0.5),
            "max_ms": crate::report::quantile(&delays, 1.0),
        },
        "submissions": {
            "accepted": sent.len(), "lost": lost, "unjudged": found.unjudged,
            "accepted_after_the_end": found.late_accepted,
        },
        "questions": { "accepted": questions.len(), "lost": missing, },
        "verdicts": verdicts(false), "verdicts_beside_rejudging": verdicts(true),
    }))
}
