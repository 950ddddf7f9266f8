//! A contestant works in German and in Polish, with and without JavaScript.

use super::support::contest::{contestant, first_admin, make_contest};
use super::{Stage, with_site};
use crate::browser::{Options, Window, axe};
use serde_json::json;

const RIGHT: &str = "a, b = map(int, input().split())\nprint(a + b)\n";

/// What a contestant reads in a language.
struct Words {
    tag: &'static str,
    contests: &'static str,
    submit: &'static str,
    accepted: &'static str,
    ranking: &'static str,
}

const LANGUAGES: [Words; 2] = [
    Words {
        tag: "de",
        contests: "Wettbewerbe",
        submit: "Einsenden",
        accepted: "Richtig",
        ranking: "Rangliste",
    },
    Words {
        tag: "pl",
        contests: "Konkursy",
        submit: "Wyślij",
        accepted: "Zaakceptowane",
        ranking: "Ranking",
    },
];

#[test]
fn contestant_works_in_each_language_with_script() {
    with_site(async |stage| works(stage, Options::default()).await);
}

#[test]
fn contestant_works_in_each_language_without_script() {
    let options = Options {
        script: false,
        ..Options::default()
    };
    with_site(async |stage| works(stage, options).await);
}

async fn works(stage: &Stage, options: Options) {
    let mut admin = first_admin(&stage.site);
    let contest = make_contest(&mut admin);
    contestant(&stage.site, &mut admin, &contest, "bob");
    let window = stage.window(options).await;
    window.sign_in("bob").await;
    let problem = format!("/round-problems/{}", contest.problem);
    for words in &LANGUAGES {
        window.open(&problem).await;
        window
            .click(&format!("footer button[value={}]", words.tag))
            .await;
        window.element(&format!("html[lang={}]", words.tag)).await;
        assert_eq!(window.path().await, problem, "the choice leads back");
        window.follow(words.submit).await;
        window.select("[name=language]", "python3").await;
        window.set_code(RIGHT).await;
        window.press_button(words.submit).await;
        window.element("#result").await;
        while !window.text("#result").await.contains(words.accepted) {
            window.client.refresh().await.expect("a page");
        }
        if options.script {
            check(&window, contest.id, &problem).await;
        }
        window.follow(words.contests).await;
        window.open(&format!("/contests/{}", contest.id)).await;
        window.follow(words.ranking).await;
        assert!(window.text("#ranking").await.contains("bob"));
    }
    window.end().await;
}

/// Checks pages of a contestant with axe-core, on a desktop.
async fn check(window: &Window, contest: i64, problem: &str) {
    let Some(axe) = axe() else { return };
    let contest = format!("/contests/{contest}");
    let ranking = format!("{contest}/ranking");
    let submit = format!("{problem}/submit");
    let pages = [
        "/submissions/1",
        &contest,
        &ranking,
        problem,
        &submit,
        "/account",
    ];
    for path in pages {
        window.open(path).await;
        window.check_with_axe(&axe, path).await;
        let wider = "return document.documentElement.scrollWidth - innerWidth";
        let wider = window.script(wider, json!([])).await;
        assert_eq!(wider, json!(0), "{path} is wider than the window");
    }
}
