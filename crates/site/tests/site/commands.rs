//! Subcommands that are executed while the site runs, and the end of the site.

use super::support::{Browser, Site, postgres};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{HALF, RIGHT, contestant, first_admin, make_contest, submit, with_each};

/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// An empty database of the kind that the site uses.
fn empty_database(site: &Site) -> Option<String> {
    site.database()
        .map(|_| postgres::database().expect("a second database"))
}

#[test]
fn backup_of_a_running_site_is_restored() {
    with_each(|mut site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let page = format!("/submissions/{}", submit(&mut bob, &contest, RIGHT).id());
        admin.wait_for(&page, "hidden-test");
        site.run(&["backup"], &["copy"]).output();
        // Later changes are not in the backup.
        let later = format!("/submissions/{}", submit(&mut bob, &contest, HALF).id());
        let refused = site.run(&["backup"], &["copy"]);
        assert!(refused.code != Some(0), "{refused:#?}");

        let database = empty_database(&site);
        let database = database.as_deref();
        let refused = site.run_for("data", database, &["restore"], &["copy"]);
        assert!(refused.code != Some(0), "{refused:#?}");
        site.run_for("restored", database, &["restore"], &["copy"])
            .output();
        let again = site.run_for("third", database, &["restore"], &["copy"]);
        assert_eq!(
            again.code == Some(0),
            database.is_none(),
            "a database with tables is not overwritten: {again:#?}"
        );
        site.restart_with("restored", database.map(str::to_owned));
        let mut admin = admin.moved(&site);
        assert_eq!(site.setup, None);
        assert!(admin.get(&page).body.contains("hidden-test"));
        assert_eq!(admin.get(&later).status, 404);
        assert_eq!(admin.get("/problems/1/package").status, 200);
    });
}

/// The files and directories in and below a directory that other users can open.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut open = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().expect("a file");
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        if !metadata.is_symlink() && metadata.mode() & 0o077 != 0 {
            open.push(path);
        }
    }
    open
}

#[test]
fn data_backups_and_exports_are_closed_to_other_users() {
    let mut site = Site::start(None);
    let mut admin = first_admin(&site);
    let contest = make_contest(&mut admin);
    let id = contest.id.to_string();
    site.run(&["backup"], &["copy"]).output();
    site.run(&["export"], &[&id, "contest.jsonl"]).output();
    site.run_for("restored", None, &["restore"], &["copy"])
        .output();
    for name in ["data", "copy", "contest.jsonl", "restored"] {
        let open = open_to_others(&site.path(name));
        assert!(open.is_empty(), "{open:?}");
    }
    // A directory of an earlier version is closed at the next start.
    site.kill();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(site.data(), mode).expect("an open directory");
    site.restart();
    let mode = site.data().metadata().expect("a directory").mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn damaged_backup_is_refused() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    make_contest(&mut admin);
    site.run(&["backup"], &["copy"]).output();
    let blobs = site.path("copy/blobs");
    let blob = std::fs::read_dir(blobs).unwrap().next().unwrap().unwrap();
    let content = std::fs::read(blob.path()).unwrap();
    let damages: [&dyn Fn(); 3] = [
        &|| std::fs::write(blob.path(), b"damage").unwrap(),
        &|| std::fs::remove_file(blob.path()).unwrap(),
        &|| std::fs::write(site.path("copy/database"), b"damage").unwrap(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        damage();
        let target = format!("restored{number}");
        let refused = site.run_for(&target, None, &["restore"], &["copy"]);
        assert!(refused.code != Some(0), "{number}: {refused:#?}");
        assert!(!site.path(&target).join("site.db").exists(), "{number}");
        std::fs::write(blob.path(), &content).unwrap();
    }
}

#[test]
fn users_are_changed_on_the_command_line() {
    with_each(|site| {
        let mut ada = first_admin(&site);
        let password = site.run(&["user", "add"], &["bob", "--name", "Bob B."]);
        let password = password.output();
        let mut bob = Browser::new(&site);
        let sign_in = |browser: &mut Browser, password: &str| {
            let fields = [("login", "bob"), ("password", password.trim())];
            browser.post("/sign-in", &fields).status
        };
        assert_eq!(sign_in(&mut bob, &password), 303);
        assert_eq!(bob.get("/users").status, 404);
        site.run(&["user", "set-role"], &["bob", "admin"]).output();
        assert_eq!(bob.get("/users").status, 200);
        let new = site.run(&["user", "set-password"], &["bob"]).output();
        assert_eq!(bob.get("/users").status, 404, "the session has ended");
        assert_eq!(sign_in(&mut bob, &password), 422);
        assert_eq!(sign_in(&mut bob, &new), 303);

        let link = site.run(&["user", "reset-link"], &["BOB"]).output();
        let link = link.trim();
        let mut other = Browser::new(&site);
        assert!(other.get(link).body.contains("bob"));
        let short = [("new", "short")];
        assert_eq!(other.post(link, &short).status, 422);
        let chosen = [("new", "battery staple")];
        assert_eq!(other.post(link, &chosen).status, 303);
        assert_eq!(other.get("/users").status, 200);
        assert_eq!(bob.get("/users").status, 404, "the session has ended");
        assert_eq!(other.post(link, &chosen).status, 404, "a link works once");
        assert_eq!(sign_in(&mut bob, "battery staple"), 303);

        site.run(&["user", "set-role"], &["bob", "user"]).output();
        for refused in [
            site.run(&["user", "set-role"], &["ada", "user"]),
            site.run(&["user", "add"], &["ADA"]),
            site.run(&["user", "add"], &["a b"]),
            site.run(&["user", "set-password"], &["eve"]),
        ] {
            assert!(refused.code != Some(0), "{refused:#?}");
        }
        assert_eq!(ada.get("/users").status, 200);
        let list = site.run(&["user", "list"], &["--json"]).output();
        let users: Vec<serde_json::Value> = list
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(users.len(), 2, "{users:#?}");
        assert_eq!(users[1]["name"], "Bob B.");
        assert_eq!(users[1]["role"], "user");
    });
}

#[test]
fn contest_is_exported_and_imported() {
    with_each(|mut site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let mut bob = contestant(&site, &mut admin, &contest, "bob");
        let page = format!("/submissions/{}", submit(&mut bob, &contest, RIGHT).id());
        admin.wait_for(&page, "hidden-test");
        let number = contest.id.to_string();
        let export = site.run(&["export"], &["--with-passwords", &number, "cup"]);
        export.output();
        let text = std::fs::read_to_string(site.path("cup")).unwrap();
        site.run(&["export"], &[&number, "plain"]).output();
        let plain = std::fs::read_to_string(site.path("plain")).unwrap();
        assert!(text.contains("argon2id") && !plain.contains("argon2id"));

        // Another kind of database reads the same stream.
        let database = match site.database() {
            Some(_) => None,
            None => postgres::database().ok(),
        };
        let database = database.as_deref();
        let missing = site.run_for("second", database, &["import"], &["cup"]);
        assert!(missing.code != Some(0), "{missing:#?}");
        std::fs::create_dir(site.path("second")).unwrap();
        site.open_directory("second");
        site.restart_with("second", database.map(str::to_owned));
        let mut admin = Browser::new(&site);
        admin.sign_up(site.setup.as_deref().expect("a link"), "ada");
        let lines: Vec<&str> = text.lines().collect();
        let cut = lines[..lines.len() - 2].join("\n") + "\n";
        let without_row = [&lines[..lines.len() - 2], &lines[lines.len() - 1..]].concat();
        let without_row = without_row.join("\n") + "\n";
        let escape = text.replace("\"file_name\":\"a.py\"", "\"file_name\":\"../a.py\"");
        let foreign = text.replace("\"package_version\"", "\"session\"");
        let role = text.replace(
            "\"row\",\"table\":\"contest\"",
            "\"row\",\"table\":\"users\"",
        );
        // A zip archive begins with these letters.
        let damaged = text.replace("\"base64\":\"UEsD", "\"base64\":\"UEsE");
        let weak = text.replace("$argon2id$", "$argon2i$");
        for wrong in [
            &cut,
            &without_row,
            &escape,
            &foreign,
            &role,
            &damaged,
            &weak,
        ] {
            assert_ne!(*wrong, text);
            std::fs::write(site.path("wrong"), wrong).unwrap();
            let refused = site.run(&["import"], &["wrong"]);
            assert!(refused.code != Some(0), "{refused:#?}");
        }
        let unchanged = admin.get("/contests");
        assert!(!unchanged.body.contains("Cup"), "{unchanged:#?}");
        let out = site.run(&["import"], &["cup"]).output();
        assert!(out.contains("1 new users"), "{out}");
        let contest = out.split("/contests/").nth(1).expect("a path");
        let contest = contest.split(' ').next().expect("a number");
        let ranking = admin.get(&format!("/contests/{contest}/ranking"));
        assert!(ranking.body.contains(super::SUM), "{ranking:#?}");
        let mut bob = Browser::new(&site);
        let fields = [("login", "bob"), ("password", "correct horse")];
        assert_eq!(bob.post("/sign-in", &fields).status, 303);
        let list = bob.get(&format!("/contests/{contest}/submissions"));
        assert!(list.body.contains("Accepted"), "{list:#?}");
        let submission = list.body.split("/submissions/").nth(1).expect("a link");
        let submission = submission.split('"').next().expect("a number");
        let again = admin.post(&format!("/submissions/{submission}/judge"), &[]);
        assert_eq!(again.status, 303, "the imported package can be judged");
        let page = admin.wait_for("/queue", "done");
        assert!(!page.body.contains("fault</td>"), "{page:#?}");
    });
}

#[test]
fn site_writes_while_an_import_reads_its_file() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let number = contest.id.to_string();
        site.run(&["export"], &[&number, "cup"]).output();
        let text = std::fs::read_to_string(site.path("cup")).unwrap();
        let (begin, end) = text.split_at(text.find("\"row\"").unwrap());
        let mut import = site.begin("import", &["-"]);
        let mut pipe = import.stdin.take().unwrap();
        pipe.write_all(begin.as_bytes()).unwrap();
        pipe.flush().unwrap();
        // The import has stored the package of the stream, and waits for its rows.
        std::thread::sleep(Duration::from_secs(1));
        let fields = [("name", "Meanwhile"), ("visibility", "private")];
        let added = Instant::now();
        assert_eq!(admin.post("/contests/new", &fields).status, 303);
        assert!(added.elapsed() < Duration::from_secs(8), "the site waits");
        pipe.write_all(end.as_bytes()).unwrap();
        drop(pipe);
        assert!(import.wait().unwrap().success());
        assert_eq!(admin.get("/contests").body.matches(">Cup<").count(), 2);
    });
}

#[test]
fn terminated_site_responds_to_an_open_request_before_it_ends() {
    let mut site = Site::start(None);
    let host = site.url.trim_start_matches("http://").to_owned();
    let connect = || TcpStream::connect(&host);
    let mut stream = connect().expect("a connection");
    stream
        .set_read_timeout(Some(HANG_TIMEOUT))
        .expect("a timeout");
    let form = "login=ada&password=wrong+horse";
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nhost: {host}\r\nexpect: 100-continue\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        form.len()
    );
    stream.write_all(head.as_bytes()).expect("a sent head");
    // The site asks for the body, so the request is open.
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).expect("a response");
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");

    let pid = Pid::from_child(site.process());
    kill_process(pid, Signal::TERM).expect("a signal");
    while connect().is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let running = site.process().try_wait().expect("a process");
    assert_eq!(running, None, "the site has left its open request");
    stream.write_all(form.as_bytes()).expect("a sent form");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    assert!(response.starts_with("HTTP/1.1 422 "), "{response}");
    let status = site.process().wait().expect("an end");
    assert!(status.success(), "{status}");
}
