//! Plans a world: decides which mounts the mounter makes and which pid1 makes.

use super::system;
use crate::run_mounts::RunMount;
use millibox_wire::path::{normal, shown};
use millibox_wire::{Mount, World, WorldError, WorldProblem};
use std::ffi::CString;

/// The operations of the mounter and of pid1.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The mounter's operations, each with the index of its mount.
    pub(super) template: Vec<(usize, TemplateMount)>,
    /// pid1's operations, each with the index of its mount. [`Plan::run_mounts`] adds the
    /// operations that create the mount points of staged binds, once the mounter has reported their
    /// types.
    run: Vec<(usize, RunMount)>,
    /// For each staged bind, the index of its `FromStage` in `run`, and whether its mount point
    /// belongs to the host.
    staged: Vec<(usize, bool)>,
    /// Whether the template needs a visible procfs, without which pid1 may not mount one.
    pub wants_procfs: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateMount {
    /// Execute the world's operation as it is.
    Unchanged,
    /// Create only the mount point.
    MountPoint,
    /// Mount the host's procfs, which pid1's own procfs covers.
    Procfs,
    /// Create the mount point and mount a stage on it.
    Stage,
    /// Mount the bind in the latest stage under this name.
    IntoStage(String),
}

/// Splits a world's mounts between template and run.
pub fn plan(world: &World) -> Result<Plan, WorldError> {
    let mut plan = Plan::default();
    // The links below the run's own tmpfses.
    let mut links: Vec<Vec<u8>> = Vec::new();
    // The mount points so far, and for each whether the file system there belongs to the host.
    let mut mounted: Vec<(Vec<u8>, bool)> = Vec::new();
    // The mount points of the run's own tmpfses, each with the index of the template operation that
    // creates it.
    let mut own: Vec<(Vec<u8>, usize)> = Vec::new();
    for (number, mount) in world.mounts.iter().enumerate() {
        mount.check()?;
        let wrong = |problem| WorldError::at(mount.path(), problem);
        let path = normal(mount.path()).map_err(wrong)?;
        let c_path = CString::new(path.clone()).map_err(|_| wrong(WorldProblem::PathHasNul))?;
        let stage = own
            .iter()
            .rev()
            .find(|(above, _)| is_below(&path, above))
            .map(|(_, at)| *at);
        // The plan cannot resolve a path below a link.
        if let Some(link) = links.iter().find(|link| is_below(&path, link)) {
            return Err(wrong(WorldProblem::BelowLink(shown(link))));
        }
        match mount {
            Mount::Tmpfs {
                size,
                inodes,
                mode,
                read_only: false,
                no_exec,
                ..
            } => {
                // 0 means "no limit" for both options (tmpfs(5)), so `check` rejects a size of 0.
                // Without a size, statfs(2) would report 0 bytes in total and free, and programs
                // that check the free space would fail. 100 % is the memory of the machine.
                let size = size.map_or("100%".to_owned(), |bytes| bytes.to_string());
                let inodes = inodes.unwrap_or(0);
                let options = format!("mode={mode:o},size={size},nr_inodes={inodes}");
                if stage.is_some() {
                    make_parents(&mut plan, number, &path, &own, &mounted);
                    if !is_hosts(&path, &mounted) {
                        let path = c_path.clone();
                        plan.run.push((
                            number,
                            RunMount::CreateDir {
                                path,
                                mode: 0o755,
                                may_exist: true,
                            },
                        ));
                    }
                } else {
                    own.push((path.clone(), plan.template.len()));
                    plan.template.push((number, TemplateMount::MountPoint));
                }
                let options = CString::new(options).map_err(|_| internal("tmpfs options"))?;
                plan.run.push((
                    number,
                    RunMount::Tmpfs {
                        path: c_path,
                        options,
                        no_exec: *no_exec,
                    },
                ));
            }
            Mount::Terminals { .. } => {
                if stage.is_some() {
                    make_parents(&mut plan, number, &path, &own, &mounted);
                    let path = c_path.clone();
                    let (mode, may_exist) = (0o755, true);
                    plan.run.push((
                        number,
                        RunMount::CreateDir {
                            path,
                            mode,
                            may_exist,
                        },
                    ));
                } else {
                    plan.template.push((number, TemplateMount::MountPoint));
                }
                plan.run
                    .push((number, RunMount::Terminals { path: c_path }));
            }
            Mount::Proc {
                processes_only,
                system,
                ..
            } => {
                if stage.is_some() {
                    return Err(wrong(WorldProblem::ProcfsBelowTmpfs));
                }
                plan.wants_procfs = true;
                plan.template.push((number, TemplateMount::Procfs));
                let options = if *processes_only || system.is_some() {
                    c"subset=pid"
                } else {
                    c""
                };
                let (files, kept) = match system {
                    Some(_) => (system::proc_mounts(), system::kept_in_proc()),
                    None => Default::default(),
                };
                plan.run.push((
                    number,
                    RunMount::Proc {
                        path: c_path,
                        options: options.to_owned(),
                        files,
                        kept,
                    },
                ));
            }
            Mount::Bind { .. } | Mount::Tmpfs { .. } if stage.is_some() => {
                let Some(at) = stage else { continue };
                let (owner, _) = plan.template[at];
                if plan.template[at].1 == TemplateMount::MountPoint {
                    plan.template[at].1 = TemplateMount::Stage;
                    let point = plan.run.iter().position(|(number, run)| {
                        *number == owner && matches!(run, RunMount::Tmpfs { .. })
                    });
                    let (Some(point), Some((above, _))) =
                        (point, own.iter().find(|(_, index)| *index == at))
                    else {
                        return Err(internal("a stage without its tmpfs"));
                    };
                    let above =
                        CString::new(above.clone()).map_err(|_| wrong(WorldProblem::PathHasNul))?;
                    plan.run.insert(
                        point,
                        (
                            owner,
                            RunMount::OpenStage {
                                path: above,
                                device: 0,
                            },
                        ),
                    );
                    plan.staged
                        .iter_mut()
                        .filter(|(index, _)| *index >= point)
                        .for_each(|(index, _)| *index += 1);
                }
                let name = plan.staged.len().to_string();
                make_parents(&mut plan, number, &path, &own, &mounted);
                let c_name = CString::new(name.clone())
                    .map_err(|_| internal("the name of a staged mount"))?;
                plan.template.push((number, TemplateMount::IntoStage(name)));
                plan.staged
                    .push((plan.run.len(), is_hosts(&path, &mounted)));
                plan.run.push((
                    number,
                    RunMount::FromStage {
                        name: c_name,
                        path: c_path,
                    },
                ));
            }
            Mount::CreateDir { .. } | Mount::CreateFile { .. } | Mount::Symlink { .. }
                if stage.is_some() && is_hosts(&path, &mounted) =>
            {
                return Err(wrong(WorldProblem::OnHostFileSystem));
            }
            Mount::CreateDir { mode, .. } if stage.is_some() => {
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::CreateDir {
                        path: c_path,
                        mode: *mode,
                        may_exist: false,
                    },
                ));
            }
            Mount::CreateFile { mode, .. } if stage.is_some() => {
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::CreateFile {
                        path: c_path,
                        mode: *mode,
                        may_exist: false,
                    },
                ));
            }
            Mount::Symlink { target, .. } if stage.is_some() => {
                let target =
                    CString::new(target.clone()).map_err(|_| wrong(WorldProblem::TargetHasNul))?;
                make_parents(&mut plan, number, &path, &own, &mounted);
                plan.run.push((
                    number,
                    RunMount::Symlink {
                        target,
                        path: c_path,
                    },
                ));
                links.push(path.clone());
            }
            // `devices::expand` has replaced these mounts.
            Mount::Devices { .. } => return Err(internal("devices as one mount")),
            Mount::NewRoot { .. } => {
                if !plan.run.is_empty() {
                    return Err(wrong(WorldProblem::NewRootTooLate));
                }
                plan.template.push((number, TemplateMount::Unchanged));
            }
            Mount::Etc { .. } | Mount::Sys { .. } if stage.is_some() => {
                return Err(wrong(WorldProblem::OnHostFileSystem));
            }
            Mount::Bind { .. }
            | Mount::Tmpfs { .. }
            | Mount::CreateDir { .. }
            | Mount::CreateFile { .. }
            | Mount::Symlink { .. }
            | Mount::Etc { .. }
            | Mount::Sys { .. } => plan.template.push((number, TemplateMount::Unchanged)),
        }
        match mount {
            Mount::Bind { .. } => mounted.push((path, true)),
            Mount::Tmpfs { .. } | Mount::Proc { .. } | Mount::Terminals { .. } => {
                mounted.push((path, false));
            }
            _ => {}
        }
    }
    // Only one stage is open at a time, so the binds of one stage must follow each other.
    let stages = plan
        .template
        .iter()
        .filter(|(_, what)| *what == TemplateMount::Stage)
        .count();
    if stages > 1 {
        return Err(WorldProblem::BindsBelowTwoTmpfs.into());
    }
    Ok(plan)
}

fn internal(what: &str) -> WorldError {
    WorldProblem::Internal(what.to_owned()).into()
}

impl Plan {
    /// Returns pid1's operations. The mounter has reported which staged binds are directories, and
    /// the device number of the stage.
    pub fn run_mounts(self, staged_directories: &[bool], stage: u64) -> Vec<(u32, RunMount)> {
        let mut all = Vec::new();
        for (index, (number, mut mount)) in self.run.into_iter().enumerate() {
            let number = number as u32;
            if let RunMount::OpenStage { device, .. } = &mut mount {
                *device = stage;
            }
            if let RunMount::FromStage { path, .. } = &mount {
                let which = self.staged.iter().position(|(at, _)| *at == index);
                let directory = which
                    .and_then(|at| staged_directories.get(at))
                    .copied()
                    .unwrap_or(false);
                let hosts = which
                    .and_then(|at| self.staged.get(at))
                    .is_some_and(|(_, hosts)| *hosts);
                let path = path.clone();
                if directory && !hosts {
                    all.push((
                        number,
                        RunMount::CreateDir {
                            path,
                            mode: 0o755,
                            may_exist: true,
                        },
                    ));
                } else if !hosts {
                    all.push((
                        number,
                        RunMount::CreateFile {
                            path,
                            mode: 0o644,
                            may_exist: true,
                        },
                    ));
                }
            }
            all.push((number, mount));
        }
        all
    }
}

/// Adds operations that create the directories between a run's own tmpfs and `path`, except those
/// on file systems of the host.
fn make_parents(
    plan: &mut Plan,
    number: usize,
    path: &[u8],
    own: &[(Vec<u8>, usize)],
    mounted: &[(Vec<u8>, bool)],
) {
    let Some(above) = own
        .iter()
        .map(|(above, _)| above)
        .filter(|above| is_below(path, above))
        .max_by_key(|a| a.len())
    else {
        return;
    };
    for (at, _) in path
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte == b'/' && *at > above.len())
    {
        let path = &path[..at];
        if let (Ok(path), false) = (CString::new(path), is_hosts(path, mounted)) {
            plan.run.push((
                number,
                RunMount::CreateDir {
                    path,
                    mode: 0o755,
                    may_exist: true,
                },
            ));
        }
    }
}

/// Whether a path lies on a file system of the host. The latest mount above the path decides.
fn is_hosts(path: &[u8], mounted: &[(Vec<u8>, bool)]) -> bool {
    mounted
        .iter()
        .rev()
        .find(|(above, _)| is_below(path, above))
        .is_some_and(|(_, hosts)| *hosts)
}

/// Whether a normalised path lies below another.
pub fn is_below(path: &[u8], above: &[u8]) -> bool {
    above == b"/" && path != b"/"
        || path
            .strip_prefix(above)
            .is_some_and(|rest| rest.first() == Some(&b'/'))
}
