//! Large files.

use super::support::{Browser, Site, archive, files_of_sum};
use super::{first_admin, with_each};

/// The size of a large package in bytes. It exceeds the limit of other uploads and the memory that
/// the site otherwise needs.
const LARGE: usize = 100 << 20;
/// The memory that the site may use in addition to a large file, in KiB.
const ALLOWANCE: u64 = 48 << 10;

#[test]
fn large_package_is_not_held_in_memory() {
    let site = Site::start(None);
    let mut admin = first_admin(&site);
    // The entries come first, so the archive is readable although it is large.
    let noise: String = "0123456789abcdef".repeat(64 << 10);
    let mut files = files_of_sum();
    files.push(("data/secret/large.in", &noise));
    files.push(("data/secret/large.ans", "42\n"));
    let mut package = vec![0; LARGE];
    package.extend(archive(&files));
    let before = site.peak_memory();
    let fields = [("visibility", "private")];
    let answer = admin.upload("/problems/new", &fields, ("a.zip", &package));
    assert_eq!(answer.status, 303, "{answer:#?}");
    let job = answer.location.expect("a job");
    admin.wait_until(&job, |page| {
        page.contains("done") || page.contains("failed")
    });
    let used = site.peak_memory().saturating_sub(before);
    assert!(used < ALLOWANCE, "{used} KiB");

    // The same holds for downloads.
    let blob = std::fs::read_dir(site.data().join("blobs")).expect("files");
    let stored = blob.filter_map(|file| file.ok()?.metadata().ok());
    assert!(stored.map(|file| file.len()).max() > Some(LARGE as u64));
    let answer = admin.get("/problems/1/package");
    let length = answer.headers["content-length"].to_str();
    assert_eq!(length.ok(), Some(package.len().to_string().as_str()));
    assert!(answer.status == 200, "{}", answer.status);
    let used = site.peak_memory().saturating_sub(before);
    assert!(used < ALLOWANCE, "{used} KiB");
}

#[test]
fn package_is_bounded_and_stored_as_it_was_sent() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let fields = [("visibility", "private")];
        let long = "x".repeat(65 << 10);
        let refused = admin.upload(
            "/problems/new",
            &[("visibility", "private"), ("note", long.as_str())],
            ("a.zip", b"content"),
        );
        assert_eq!(refused.status, 422, "a field is too long");
        let too_large = vec![0; 129 << 20];
        let refused = admin.upload("/problems/new", &fields, ("a.zip", &too_large));
        assert_eq!(refused.status, 413, "{refused:#?}");
        let package = archive(&files_of_sum());
        let added = admin.upload("/problems/new", &fields, ("a.zip", &package));
        assert_eq!(added.status, 303, "{added:#?}");
        let answer = admin.raw("/problems/1/package", std::time::Duration::from_secs(1));
        assert!(
            answer.contains(&format!("content-length: {}", package.len())),
            "{answer}"
        );
        // No part of a refused file is kept.
        let blobs = std::fs::read_dir(site.data().join("blobs")).expect("files");
        let names = blobs.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let partial: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
        assert!(partial.is_empty(), "{partial:?}");
        // Only teachers may send large files at all.
        let mut eve = Browser::new(&site);
        eve.sign_up("/sign-up", "eve");
        let refused = eve.upload("/problems/new", &fields, ("a.zip", &package));
        assert_eq!(refused.status, 404);
    });
}

#[test]
fn form_with_an_invalid_package_adds_none_and_names_the_files_to_choose_again() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let package = archive(&files_of_sum());
        let fields = [("visibility", "contest_only")];
        let path = "/problems/new";
        let problems = |admin: &mut Browser| {
            let list = admin.get("/problems").body;
            list.matches("href=\"/problems/").count() - list.matches("/problems/new\"").count()
        };
        let files: [(&str, &[u8]); 3] = [
            ("first.zip", &package),
            ("broken.zip", b"no archive"),
            ("third.zip", &package),
        ];
        let answer = admin.upload_all(path, path, &fields, &files);
        assert_eq!(answer.status, 422, "{answer:#?}");
        for part in [
            "No package was added",
            "1 of 3 packages",
            "first.zip, third.zip",
            "broken.zip: ",
            "value=\"contest_only\" selected",
        ] {
            assert!(answer.body.contains(part), "{part}: {answer:#?}");
        }
        assert_eq!(problems(&mut admin), 0);
        let broken: [(&str, &[u8]); 2] = [("a.zip", b"a"), ("b.zip", b"b")];
        let answer = admin.upload_all(path, path, &fields, &broken);
        assert_eq!(answer.status, 422, "{answer:#?}");
        for part in ["all 2 packages", "a.zip: ", "b.zip: "] {
            assert!(answer.body.contains(part), "{part}: {answer:#?}");
        }
        // The files that the message names are added.
        let answer = admin.upload_all(path, path, &fields, &[files[0], files[2]]);
        assert_eq!(answer.status, 303, "{answer:#?}");
        assert_eq!(problems(&mut admin), 2);
    });
}
