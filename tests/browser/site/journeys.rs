//! What each role does, from the first page to the last, with and without JavaScript.

use super::support::{archive, files_of_sum};
use super::{Stage, with_site};
use crate::browser::{Options, Window};
use serde_json::json;
use std::io::Write;

const WITHOUT_SCRIPT: Options = Options {
    script: false,
    dark: false,
    size: (1440, 1000),
};
const RIGHT: &str = "a, b = map(int, input().split())\nprint(a + b)\n";
const WRONG: &str = "print(3)\n";

#[test]
fn each_role_reaches_its_goal_with_script() {
    with_site(async |stage| roles(stage, Options::default()).await);
}

#[test]
fn each_role_reaches_its_goal_without_script() {
    with_site(async |stage| roles(stage, WITHOUT_SCRIPT).await);
}

async fn roles(stage: &Stage, options: Options) {
    let admin = stage.window(options).await;
    let teacher = stage.window(options).await;
    administrator_names_a_teacher(stage, &admin, &teacher).await;
    let link = teacher_makes_a_contest(&teacher, options.script).await;
    let contestant = stage.window(options).await;
    contestant_takes_part(&contestant, &link, options.script).await;
    let moderator = stage.window(options).await;
    moderator_sees_submissions(&teacher, &moderator, options.script).await;
    let guest = stage.window(options).await;
    guest_sees_public_pages(&admin, &guest).await;
    for window in [admin, teacher, contestant, moderator, guest] {
        window.end().await;
    }
}

async fn administrator_names_a_teacher(stage: &Stage, admin: &Window, teacher: &Window) {
    admin
        .sign_up(stage.setup(), "ada", "Create the first administrator")
        .await;
    teacher.sign_up("/sign-up", "tom", "Sign up").await;
    assert_eq!(teacher.count("a[href='/problems/new']").await, 0);
    admin.open("/users").await;
    admin.follow("tom").await;
    admin.select("[name=role]", "teacher").await;
    admin.click("form:has([name=role]) button").await;
    admin.element("a[href='/users/import']").await;
    assert!(admin.text("tbody").await.contains("Teacher"));
}

/// Returns the path of the entry link.
async fn teacher_makes_a_contest(teacher: &Window, script: bool) -> String {
    let mut package = tempfile::Builder::new()
        .suffix(".zip")
        .tempfile()
        .expect("a file");
    package
        .write_all(&archive(&files_of_sum()))
        .expect("an archive");
    teacher.open("/problems").await;
    teacher.follow("Add a problem").await;
    let file = teacher.element("[name=file]").await;
    let path = package.path().to_str().expect("a path in UTF-8");
    file.send_keys(path).await.expect("a chosen file");
    teacher.press_button("Add the problem").await;
    teacher.shows("h1", "Sum").await;
    assert!(teacher.count("math").await >= 2, "formulas are rendered");

    teacher.open("/contests").await;
    teacher.follow("Add a contest").await;
    teacher.fill("[name=name]", "Winter Cup").await;
    teacher.fill("[name=round_name]", "Day 1").await;
    teacher.click("[name=problems]").await;
    teacher.press_button("Add the contest").await;
    teacher.follow("Members").await;
    teacher.press_button("Create a new link").await;
    teacher.element("#entry-link").await;
    if script {
        let is_address =
            "return document.querySelector('#entry-link').innerText.startsWith('http')";
        teacher.eventually(is_address).await;
    }
    let link = teacher.text("#entry-link").await;
    let (_, token) = link.split_once("/enter/").expect("a link");
    format!("/enter/{token}")
}

async fn contestant_takes_part(contestant: &Window, link: &str, script: bool) {
    contestant.open(link).await;
    contestant.shows("h1", "Winter Cup").await;
    contestant.sign_up("/sign-up", "zoe", "Sign up").await;
    contestant.open(link).await;
    contestant.press_button("Enter the contest").await;
    contestant.element(".round").await;
    contestant.click(".problems a").await;
    for source in [WRONG, RIGHT] {
        contestant.open("/round-problems/1").await;
        contestant.follow("Submit").await;
        if script {
            // Without a script, the server rejects a source without a language.
            contestant.element("#runtime:required").await;
        }
        contestant.select("[name=language]", "python3").await;
        contestant.set_code(source).await;
        contestant.press_button("Submit").await;
        let expected = match source == RIGHT {
            true => "Accepted",
            false => "Wrong answer",
        };
        wait_for_result(contestant, expected, script).await;
        contestant.element("table tbody tr").await;
    }
    contestant.follow("Contests").await;
    contestant.follow("Winter Cup").await;
    contestant.follow("Ranking").await;
    assert!(contestant.text("#ranking").await.contains("Zoe Example"));
}

/// Waits for the verdict. With a script, the page must not be loaded again.
async fn wait_for_result(window: &Window, expected: &str, script: bool) {
    if script {
        // Otherwise, the page with the form, which the browser is still leaving, would receive the
        // marker.
        window.element("#result").await;
        window.script("window.marker = 1", json!([])).await;
        let shown = "return document.querySelector('#result')?.textContent.includes(arguments[0])";
        window.eventually_with(shown, json!([expected])).await;
        let marker = window.script("return window.marker", json!([])).await;
        assert_eq!(marker, json!(1), "the page was loaded again");
    } else {
        while !window.text("#result").await.contains(expected) {
            window.client.refresh().await.expect("a page");
        }
    }
}

async fn moderator_sees_submissions(teacher: &Window, moderator: &Window, script: bool) {
    moderator.sign_up("/sign-up", "max", "Sign up").await;
    teacher.open("/contests/1/members").await;
    teacher.fill("[name=login]", "max").await;
    teacher.select("[name=role]", "moderator").await;
    teacher.press_button("Save").await;
    // The list has the owner, the contestant and the moderator.
    teacher.element("tbody tr:nth-child(3)").await;
    moderator.open("/contests/1").await;
    moderator.follow("Submissions").await;
    moderator.open("/contests/1/submissions").await;
    assert_eq!(moderator.count("tbody tr").await, 2);
    moderator.follow("#2").await;
    assert!(moderator.text("main").await.contains("hidden-test"));
    moderator.press_button("Judge again").await;
    wait_for_result(moderator, "Accepted", script).await;
    // Only owners can appoint owners.
    moderator.open("/contests/1/members").await;
    assert_eq!(moderator.count("form [name=login]").await, 1);
}

async fn guest_sees_public_pages(admin: &Window, guest: &Window) {
    guest.open("/contests").await;
    assert_eq!(guest.count("tbody tr").await, 0, "the contest is private");
    admin.open("/contests/1/edit").await;
    admin.select("[name=visibility]", "public").await;
    admin.press_button("Save").await;
    admin.element(".round").await;
    guest.open("/").await;
    guest.follow("Contests").await;
    guest.follow("Winter Cup").await;
    guest.follow("Ranking").await;
    assert!(guest.text("#ranking").await.contains("100"));
    guest.follow("Problems").await;
    assert_eq!(guest.count("a[href$=submit]").await, 0);
}
