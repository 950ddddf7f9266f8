//! Checks the inputs of problems with programs in the language checktestdata.
//!
//! ```
//! use millibox_checktestdata::Program;
//!
//! let program = Program::parse("INT(1, 100, n) NEWLINE REP(n, SPACE) INT(0, 9) END NEWLINE")?;
//! assert!(program.check(b"2\n3 4\n").is_ok());
//! assert!(program.check(b"2\n3\n").is_err());
//! # Ok::<(), millibox_checktestdata::SyntaxError>(())
//! ```
//!
//! Programs and inputs come from strangers. The interpreter is safe code that opens no files, and
//! it counts the steps and the bytes that a check uses. A check that exceeds a bound ends with an
//! error.
//!
//! | module | content |
//! | --- | --- |
//! | `lexer` | words of a program |
//! | `syntax` | the parser and the syntax tree |
//! | `value` | numbers and strings |
//! | `run` | the interpreter |
#![forbid(unsafe_code)]

mod lexer;
mod run;
mod syntax;
mod value;

pub use lexer::SyntaxError;
pub use run::{Rejection, Why};

/// A program that describes the inputs of a problem.
#[derive(Debug)]
pub struct Program(Vec<syntax::Command>);

impl Program {
    /// Parses a program.
    ///
    /// # Errors
    /// The text is not a program, or is nested too deeply.
    pub fn parse(text: &str) -> Result<Program, SyntaxError> {
        syntax::parse(text).map(Program)
    }

    /// Checks an input.
    ///
    /// # Errors
    /// The program does not match the input, has a fault that shows only when it runs, or exceeds a
    /// bound.
    pub fn check(&self, input: &[u8]) -> Result<(), Rejection> {
        run::run(&self.0, input)
    }
}
