//! The connection between solution and interactor.

/// The connection between the two programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Two pipes join the programs. A message costs as much as without a judge. The judge does not
    /// notice that a program closes its standard output and keeps running: the other program sees
    /// the end of its input when that program ends.
    #[default]
    Direct,
    /// The judge moves messages between four pipes. Each message costs two more context switches.
    /// The judge notices that a program closes its standard output and keeps running, and counts
    /// the solution's output to the byte.
    Relay,
}
