//! The part of `make demo` that shows the site: a client starts a site with its example contest,
//! signs in, submits examples, waits for the verdicts and compares them with the expected ones.
//!
//! `site-demo [--keep] [options of millibox-site]`. With `--keep`, the site serves until it is
//! interrupted; otherwise, it stops after the last verdict.

#![allow(clippy::print_stdout, reason = "the program is a demonstration")]

use millibox_site_client::{Answer, Browser, Result, Site, built_site};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A submission: the problem's label, the file, and the words of the expected verdict.
type Example = (&'static str, &'static str, &'static str);

const EXAMPLES: [Example; 8] = [
    ("A", "stalls/prog/stalls.cpp", "Accepted"),
    ("A", "stalls/prog/60_points/neighbours.cpp", "60 / 100"),
    ("B", "heaps/submissions/accepted/sums.cpp", "Accepted"),
    ("C", "causeway/submissions/accepted/sweep.cpp", "Accepted"),
    (
        "C",
        "causeway/submissions/time_limit_exceeded/fork_bomb.c",
        "Time limit",
    ),
    (
        "C",
        "causeway/submissions/wrong_answer/looks_for_answers.cpp",
        "Wrong answer",
    ),
    ("D", "leak/submissions/accepted/halve.c", "Accepted"),
    (
        "D",
        "leak/submissions/run_time_error/exits_with_42.cpp",
        "Run-time error",
    ),
];

/// A verdict takes a few seconds; only a hang takes this long.
const TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

fn main() -> Result<()> {
    let mut options: Vec<String> = std::env::args().skip(1).collect();
    let keep = options.iter().any(|option| option == "--keep");
    options.retain(|option| option != "--keep");
    options.push("--demo".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(show(&options, keep))
}

async fn show(options: &[String], keep: bool) -> Result<()> {
    let site = start(options)?;
    println!("The site is {}", site.url);
    for line in &site.lines {
        println!("  {line}");
    }
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let begin = Instant::now();
    let mut visitor = Browser::new(&site.url);
    visitor
        .sign_up("/sign-up", "visitor", "a demonstration")
        .await?;
    let contests = visitor.get("/contests").await?.expect(200)?;
    let contest = contests.number_after("href=\"/contests/")?;
    let contest = visitor
        .get(&format!("/contests/{contest}"))
        .await?
        .expect(200)?;
    println!("\nA new user signs up and submits to the example contest:\n");
    let mut sent = Vec::new();
    for (label, file, expected) in EXAMPLES {
        let problem = place(&contest, label)?;
        let content = std::fs::read(examples.join(file))?;
        let name = file.rsplit('/').next().unwrap_or(file);
        let path = format!("/round-problems/{problem}/submit");
        let answer = visitor.upload(&path, &[("language", "")], (name, &content));
        sent.push((label, file, expected, answer.await?.expect(303)?.id()?));
    }
    let (mut wrong, mut first) = (0, None);
    for (label, file, expected, id) in sent {
        let found = verdict(&mut visitor, id, begin + TIMEOUT).await?;
        first.get_or_insert_with(|| begin.elapsed());
        let is_expected = found.contains(expected);
        wrong += usize::from(!is_expected);
        let mark = if is_expected {
            "as expected"
        } else {
            "NOT as expected"
        };
        println!("  {label}  {file:<58} {expected:<14} {mark}");
    }
    println!(
        "\nAfter the sign-up, the first verdict came in {:.1} s, all {} in {:.1} s.",
        first.unwrap_or_default().as_secs_f64(),
        EXAMPLES.len(),
        begin.elapsed().as_secs_f64()
    );
    if wrong > 0 {
        return Err(format!("{wrong} verdicts are not as expected").into());
    }
    if keep {
        println!(
            "\nThe site serves on {} until Ctrl-C. All data is removed then.",
            site.url
        );
        tokio::signal::ctrl_c().await?;
    }
    site.end()
}

/// A site with the best backend, or with rlimit if that is the only one and none was chosen.
fn start(options: &[String]) -> Result<Site> {
    let program = built_site()?;
    if options.iter().any(|option| option.starts_with("--backend")) {
        return Site::start(&program, options, Stdio::inherit());
    }
    Site::start(&program, options, Stdio::null()).or_else(|_| {
        println!("Note: the user of the site has no cgroups, so the site uses --backend rlimit.");
        let mut options = options.to_vec();
        options.extend(["--backend", "rlimit"].map(str::to_owned));
        Site::start(&program, &options, Stdio::inherit())
    })
}

/// The number of a problem of the contest.
fn place(contest: &Answer, label: &str) -> Result<i64> {
    let end = format!("\"><b>{label}</b>");
    let before = contest.body.split(&end).next().unwrap_or_default();
    let number = before.rsplit("/round-problems/").next();
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("the contest has no problem {label}").into())
}

/// The part of a submission's page with its verdict and its points.
async fn verdict(browser: &mut Browser, id: i64, limit: Instant) -> Result<String> {
    loop {
        let page = browser
            .get(&format!("/submissions/{id}"))
            .await?
            .expect(200)?;
        let facts = page.body.split("<dl").nth(1).unwrap_or_default();
        let facts = facts.split("</dl>").next().unwrap_or_default();
        let is_pending = ["Waiting", "Judging", "Initial tests:"];
        if !is_pending.iter().any(|word| facts.contains(word)) {
            return Ok(facts.to_owned());
        }
        if Instant::now() > limit {
            return Err(format!("the submission {id} is not judged: {facts}").into());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
