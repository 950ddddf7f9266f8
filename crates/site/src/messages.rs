//! Compares the messages of errors that pages, logs and commands show with a golden file.

use crate::core::lane::LaneError;
use crate::jobs::JobError;
use crate::jobs::packages::SolutionFault;
use crate::judging::trial::TrialError;
use crate::oidc::{CertificateFault, OidcError};
use crate::transfer::{LineFault, StoredFault, TransferError};
use millibox_golden::assert_messages;
use millibox_judge::failure::JudgeFailure;
use millibox_languages::compile::InternalError;
use millibox_languages::suite::ChoiceError;

#[test]
fn messages_match_golden_file() {
    let name = || "NAME".to_owned();
    let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let line = |why| TransferError::Line { line: 7, why };
    let stored = |why| TransferError::Package {
        sha256: name(),
        why,
    };
    let certificates = |why| OidcError::Certificates { file: name(), why };
    assert_messages(
        env!("CARGO_MANIFEST_DIR"),
        "messages.txt",
        &[
            ("JobError::NoProblem", &JobError::NoProblem),
            ("JobError::NoPackage", &JobError::NoPackage),
            ("JobError::NoStatement", &JobError::NoStatement),
            ("JobError::ProblemInUse", &JobError::ProblemInUse),
            (
                "JobError::StatementExtension",
                &JobError::StatementExtension {
                    known: "problem.tex".into(),
                },
            ),
            ("JobError::System", &JobError::System(denied())),
            ("JobError::Lost", &JobError::Lost),
            ("JobError::Panic", &JobError::Panic),
            ("SolutionFault::SeveralFiles", &SolutionFault::SeveralFiles),
            ("SolutionFault::Name", &SolutionFault::Name),
            ("SolutionFault::Language", &SolutionFault::Language),
            ("SolutionFault::TooLong", &SolutionFault::TooLong),
            ("SolutionFault::System", &SolutionFault::System(denied())),
            ("TrialError::Busy", &TrialError::Busy(LaneError::Full)),
            ("TrialError::Ended", &TrialError::Ended),
            (
                "TrialError::Language",
                &TrialError::Language(ChoiceError::NoSources),
            ),
            (
                "TrialError::Compiler",
                &TrialError::Compiler(InternalError::NoCommonDirectory.into()),
            ),
            (
                "TrialError::Judge",
                &TrialError::Judge(JudgeFailure::NoAnswer),
            ),
            ("TrialError::File", &TrialError::File(denied())),
            (
                "CertificateFault::Read",
                &certificates(CertificateFault::Read(denied())),
            ),
            (
                "CertificateFault::Missing",
                &certificates(CertificateFault::Missing),
            ),
            ("LineFault::NoContest", &line(LineFault::NoContest)),
            ("LineFault::EndsEarly", &line(LineFault::EndsEarly)),
            ("LineFault::Format", &line(LineFault::Format)),
            ("LineFault::SecondHeader", &line(LineFault::SecondHeader)),
            ("LineFault::Incomplete", &line(LineFault::Incomplete)),
            (
                "LineFault::UnknownTable",
                &line(LineFault::UnknownTable(name())),
            ),
            ("LineFault::NoText", &line(LineFault::NoText(name()))),
            ("LineFault::NoPackage", &line(LineFault::NoPackage(name()))),
            ("LineFault::NoFile", &line(LineFault::NoFile(name()))),
            ("LineFault::FileName", &line(LineFault::FileName)),
            ("LineFault::OpenPackage", &line(LineFault::OpenPackage)),
            ("LineFault::Password", &line(LineFault::Password)),
            (
                "LineFault::NotANumber",
                &line(LineFault::NotANumber(name())),
            ),
            (
                "LineFault::NoRow",
                &line(LineFault::NoRow {
                    column: name(),
                    id: 5,
                }),
            ),
            ("StoredFault::Damaged", &stored(StoredFault::Damaged)),
        ],
    );
}
