//! Multi-file programs: an archive with the scripts `compile` and `run`.
//!
//! The scripts run one after the other in separate sandboxes. In the first sandbox, `tar` packs the
//! files that the script `compile` leaves in its directory. The service unpacks this archive as
//! untrusted input.

use super::archive::ArchiveFile;
use super::languages::Kind;
use super::model::{COMPILE_CPU_TIME, Draft, MEMORY, PROCESSES, WALL_TIME};
use super::status::Status;
use super::submission::Verdict;
use crate::core::execution::{Content, Excess, InputContent, InputFile, OutputFile};
use crate::core::program::{
    Keep, ProgramError, ProgramReport, ProgramRun, ProgramSource, RunLimits, StopOn, Test,
};
use bytes::Bytes;
use millibox::Outcome;
use std::fmt::Display;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

const PRODUCT: &str = ".millibox-product.tar";
pub(super) const MAX_PRODUCT_BYTES: u64 = 64 << 20;
const MAX_MESSAGE_BYTES: u64 = 64 << 10;
const MAX_PRODUCT_FILES: usize = 10_000;

/// The product of the script `compile`.
#[derive(Debug)]
pub struct Product {
    /// The files, including those of the archive.
    pub files: Vec<InputFile>,
    /// The output of the script.
    pub messages: Bytes,
}

/// The name of a script: `NAME.sh` or `NAME`.
pub fn script(files: &[ArchiveFile], name: &'static str) -> Option<&'static str> {
    let candidates: [&'static str; 2] = match name {
        "compile" => ["compile.sh", "compile"],
        _ => ["run.sh", "run"],
    };
    candidates
        .into_iter()
        .find(|candidate| files.iter().any(|file| file.path == Path::new(candidate)))
}

/// A file for the working directory.
pub fn input_file(file: &ArchiveFile) -> InputFile {
    InputFile {
        path: file.path.clone(),
        content: InputContent::File {
            content: Content::Bytes(file.bytes.clone()),
            mode: file.mode,
        },
    }
}

/// The run of the script `compile`; `None` if the submission has none.
pub fn compile_run(draft: &Draft, run: &ProgramRun) -> Option<ProgramRun> {
    if !matches!(draft.language.kind, Kind::Project) {
        return None;
    }
    let script = script(&draft.files, "compile")?;
    let command = format!(
        "/bin/bash {script} </dev/null; code=$?; \
         tar --exclude=./{PRODUCT} -cf {PRODUCT} . 2>/dev/null; exit $code"
    );
    let keep = |into_stdout| Keep {
        max_bytes: MAX_MESSAGE_BYTES,
        excess: Excess::Discard,
        into_stdout,
    };
    let words = ["/bin/bash", "-c", &command];
    Some(ProgramRun {
        source: ProgramSource::Command(words.iter().map(Into::into).collect()),
        args: Vec::new(),
        tests: vec![Test::default()],
        stop_on: StopOn::Never,
        limits: RunLimits {
            cpu_time: COMPILE_CPU_TIME,
            real_time: Duration::from_secs_f64(WALL_TIME.max),
            memory_bytes: (MEMORY.max as u64) << 10,
            processes: PROCESSES.max as u32,
            file_bytes: MAX_PRODUCT_BYTES,
            work_bytes: 2 * MAX_PRODUCT_BYTES,
            open_files: run.limits.open_files,
            stack_bytes: None,
        },
        outputs: vec![OutputFile {
            path: PRODUCT.into(),
            max_bytes: MAX_PRODUCT_BYTES,
            truncate: false,
        }],
        stdout: keep(false),
        stderr: keep(true),
        ..run.clone()
    })
}

/// The product of the script `compile`, or the result of the submission if the script failed.
pub fn compiled(report: Result<ProgramReport, ProgramError>) -> Result<Product, Box<Verdict>> {
    let internal_error = |reason: &dyn Display| Box::new(Verdict::internal_error(reason));
    let report = report.map_err(|error| internal_error(&error))?;
    let test = report.tests.into_iter().next();
    let Some(report) = test.and_then(|test| test.report) else {
        return Err(internal_error(&"the script was not run"));
    };
    let messages = report.stdout().bytes.clone();
    let failed = |messages: Bytes| {
        Box::new(Verdict {
            compile_output: messages,
            ..Verdict::new(Status::CompilationError)
        })
    };
    match &report.outcome {
        Outcome::Exited(0) => {}
        Outcome::CpuTimeLimit | Outcome::RealTimeLimit => {
            let message = Bytes::from_static(b"Compilation time limit exceeded.");
            return Err(failed(message));
        }
        Outcome::SandboxError(error) => return Err(internal_error(error)),
        _ => return Err(failed(messages)),
    }
    let product = report.outputs.first();
    match product.map(|product| (&product.error, unpack(&product.bytes))) {
        Some((None, Some(files))) => Ok(Product { files, messages }),
        _ => Err(failed(Bytes::from_static(
            b"The files that the script left are too large or cannot be read.",
        ))),
    }
}

/// The regular files and symbolic links of an archive; `None` if it is damaged.
fn unpack(archive: &[u8]) -> Option<Vec<InputFile>> {
    let mut archive = tar::Archive::new(archive);
    let mut files = Vec::new();
    // A sparse file may have more bytes than the archive.
    let mut room = MAX_PRODUCT_BYTES;
    for entry in archive.entries().ok()? {
        let mut entry = entry.ok()?;
        let path = relative(&entry.path().ok()?)?;
        let kind = entry.header().entry_type();
        let content = if kind.is_file() {
            let mut bytes = Vec::new();
            let mode = entry.header().mode().ok()? & 0o777 | 0o400;
            entry.by_ref().take(room + 1).read_to_end(&mut bytes).ok()?;
            room = room.checked_sub(bytes.len() as u64)?;
            InputContent::File {
                content: Content::Bytes(bytes.into()),
                mode,
            }
        } else if kind.is_symlink() {
            InputContent::Symlink(entry.link_name().ok()??.into_owned())
        } else {
            continue;
        };
        if files.len() == MAX_PRODUCT_FILES {
            return None;
        }
        files.push(InputFile { path, content });
    }
    Some(files)
}

/// A path without `.`; `None` if it is absolute or has `..`.
fn relative(path: &Path) -> Option<PathBuf> {
    let mut relative = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(path: &str) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o100_700);
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"ok"[..]).unwrap();
        builder.into_inner().unwrap()
    }

    #[test]
    fn product_is_unpacked_below_its_directory_only() {
        let files = unpack(&archive("./sub/program")).unwrap();
        assert_eq!(files[0].path, Path::new("sub/program"));
        assert!(matches!(
            files[0].content,
            InputContent::File { mode: 0o700, .. }
        ));
        assert!(unpack(&archive("../program")).is_none());
        assert!(unpack(&archive("/program")).is_none());
        assert!(unpack(&[1; 600]).is_none());
    }
}
