//! Packages in archives.

use crate::{Package, names};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};

struct Archive {
    directory: TempDir,
    writer: ZipWriter<File>,
}

impl Archive {
    fn new() -> Archive {
        let directory = tempfile::tempdir().unwrap();
        let writer = ZipWriter::new(File::create(directory.path().join("sum.zip")).unwrap());
        Archive { directory, writer }
    }

    /// With a small package below this.
    fn with(prefix: &str) -> Archive {
        let mut archive = Archive::new();
        for (name, text) in [
            ("problem.yaml", "name: Zipped\n"),
            ("data/secret/1.in", "1\n"),
            ("data/secret/1.ans", "1\n"),
            ("submissions/accepted/a.py", "x\n"),
        ] {
            archive.file(&format!("{prefix}{name}"), text);
        }
        archive
    }

    fn file(&mut self, name: &str, text: &str) {
        self.writer
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        self.writer.write_all(text.as_bytes()).unwrap();
    }

    fn close(self) -> (TempDir, PathBuf) {
        self.writer.finish().unwrap();
        let path = self.directory.path().join("sum.zip");
        (self.directory, path)
    }

    #[track_caller]
    fn refused(self, words: &str) {
        let (_directory, path) = self.close();
        let faults = millibox_package::read(&path).unwrap_err().to_string();
        assert!(faults.contains(words), "{words:?} is not in\n{faults}");
    }
}

#[test]
fn a_package() {
    let (_directory, path) = Archive::with("").close();
    let problem = millibox_package::read(&path).unwrap();
    assert_eq!((&*problem.name, &*problem.label), ("Zipped", "sum"));
    assert_eq!(names(&problem), ["secret/1"]);
    let input = problem.tests().next().unwrap().input.clone();
    assert_eq!(std::fs::read(&input).unwrap(), b"1\n");
    // The files live as long as the last copy of the problem.
    let copy = problem.clone();
    drop(problem);
    assert!(input.exists());
    drop(copy);
    assert!(!input.exists());
}

#[test]
fn with_one_directory() {
    let mut archive = Archive::with("main/");
    archive
        .writer
        .add_directory("main/data/sample", SimpleFileOptions::default())
        .unwrap();
    archive.file("__MACOSX/x", "");
    let (_directory, path) = archive.close();
    let problem = millibox_package::read(&path).unwrap();
    assert_eq!(problem.label, "main");
    assert!(problem.warnings.is_empty(), "{:?}", problem.warnings);
}

#[test]
fn faults_name_the_archive() {
    let mut archive = Archive::new();
    archive.file("problem.yaml", "type: x\n");
    archive.refused("sum.zip/problem.yaml:1:7: error: unknown type \"x\"");
}

#[test]
fn scripts_stay_executable() {
    let mut archive = Archive::with("");
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    archive
        .writer
        .start_file("submissions/accepted/run.sh", options)
        .unwrap();
    let (_directory, path) = archive.close();
    let problem = millibox_package::read(&path).unwrap();
    let mode = |name: &str| {
        let path = problem.directory.join("submissions/accepted").join(name);
        path.metadata().unwrap().permissions().mode() & 0o111
    };
    assert_ne!(mode("run.sh"), 0);
    assert_eq!(mode("a.py"), 0);
}

#[test]
fn entries_that_lead_outside() {
    for name in ["../x", "a/../../x", "/etc/x", "a\\..\\x"] {
        let mut archive = Archive::with("");
        // The writer would mend some names, so one of the same length is put in its place.
        let harmless = "q".repeat(name.len());
        archive.file(&harmless, "");
        let (directory, path) = archive.close();
        let bytes = std::fs::read(&path).unwrap();
        let mut bytes = bytes;
        while let Some(at) = bytes
            .windows(name.len())
            .position(|window| window == harmless.as_bytes())
        {
            bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        std::fs::write(&path, bytes).unwrap();
        let faults = millibox_package::read(&path).unwrap_err().to_string();
        assert!(faults.contains("which leads outside"), "{name}: {faults}");
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }
}

#[test]
fn symbolic_links() {
    let link = |name: &str, target: &str| {
        let mut archive = Archive::with("");
        archive
            .writer
            .add_symlink(name, target, SimpleFileOptions::default())
            .unwrap();
        archive
    };
    link("data/secret/2.in", "../../../../etc/passwd")
        .refused("data/secret/2.in: error: symbolic link to ../../../../etc/passwd, ");
    link("data/secret/2.in", "/etc/passwd")
        .refused("symbolic link \"data/secret/2.in\" to \"/etc/passwd\", which leads outside");
    let (_directory, path) = link("data/sample", "secret").close();
    assert_eq!(
        names(&millibox_package::read(&path).unwrap()),
        ["sample/1", "secret/1"]
    );

    // Nothing is written through a link, whatever comes first.
    let outside = tempfile::tempdir().unwrap();
    let mut archive = link("way", "..");
    archive.file("way/x", "");
    archive.refused("symbolic link way cannot be unpacked: File exists");
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
}

#[test]
fn broken_archives() {
    let (_directory, path) = Archive::with("").close();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let faults = millibox_package::read(&path).unwrap_err().to_string();
    assert!(
        faults.contains("neither a directory nor a zip archive"),
        "{faults}"
    );
}

#[test]
fn two_entries_of_one_name() {
    let mut archive = Archive::with("");
    archive.file("data/secret/qqqq", "");
    archive.file("data/secret/1.hint", "");
    let (_directory, path) = archive.close();
    let mut bytes = std::fs::read(&path).unwrap();
    while let Some(at) = bytes.windows(6).position(|window| window == b"1.hint") {
        bytes[at..at + 6].copy_from_slice(b"1.desc");
    }
    std::fs::write(&path, &bytes).unwrap();
    assert!(millibox_package::read(&path).is_ok());
    while let Some(at) = bytes
        .windows(16)
        .position(|window| window == b"data/secret/1.in")
    {
        // Of the same length as the other entry.
        bytes[at..at + 16].copy_from_slice(b"data/secret/qqqq");
    }
    std::fs::write(&path, bytes).unwrap();
    let faults = millibox_package::read(&path).unwrap_err().to_string();
    assert!(faults.contains("two entries of one name"), "{faults}");
}

#[test]
fn a_directory_gives_what_its_archive_gives() {
    let package = Package::legacy();
    let (_directory, path) = Archive::with("").close();
    assert_eq!(
        names(&package.problem()),
        names(&millibox_package::read(&path).unwrap())
    );
}

#[test]
fn with_as_many_entries_as_are_unpacked_and_one_more() {
    // None is unpacked, as all lead outside: whether they were looked at is what differs.
    let faults = |entries: u32| {
        let mut archive = Archive::new();
        (0..entries).for_each(|entry| archive.file(&format!("../{entry}"), ""));
        let (_directory, path) = archive.close();
        millibox_package::read(&path)
            .unwrap_err()
            .iter()
            .map(|fault| fault.bound())
            .collect::<Vec<_>>()
    };
    assert_eq!(faults(100_000)[0], None);
    let too_many = faults(100_001);
    assert_eq!(too_many, [Some(millibox_package::Bound::Archived)]);
}
