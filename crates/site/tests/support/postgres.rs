//! A PostgreSQL server for tests, from the Debian package `postgresql`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

/// The directory with a socket of the server, or the reason for its absence.
static SERVER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
/// The user that runs the server if root starts the tests: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

/// The address of a new, empty database, or the reason for its absence.
pub fn database() -> Result<String, String> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let directory = SERVER.get_or_init(start).clone()?;
    let name = format!("test{}", LAST.fetch_add(1, Ordering::Relaxed));
    let created = command("createdb")?
        .args(["-U", USER, "-h"])
        .arg(&directory)
        .arg(&name)
        .status();
    match created {
        Ok(status) if status.success() => Ok(format!(
            "postgres:///{name}?host={}&user={USER}",
            directory.display()
        )),
        result => Err(format!("createdb: {result:?}")),
    }
}

fn binaries() -> Result<PathBuf, String> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| path.join("initdb").is_file())
        .collect();
    found.sort();
    found
        .pop()
        .ok_or_else(|| "PostgreSQL is not installed; install the package postgresql".to_owned())
}

/// A program of PostgreSQL, as its user if this is root.
fn command(name: &str) -> Result<Command, String> {
    let program = binaries()?.join(name);
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", USER, "--regid", USER, "--init-groups"])
            .args(["--pdeathsig", "INT", "--"])
            .arg(program);
        command
    } else {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "INT", "--"]).arg(program);
        command
    };
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

/// Starts the server, which ends with this process: the kernel interrupts the server when the
/// thread that started it ends, and that thread never ends by itself. A killed server would leave
/// its shared memory behind; an interrupted server closes its connections and removes the memory.
fn start() -> Result<PathBuf, String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let server = initialize().and_then(|directory| Ok((run(&directory)?, directory)));
        let _ = sender.send(match &server {
            Ok((_, directory)) => Ok(directory.clone()),
            Err(reason) => Err(reason.clone()),
        });
        loop {
            std::thread::park();
        }
    });
    receiver
        .recv()
        .unwrap_or_else(|_| Err("the thread that starts PostgreSQL has ended".to_owned()))
}

fn initialize() -> Result<PathBuf, String> {
    binaries()?;
    let directory = tempfile::Builder::new()
        .prefix("millibox-postgres-")
        .tempdir()
        .map_err(|error| error.to_string())?
        .keep();
    if rustix::process::geteuid().is_root() {
        let status = Command::new("chown").arg(USER).arg(&directory).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(format!("the user {USER} does not exist"));
        }
    }
    let data = directory.join("data");
    let status = command("initdb")?
        .args([
            "--no-sync",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        ])
        .args(["-U", USER, "-D"])
        .arg(&data)
        .status();
    match status {
        Ok(status) if status.success() => Ok(directory),
        result => Err(format!("initdb: {result:?}")),
    }
}

fn run(directory: &Path) -> Result<Child, String> {
    // The remover deletes the directory when this process has closed its pipe and the server has
    // ended, or after 30 s.
    let remover = "cat >/dev/null; tenths=300
        while [ -e \"$1/data/postmaster.pid\" ] && [ $tenths -gt 0 ]; do
            sleep 0.1; tenths=$((tenths - 1))
        done
        rm -rf -- \"$1\"";
    let remover = Command::new("sh")
        .args(["-c", remover, "millibox-remover"])
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    std::mem::forget(remover);
    let server = command("postgres")?
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory)
        .args(["-c", "listen_addresses=", "-c", "fsync=off"])
        .spawn()
        .map_err(|error| error.to_string())?;
    for _ in 0..600 {
        let ready = command("pg_isready")?.arg("-h").arg(directory).status();
        if ready.is_ok_and(|status| status.success()) {
            return Ok(server);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("PostgreSQL does not start".to_owned())
}
