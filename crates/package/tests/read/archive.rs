//! Packages in archives.

use crate::{Package, names};
use millibox_package::fault::files::{ArchiveFault, FileFault};
use millibox_package::fault::icpc::HeaderFault;
use millibox_package::{Fault, FaultKind, Severity};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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

    /// Creates an archive with a small package below `prefix`.
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

    /// Asserts that reading fails with an error for which `is_wanted` returns true.
    #[track_caller]
    fn refused(self, is_wanted: impl Fn(&FaultKind) -> bool) {
        let (_directory, path) = self.close();
        assert_refused(&path, is_wanted);
    }
}

#[track_caller]
fn assert_refused(archive: &Path, is_wanted: impl Fn(&FaultKind) -> bool) {
    let faults = millibox_package::read(archive).unwrap_err();
    let mut errors = faults
        .iter()
        .filter(|fault| fault.severity == Severity::Error);
    assert!(errors.any(|fault| is_wanted(&fault.kind)), "{faults:#?}");
}

#[test]
fn unpacked_archive_lives_as_long_as_problem() {
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
fn archive_with_one_directory_is_read() {
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
fn fault_in_archive_names_archive() {
    let mut archive = Archive::new();
    archive.file("problem.yaml", "type: x\n");
    let (directory, path) = archive.close();
    let faults = millibox_package::read(&path).unwrap_err();
    let header = directory.path().join("sum.zip/problem.yaml");
    let is_of_header = |fault: &Fault| {
        (&fault.path, fault.line, fault.column) == (&header, Some(1), Some(7))
            && matches!(
                fault.kind,
                FaultKind::Header(HeaderFault::UnknownType { .. })
            )
    };
    assert!(faults.iter().any(is_of_header), "{faults:#?}");
}

#[test]
fn executable_bit_in_archive_is_kept() {
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
fn archive_with_entry_outside_is_refused() {
    for name in ["../x", "a/../../x", "/etc/x", "a\\..\\x"] {
        let mut archive = Archive::with("");
        // The writer corrects some names, so the test writes a name of the same length and
        // replaces its bytes.
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
        assert_refused(&path, |kind| match kind {
            FaultKind::Archive(ArchiveFault::EntryOutside { name: entry }) => {
                entry.as_str() == name && !name.contains('\\')
            }
            FaultKind::Archive(ArchiveFault::EntryWithBackslash { name: entry }) => {
                entry.as_str() == name && name.contains('\\')
            }
            _ => false,
        });
        assert_eq!(directory.path().read_dir().unwrap().count(), 1);
    }
}

#[test]
fn archive_with_links_follows_only_those_inside() {
    let link = |name: &str, target: &str| {
        let mut archive = Archive::with("");
        archive
            .writer
            .add_symlink(name, target, SimpleFileOptions::default())
            .unwrap();
        archive
    };
    link("data/secret/2.in", "../../../../etc/passwd").refused(|kind| match kind {
        FaultKind::File(
            FileFault::LinkOutside { target } | FileFault::DanglingLink { target, .. },
        ) => target.as_str() == "../../../../etc/passwd",
        _ => false,
    });
    link("data/secret/2.in", "/etc/passwd").refused(|kind| {
        *kind
            == FaultKind::Archive(ArchiveFault::LinkOutside {
                name: "data/secret/2.in".into(),
                target: "/etc/passwd".into(),
            })
    });
    let (_directory, path) = link("data/sample", "secret").close();
    assert_eq!(
        names(&millibox_package::read(&path).unwrap()),
        ["sample/1", "secret/1"]
    );

    // No entry is written through a link, in either order.
    let outside = tempfile::tempdir().unwrap();
    let mut archive = link("way", "..");
    archive.file("way/x", "");
    archive.refused(|kind| match kind {
        FaultKind::Archive(ArchiveFault::Link { name, error }) => {
            name.as_str() == "way" && error.kind() == ErrorKind::AlreadyExists
        }
        _ => false,
    });
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
}

#[test]
fn broken_archive_is_refused() {
    let (_directory, path) = Archive::with("").close();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let is_wanted = |kind: &FaultKind| matches!(kind, FaultKind::Archive(ArchiveFault::NotZip(_)));
    assert_refused(&path, is_wanted);
}

#[test]
fn archive_with_repeated_name_is_refused() {
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
        // The name has the same length as the other entry.
        bytes[at..at + 16].copy_from_slice(b"data/secret/qqqq");
    }
    std::fs::write(&path, bytes).unwrap();
    assert_refused(&path, |kind| {
        *kind == FaultKind::Archive(ArchiveFault::DuplicateNames)
    });
}

#[test]
fn archive_and_directory_have_same_tests() {
    let package = Package::legacy();
    let (_directory, path) = Archive::with("").close();
    assert_eq!(
        names(&package.problem()),
        names(&millibox_package::read(&path).unwrap())
    );
}

#[test]
fn archive_with_one_entry_too_many_is_refused() {
    // All entries lead outside, so none is unpacked. The faults show whether entries were examined.
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
