//! Files of the host that requests name by their paths.

use super::error::RequestError;
use crate::core::execution::HostFile;
use std::path::{Component, Path, PathBuf};

/// A file of the host, if it is below one of these directories. The path itself must be below a
/// directory, or requests could examine any path of the host and mount its automounts. So must the
/// file to which its links lead.
///
/// # Errors
/// Requests may not read the file.
pub fn find(prefixes: &[PathBuf], path: &Path) -> Result<std::io::Result<HostFile>, RequestError> {
    let forbidden = || RequestError::SourcePath {
        path: path.to_owned(),
        prefixes: prefixes.to_vec(),
    };
    let real: Vec<PathBuf> = prefixes
        .iter()
        .filter_map(|prefix| prefix.canonicalize().ok())
        .collect();
    let is_below = |path: &Path| real.iter().any(|prefix| path.starts_with(prefix));
    let named = named(path).ok_or_else(forbidden)?;
    if !is_below(&named) && !prefixes.iter().any(|prefix| named.starts_with(prefix)) {
        return Err(forbidden());
    }
    match path.canonicalize() {
        Ok(real) if is_below(&real) => Ok(HostFile::new(real)),
        Ok(_) => Err(forbidden()),
        // Requests must not learn anything about other directories.
        Err(error) => match path.parent().map(Path::canonicalize) {
            Some(Ok(parent)) if is_below(&parent) => Ok(Err(error)),
            _ => Err(forbidden()),
        },
    }
}

/// The absolute path without `..`, as if it contained no links.
fn named(path: &Path) -> Option<PathBuf> {
    let mut named = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => {
                named.pop();
            }
            part => named.push(part),
        }
    }
    Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_a_prefix_are_examined() {
        let host = tempfile::tempdir().unwrap();
        let at = |name: &str| host.path().join(name);
        for directory in ["shown", "hidden"] {
            std::fs::create_dir(at(directory)).unwrap();
            std::fs::write(at(directory).join("file"), directory).unwrap();
        }
        std::os::unix::fs::symlink("../hidden/file", at("shown/out")).unwrap();
        std::os::unix::fs::symlink("../shown/file", at("hidden/in")).unwrap();
        std::os::unix::fs::symlink("shown", at("link")).unwrap();
        for prefix in ["shown", "link"] {
            let prefixes = [at(prefix)];
            let find = |path: &str| find(&prefixes, &at(path));
            for path in ["shown/file", "shown/../shown/./file"] {
                assert!(find(path).unwrap().is_ok(), "{path}");
            }
            assert!(find("shown/missing").unwrap().is_err());
            for path in [
                "hidden/file",
                "hidden/missing",
                "shown/../hidden/file",
                "shown/out",
                // The file is shown, but the path is that of another directory.
                "hidden/in",
            ] {
                assert!(find(path).is_err(), "{path}");
            }
        }
        assert!(find(&[at("link")], &at("link/file")).unwrap().is_ok());
        assert!(find(&[at("shown")], Path::new("shown/file")).is_err());
    }
}
