//! The working directory of a run: files that go in before the program starts, and files that come
//! out after it has ended.
//!
//! The directory is a tmpfs of the run, so its size is limited and it counts towards the memory
//! limit of the run. `millibox-stage` unpacks the files in the sandbox and returns a descriptor of
//! the directory, which outlives the mount. The service reads files through this descriptor when no
//! process of the run is left.

use super::budget::Budget;
use super::execution::{
    ExecutionError, FilesError, InputContent, InputFile, OutputFile, OutputFileError, ReturnedFile,
    WHOLE_DIRECTORY,
};
use super::plan::{archive_bytes, content_bytes};
use super::tree;
use bytes::Bytes;
use millibox::{Outcome, RunError, RunResult};
use millibox_stage::{Answer, Failure, Instructions, Step};
use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, ResolveFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::ffi::OsStr;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

const STAGE: &str = "millibox-stage";
const TEMPORARY_DIRECTORY: &str = "/tmp";
/// Content up to this size is archived without a thread for blocking work.
const SMALL_ARCHIVE_BYTES: u64 = 64 << 10;
/// The maximum number of files that are put into a working directory.
pub(super) const MAX_FILES: usize = 20_000;

/// The open executable `millibox-stage`. A process opens it before it gives up its privileges.
#[derive(Debug)]
pub struct Stage(pub(super) OwnedFd);

impl Stage {
    /// Finds and opens the executable.
    pub fn open() -> Option<Stage> {
        open_stage().map(Stage)
    }
}

/// Opens the executable `millibox-stage`: at the path in `MILLIBOX_STAGE`, beside the running
/// program, in libexec/millibox of the same prefix, or on `PATH`.
fn open_stage() -> Option<OwnedFd> {
    let named = std::env::var_os("MILLIBOX_STAGE").map(PathBuf::from);
    let beside = std::env::current_exe().ok();
    let directory = beside.as_deref().and_then(Path::parent);
    let path = std::env::var_os("PATH");
    let candidates = named
        .into_iter()
        .chain(directory.map(|directory| directory.join(STAGE)))
        .chain(directory.map(|directory| directory.join("../libexec/millibox").join(STAGE)))
        // Tests and examples are one directory deeper.
        .chain(
            directory
                .and_then(Path::parent)
                .map(|parent| parent.join(STAGE)),
        )
        .chain(
            path.iter()
                .flat_map(std::env::split_paths)
                .map(|directory| directory.join(STAGE)),
        );
    candidates
        .filter_map(|path| std::fs::File::open(path).ok())
        .find(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))
        .map(Into::into)
}

/// The connection to `millibox-stage`: the service's end, and the program's end.
pub(super) fn pair() -> Result<(OwnedFd, OwnedFd), ExecutionError> {
    socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| ExecutionError::system("create a socket")(errno.into()))
}

/// An immutable file in memory with these bytes, positioned at its beginning.
pub(super) fn memory_file(bytes: &[u8]) -> Result<OwnedFd, ExecutionError> {
    let mut file = new_memory_file()?;
    file.write_all(bytes)
        .and_then(|()| seal(&mut file))
        .map_err(ExecutionError::system("keep the input of a program"))?;
    Ok(file.into())
}

/// An immutable file in memory with the bytes of a reader. Blocks.
pub(super) fn copy_to_memory(mut reader: impl Read) -> std::io::Result<OwnedFd> {
    let mut file = new_memory_file().map_err(std::io::Error::other)?;
    std::io::copy(&mut reader, &mut file)?;
    seal(&mut file)?;
    Ok(file.into())
}

fn new_memory_file() -> Result<std::fs::File, ExecutionError> {
    rustix::fs::memfd_create(
        "millibox-input",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )
    .map(Into::into)
    .map_err(|errno| ExecutionError::system("create a file in memory")(errno.into()))
}

fn seal(file: &mut std::fs::File) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    Ok(rustix::fs::fcntl_add_seals(&file, seals)?)
}

/// The files as a tar archive in memory; `None` without files. Nothing is read if the files exceed
/// `max_bytes` together.
pub(super) async fn archive(
    files: Vec<InputFile>,
    current_dir: &Path,
    max_bytes: u64,
) -> Result<Option<OwnedFd>, ExecutionError> {
    if files.is_empty() {
        return Ok(None);
    }
    check_files(&files, max_bytes).map_err(ExecutionError::Files)?;
    let is_in_memory = |file: &InputFile| match &file.content {
        InputContent::File { content, .. } => {
            matches!(content, super::execution::Content::Bytes(_))
        }
        InputContent::Archive(_) | InputContent::Symlink(_) => true,
    };
    if archive_bytes(&files) <= SMALL_ARCHIVE_BYTES && files.iter().all(is_in_memory) {
        return write_archive(&files, current_dir).map(Some);
    }
    let current_dir = current_dir.to_owned();
    tokio::task::spawn_blocking(move || write_archive(&files, &current_dir))
        .await
        .map_err(|error| ExecutionError::system("write an archive")(error.into()))?
        .map(Some)
}

/// Checks that files fit into a working directory of this size.
pub(super) fn check_files(files: &[InputFile], max_bytes: u64) -> Result<(), FilesError> {
    if files.len() > MAX_FILES {
        return Err(FilesError::TooMany {
            count: files.len() as u64,
            max_count: MAX_FILES as u64,
        });
    }
    let sizes = files.iter().map(|file| match &file.content {
        // Its headers do not occupy the directory. The directory that it comes from had a bound.
        InputContent::Archive(_) => 0,
        content => content_bytes(content),
    });
    let bytes = sizes.fold(0, u64::saturating_add);
    if bytes > max_bytes {
        return Err(FilesError::TooLarge { bytes, max_bytes });
    }
    Ok(())
}

fn write_archive(files: &[InputFile], current_dir: &Path) -> Result<OwnedFd, ExecutionError> {
    let mut builder = tar::Builder::new(std::io::BufWriter::new(new_memory_file()?));
    for file in files {
        let failed = ExecutionError::system("write an archive");
        if let InputContent::Archive(bytes) = &file.content {
            let below = current_dir.strip_prefix("/").unwrap_or(current_dir);
            tree::append(&mut builder, bytes, below).map_err(failed)?;
            continue;
        }
        let path = archive_path(&file.path, current_dir)?;
        let mut header = tar::Header::new_gnu();
        header.set_mtime(0);
        match &file.content {
            InputContent::File { content, mode } => {
                header.set_entry_type(tar::EntryType::Regular);
                header.set_mode(*mode);
                header.set_size(content.bytes());
                // A file of the host may grow in the meantime.
                let reader = content.reader().map_err(&failed)?.take(content.bytes());
                builder.append_data(&mut header, path, reader)
            }
            InputContent::Symlink(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                builder.append_link(&mut header, path, target)
            }
            InputContent::Archive(_) => Ok(()),
        }
        .map_err(failed)?;
    }
    let failed = ExecutionError::system("write an archive");
    let mut file = builder
        .into_inner()
        .and_then(|file| {
            file.into_inner()
                .map_err(std::io::IntoInnerError::into_error)
        })
        .map_err(&failed)?;
    seal(&mut file).map_err(failed)?;
    Ok(file.into())
}

/// A path for the archive, relative to the root of the sandbox. `millibox-stage` resolves it there
/// with the rights of the run. It must not be empty or contain `..`.
fn archive_path(path: &Path, current_dir: &Path) -> Result<PathBuf, ExecutionError> {
    use std::path::Component;
    let unusable = || ExecutionError::Files(FilesError::Path(path.to_owned()));
    let ends_in_name = matches!(path.components().next_back(), Some(Component::Normal(_)));
    let absolute = current_dir.join(path);
    let mut relative = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(unusable()),
        }
    }
    if ends_in_name {
        Ok(relative)
    } else {
        Err(unusable())
    }
}

/// The connection to `millibox-stage`, and the working directory that it returns.
pub(super) struct Workspace {
    /// A socket of type SEQPACKET, which keeps messages apart as datagrams do.
    socket: UnixDatagram,
    directory: Option<OwnedFd>,
    /// The directory /tmp of the run.
    temporary: Option<OwnedFd>,
}

impl Workspace {
    /// Sends the instructions, which wait in the socket until the program starts.
    pub(super) fn begin(
        socket: OwnedFd,
        archive: Option<OwnedFd>,
        stdin: Option<Arc<OwnedFd>>,
        extra: Vec<Option<Arc<OwnedFd>>>,
        terminal: bool,
    ) -> Result<Workspace, ExecutionError> {
        let failed = ExecutionError::system("send the files of a run");
        // `millibox-stage` replaces it by the null device of the sandbox.
        let null = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map_err(&failed)?;
        let instructions = Instructions {
            extra_descriptors: u8::try_from(extra.len()).map_err(|_| {
                failed(std::io::Error::from(
                    std::io::ErrorKind::ArgumentListTooLong,
                ))
            })?,
            has_archive: archive.is_some(),
            terminal,
        };
        let or_null = |descriptor: &'_ Option<Arc<OwnedFd>>| descriptor.clone();
        let descriptors: Vec<Option<Arc<OwnedFd>>> =
            extra.iter().map(or_null).chain([stdin]).collect();
        let mut borrowed: Vec<_> = descriptors
            .iter()
            .map(|descriptor| match descriptor {
                Some(descriptor) => descriptor.as_fd(),
                None => null.as_fd(),
            })
            .collect();
        if let Some(archive) = &archive {
            borrowed.push(archive.as_fd());
        }
        millibox_stage::send(&socket, &instructions, &borrowed)
            .map_err(|errno| failed(errno.into()))?;
        rustix::io::ioctl_fionbio(&socket, true).map_err(|errno| failed(errno.into()))?;
        Ok(Workspace {
            socket: UnixDatagram::from_std(socket.into()).map_err(failed)?,
            directory: None,
            temporary: None,
        })
    }

    /// Receives the answers until the program is executed or the run has ended.
    pub(super) async fn exchange(&mut self) -> Result<(), Failure> {
        let lost = |errno: Option<Errno>| Failure {
            step: Step::Receive,
            errno: errno.map(Errno::raw_os_error),
        };
        loop {
            let ready = self.socket.readable().await;
            ready.map_err(|error| lost(Errno::from_io_error(&error)))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                millibox_stage::receive::<Answer>(&self.socket, true).map_err(std::io::Error::from)
            });
            match received {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Ok(Some((Answer::Ready, descriptors))) => {
                    let mut descriptors = descriptors.into_iter();
                    self.directory = descriptors.next();
                    self.temporary = descriptors.next();
                }
                Ok(Some((Answer::Failed(failure), _))) => return Err(failure),
                // The exec closes the socket.
                Ok(None) if self.directory.is_some() => return Ok(()),
                Ok(None) => return Err(lost(None)),
                Err(error) => return Err(lost(Errno::from_io_error(&error))),
            }
        }
    }

    /// Reads files after the run has ended.
    pub(super) async fn read_outputs(
        self,
        outputs: Vec<OutputFile>,
        budget: Budget,
    ) -> Result<Vec<ReturnedFile>, ExecutionError> {
        let Some(directory) = self.directory.filter(|_| !outputs.is_empty()) else {
            return Ok(Vec::new());
        };
        let temporary = self.temporary;
        let read = move || {
            outputs
                .into_iter()
                .map(
                    |output| match output.path.strip_prefix(TEMPORARY_DIRECTORY) {
                        Err(_) => read_output(&directory, output, &budget),
                        Ok(name) => {
                            let below = OutputFile {
                                path: name.to_owned(),
                                ..output
                            };
                            let directory = temporary.as_ref().unwrap_or(&directory);
                            let file = read_output(directory, below, &budget);
                            ReturnedFile {
                                path: output.path,
                                ..file
                            }
                        }
                    },
                )
                .collect()
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| ExecutionError::system("read the files of a run")(error.into()))
    }
}

/// Reads one file of a directory whose content is not trusted.
fn read_output(directory: &OwnedFd, output: OutputFile, budget: &Budget) -> ReturnedFile {
    let OutputFile {
        path,
        max_bytes,
        truncate,
    } = output;
    let max_bytes = max_bytes.min(budget.left());
    let read = if path.as_os_str() == WHOLE_DIRECTORY {
        tree::read(directory, max_bytes).map(|bytes| (bytes, None))
    } else {
        read_regular_file(directory, &path, max_bytes, truncate)
    };
    match read {
        Ok((bytes, error)) => {
            budget.take(bytes.len() as u64);
            ReturnedFile { path, bytes, error }
        }
        Err(error) => ReturnedFile {
            path,
            bytes: Bytes::new(),
            error: Some(error),
        },
    }
}

fn read_regular_file(
    directory: &OwnedFd,
    path: &Path,
    max_bytes: u64,
    truncate: bool,
) -> Result<(Bytes, Option<OutputFileError>), OutputFileError> {
    let unreadable = |errno: Errno| OutputFileError::Unreadable {
        errno: errno.raw_os_error(),
    };
    // Without RESOLVE_NO_XDEV, a path could lead into another mount of the same namespace. Without
    // symbolic links and `..`, however, every path stays below the directory.
    let file = rustix::fs::openat2(
        directory,
        path,
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV,
    )
    .map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => OutputFileError::Missing,
        // A link, or a socket.
        Errno::LOOP | Errno::NXIO => OutputFileError::NotRegular,
        errno => unreadable(errno),
    })?;
    let stat = rustix::fs::fstat(&file).map_err(unreadable)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(OutputFileError::NotRegular);
    }
    let length = u64::try_from(stat.st_size).unwrap_or(0);
    let error = (length > max_bytes).then_some(OutputFileError::TooLarge {
        bytes: length,
        max_bytes,
    });
    if let (Some(error), false) = (error, truncate) {
        return Err(error);
    }
    let mut bytes = Vec::new();
    std::fs::File::from(file)
        .take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(|error| OutputFileError::Unreadable {
            errno: error.raw_os_error().unwrap_or_default(),
        })?;
    Ok((bytes.into(), error))
}

/// Turns a failure of `millibox-stage` into the outcome of the run or an error.
pub(super) fn fail(
    result: &mut RunResult,
    failure: &Failure,
    program: &OsStr,
) -> Result<(), ExecutionError> {
    let step = match failure.step {
        Step::Execute => {
            let error = RunError::new(millibox::Step::Exec)
                .with_errno(failure.errno.unwrap_or_default())
                .with_subject(program.to_string_lossy());
            result.outcome = Outcome::NotStarted(error);
            result.exit_code = None;
            return Ok(());
        }
        Step::Receive => "receive the files",
        Step::Unpack => "unpack the files",
        Step::Descriptors => "arrange the descriptors",
        Step::Terminal => "take the terminal",
    };
    Err(ExecutionError::Files(FilesError::Step {
        step,
        errno: failure.errno,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_paths_are_relative_to_the_root_and_have_no_parent() {
        let path = |text: &str| archive_path(Path::new(text), Path::new("/work"));
        assert_eq!(path("a/./b").unwrap(), Path::new("work/a/b"));
        assert_eq!(path("/tmp/b").unwrap(), Path::new("tmp/b"));
        for text in ["", "/", ".", "a/..", "../a", "/tmp/../etc"] {
            assert!(path(text).is_err(), "{text:?}");
        }
    }
}
