//! The connection between solution and interactor.

/// The connection between the two programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Two pipes connect the programs. A message costs as much as without a judge. The judge does
    /// not notice if a program closes its standard output and keeps running. The other program then
    /// sees the end of its input only when the first one ends.
    #[default]
    Direct,
    /// The judge moves messages between four pipes. Each message costs two more context switches.
    /// The judge notices if a program closes its standard output and keeps running, and counts
    /// every byte of the solution's output.
    Relay,
}
