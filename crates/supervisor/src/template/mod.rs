//! Templates: a mount namespace prepared once for each world and copied for each run.
//!
//! A separate process, the *mounter*, builds a template. If a file system hangs (FUSE, NFS), only
//! the mounter and the runs that need that world hang. When the mounter has finished, only its
//! mount namespace remains, as a descriptor.
//!
//! [`plan()`] splits the mounts of a world. Binds, directories, files and links belong to the
//! template. A writable tmpfs and a procfs belong to one run, so the template has only their mount
//! points, and pid1 mounts them in its copy. A mount below such a tmpfs can be made only after the
//! tmpfs. The template keeps that mount in a *stage*, a tmpfs at the same mount point, which the
//! run's own tmpfs then covers. [`build()`] carries out the mounter's part.
//!
//! pid1's user namespace owns less than the template's did, so the kernel locks all mounts of the
//! copy together (mount_namespaces(7)). A program cannot remove one of them to see the files
//! beneath.

mod build;
mod plan;
mod system;

pub use build::{BuildError, Built, build};
pub use plan::{Plan, is_below, plan};
pub use system::HOST_NAME;
