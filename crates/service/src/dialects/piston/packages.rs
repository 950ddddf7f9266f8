//! Piston packages: directories with `metadata.json`, `run` and optionally `compile` and
//! `environment`.
//!
//! A package is mounted read-only at the path where Piston installs it,
//! `/piston/packages/LANGUAGE/VERSION`, because its files may contain that path. Its scripts are
//! executed by bash in the sandbox, in the directory of the submission. `environment` is a script
//! whose exported variables the other scripts see. It is executed before each of them, in the
//! directory of the package, unless Piston installed the package and stored the variables in
//! `.env`.

use super::constraints::Overrides;
use super::version::Version;
use crate::core::program::{command_world, work_directory_at};
use millibox::World;
use serde::Deserialize;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The working directory of every stage.
pub const SUBMISSION_DIRECTORY: &str = "/box/submission";
/// The directory into which Piston installs packages.
const PACKAGES_DIRECTORY: &str = "/piston/packages";
/// The description of a package, as built from a checkout and as installed by Piston.
const METADATA_FILES: [&str; 2] = ["metadata.json", "pkg-info.json"];
/// Variables of the shell that Piston leaves out of `.env`.
const SHELL_VARIABLES: [&str; 4] = ["PWD", "OLDPWD", "_", "SHLVL"];
/// Executes a script of a package. The arguments are the package, the script and its arguments.
const START_SCRIPT: &str = r#"cd "$1" && if [ -f environment ]; then . ./environment; fi
cd "$0" || exit
unset OLDPWD
script=$1/$2
shift 2
exec /bin/bash "$script" "$@""#;

#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    pub version: Version,
    /// Whether it compiles programs.
    pub has_compile: bool,
    /// The languages that it provides.
    pub(super) languages: Vec<Provided>,
    /// The variables of `.env`; `None` if the script `environment` sets them.
    variables: Option<Vec<(OsString, OsString)>>,
    /// Its directory in the sandbox.
    place: String,
    /// The world of the package's scripts, without the directory of the submission.
    world: World,
}

/// A stage of a package's job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Compile,
    Run,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    language: String,
    version: String,
    #[serde(default)]
    aliases: Vec<String>,
    provides: Option<Vec<Provided>>,
    #[serde(default)]
    limit_overrides: Option<Overrides>,
}

/// A language of a package.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Provided {
    pub(super) language: String,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
    #[serde(default)]
    pub(super) limit_overrides: Option<Overrides>,
}

/// Why a package cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The kernel's error.
        error: io::Error,
    },
    /// The description is malformed.
    #[error("{}: {error}", .path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        error: serde_json::Error,
    },
    /// The version is not of the form MAJOR.MINOR.PATCH.
    #[error("{}: the version {version:?} is not of the form MAJOR.MINOR.PATCH", .path.display())]
    Version {
        /// The file.
        path: PathBuf,
        version: String,
    },
    /// The language's name cannot be the name of a directory.
    #[error("{}: the language {name:?} cannot be the name of a directory", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
        name: String,
    },
    /// The directory contains no package.
    #[error(
        "{} contains no Piston package: neither metadata.json, nor LANGUAGE/VERSION/metadata.json",
        .0.display()
    )]
    None(PathBuf),
    /// The package cannot run programs.
    #[error("{} has no script `run`", .0.display())]
    NoRun(PathBuf),
}

/// Loads packages. Each directory is a package, or contains packages as LANGUAGE/VERSION.
///
/// # Errors
/// A directory contains no package, or one that cannot be used.
pub fn load(directories: &[PathBuf]) -> Result<Vec<Arc<Package>>, PackageError> {
    let mut packages = Vec::new();
    for directory in directories {
        let failed = |error| PackageError::Read {
            path: directory.clone(),
            error,
        };
        let directory = directory.canonicalize().map_err(failed)?;
        if metadata_file(&directory).is_some() {
            packages.push(Arc::new(Package::load(&directory)?));
            continue;
        }
        let before = packages.len();
        for language in entries(&directory)?.iter().filter(|path| path.is_dir()) {
            for version in entries(language)? {
                if metadata_file(&version).is_some() {
                    packages.push(Arc::new(Package::load(&version)?));
                }
            }
        }
        if packages.len() == before {
            return Err(PackageError::None(directory));
        }
    }
    Ok(packages)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let failed = |error| PackageError::Read {
        path: directory.to_owned(),
        error,
    };
    let mut paths = std::fs::read_dir(directory)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed)?;
    paths.sort();
    Ok(paths)
}

fn metadata_file(directory: &Path) -> Option<PathBuf> {
    METADATA_FILES
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.is_file())
}

impl Package {
    /// Loads a package from its directory, which must be absolute.
    ///
    /// # Errors
    /// The package cannot be used.
    pub fn load(directory: &Path) -> Result<Package, PackageError> {
        let path =
            metadata_file(directory).ok_or_else(|| PackageError::None(directory.to_owned()))?;
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| PackageError::Read {
                path: path.to_owned(),
                error,
            })
        };
        let metadata = serde_json::from_slice(&read(&path)?);
        let metadata: Metadata = metadata.map_err(|error| PackageError::Metadata {
            path: path.clone(),
            error,
        })?;
        let is_name = |text: &str| !matches!(text, "" | "." | "..") && !text.contains(['/', '\0']);
        if !is_name(&metadata.language) {
            return Err(PackageError::Name {
                path,
                name: metadata.language,
            });
        }
        let version = Version::parse(&metadata.version)
            .filter(|version| is_name(&version.to_string()))
            .ok_or_else(|| PackageError::Version {
                path: path.clone(),
                version: metadata.version.clone(),
            })?;
        if !directory.join("run").is_file() {
            return Err(PackageError::NoRun(directory.to_owned()));
        }
        let variables = match std::fs::read_to_string(directory.join(".env")) {
            Ok(text) => Some(variables(&text)),
            Err(_) => None,
        };
        let place = format!("{PACKAGES_DIRECTORY}/{}/{version}", metadata.language);
        Ok(Package {
            has_compile: directory.join("compile").is_file(),
            languages: metadata.provides.unwrap_or_else(|| {
                vec![Provided {
                    language: metadata.language.clone(),
                    aliases: metadata.aliases,
                    limit_overrides: metadata.limit_overrides,
                }]
            }),
            name: metadata.language,
            version,
            variables,
            world: command_world().read_only(directory, &place),
            place,
        })
    }

    /// The world of a stage, with a submission directory of this size.
    pub fn world(&self, work_bytes: u64) -> World {
        let submission = work_directory_at(SUBMISSION_DIRECTORY, work_bytes);
        self.world.clone().mount(submission)
    }

    /// The command line of a stage.
    pub fn argv(&self, script: Script, args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        let script = match script {
            Script::Compile => "compile",
            Script::Run => "run",
        };
        let mut argv: Vec<OsString> = vec!["/bin/bash".into()];
        match &self.variables {
            Some(_) => argv.push(format!("{}/{script}", self.place).into()),
            None => argv.extend(
                [
                    "-c",
                    START_SCRIPT,
                    SUBMISSION_DIRECTORY,
                    &self.place,
                    script,
                ]
                .map(OsString::from),
            ),
        }
        argv.extend(args);
        argv
    }

    /// Variables that the package adds to the environment.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        self.variables.as_deref().unwrap_or_default()
    }
}

/// The variables of `.env`, one `NAME=VALUE` per line.
fn variables(text: &str) -> Vec<(OsString, OsString)> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| !name.is_empty() && !SHELL_VARIABLES.contains(name))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::runtimes::{Runtime, of_package};
    use super::*;

    fn package(directory: &Path, metadata: &str) {
        std::fs::create_dir_all(directory).unwrap();
        std::fs::write(directory.join("metadata.json"), metadata).unwrap();
        std::fs::write(directory.join("run"), "echo").unwrap();
    }

    #[test]
    fn packages_are_found_alone_and_below_a_directory() {
        let root = tempfile::tempdir().unwrap();
        let codeforces = root.path().join("codeforces/1.0.0");
        package(
            &codeforces,
            r#"{"language": "codeforces", "version": "1.0.0", "provides": [
                {"language": "c++17", "aliases": ["cf_c++17"]},
                {"language": "codeforces", "limit_overrides": {"run_timeout": 5}}]}"#,
        );
        std::fs::write(codeforces.join("compile"), "true").unwrap();
        std::fs::write(codeforces.join(".env"), "PATH=/a:/b\nSHLVL=1\nX=y=z\n").unwrap();
        package(
            &root.path().join("brain/0.1.0"),
            r#"{"language": "brain", "version": "0.1.0", "aliases": ["bf"]}"#,
        );
        std::fs::write(root.path().join("README"), "").unwrap();
        let packages = load(&[root.path().to_owned(), codeforces]).unwrap();
        let names: Vec<&str> = packages.iter().map(|package| &package.name[..]).collect();
        assert_eq!(names, ["brain", "codeforces", "codeforces"]);
        assert!(packages[1].has_compile && !packages[0].has_compile);
        assert_eq!(packages[1].variables().len(), 2);
        let runtimes: Vec<Runtime> = of_package(&packages[1]).collect();
        assert_eq!(runtimes[0].runtime.as_deref(), Some("codeforces"));
        assert_eq!(runtimes[1].runtime, None);
        assert_eq!(runtimes[1].overrides.run_timeout, Some(5));
        assert_eq!(packages[0].place, "/piston/packages/brain/0.1.0");
    }

    #[test]
    fn unusable_packages_are_named() {
        let root = tempfile::tempdir().unwrap();
        let error = |metadata: &str| {
            package(root.path(), metadata);
            load(&[root.path().to_owned()]).unwrap_err()
        };
        assert!(matches!(error("{"), PackageError::Metadata { .. }));
        assert!(matches!(
            error(r#"{"language": "a", "version": "1"}"#),
            PackageError::Version { .. }
        ));
        assert!(matches!(
            error(r#"{"language": "../a", "version": "1.0.0"}"#),
            PackageError::Name { .. }
        ));
        std::fs::remove_file(root.path().join("run")).unwrap();
        std::fs::write(
            root.path().join("metadata.json"),
            r#"{"language": "a", "version": "1.0.0"}"#,
        )
        .unwrap();
        let found = load(&[root.path().to_owned()]);
        assert!(matches!(found, Err(PackageError::NoRun(_))));
        std::fs::remove_file(root.path().join("metadata.json")).unwrap();
        let found = load(&[root.path().to_owned()]);
        assert!(matches!(found, Err(PackageError::None(_))));
        let found = load(&[root.path().join("missing")]);
        assert!(matches!(found, Err(PackageError::Read { .. })));
    }
}
