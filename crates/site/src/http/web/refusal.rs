//! Why the viewer may not do something now, although the viewer sees the page.

use crate::text::{Message, t};

/// The reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Users cannot sign up without a link.
    InvitationOnly,
    /// The site would lose its last administrator.
    LastAdmin,
    /// Administrators cannot delete themselves.
    OwnAccount,
    /// One-time passwords are already enabled.
    TotpOn,
    /// No secret waits to be confirmed.
    TotpMissing,
    /// A line of an import is refused.
    RosterRefused,
    /// The site has changed since the preview of an import.
    RosterChanged,
    /// Only administrators may publish contests.
    PublishContest,
    /// Only administrators may publish problems.
    PublishProblem,
    /// A round uses the problem.
    ProblemInUse,
    /// Submissions of packages follow their packages.
    PackageSubmission,
    /// Submissions for practice never count.
    PracticeSubmission,
    /// An ended job cannot be stopped.
    JobEnded,
    /// Only a stopped job can be started again.
    JobNotStopped,
    /// Moderators cannot change owners.
    OwnersOnly,
    /// The contest would lose its last owner.
    LastOwner,
    /// A participant with submissions cannot be removed.
    ParticipantHasSubmissions,
    /// The user has as many tokens as allowed.
    TooManyTokens {
        /// The maximum number.
        max: usize,
    },
    /// The staff of the contest has disqualified the participant.
    Disqualified {
        /// The reason; may be empty.
        reason: String,
    },
    /// The round has ended.
    RoundOver,
    /// The round does not accept submissions now.
    RoundNotOpen,
    /// The round does not run, or has no end.
    RoundNotRunning,
    /// The end of the round has changed since the form was shown.
    EndChanged,
    /// The participant has made all submissions that the rules allow.
    NoSubmissionsLeft {
        /// The number.
        max: i64,
    },
    /// A team has no member that could be the author of a submission.
    TeamWithoutMembers,
    /// Only owners may change the times of the freeze.
    FreezeOwner,
    /// Only owners may thaw the ranking.
    ThawOwner,
    /// The submission is already waiting.
    InQueue,
    /// The set was applied or dropped.
    RejudgingDecided,
    /// The set has been decided on, or is still being judged.
    RejudgingNotReady,
    /// The set waits for a decision.
    RejudgingOpen,
    /// A sign-in at another service has ended, or belongs to another browser.
    ServiceFlow,
    /// The other service, or its user, has refused.
    ServiceRefused,
    /// The other service has not confirmed the sign-in.
    ServiceFailed,
    /// No user is linked to the identity.
    ServiceNotLinked,
    /// The identity is linked to another user.
    ServiceTaken,
    /// An administrator has disabled the user.
    AccountDisabled,
    /// A contest has too many files.
    TooManyFiles {
        /// The maximum number.
        max: usize,
    },
    /// The files of the user take as much space as allowed.
    DiskFull {
        /// The maximum in GiB.
        gib: u64,
    },
    /// The jobs of a form do not fit beside the jobs that wait.
    TooManyLargePackages {
        /// The number of packages that the user can add now.
        left: i64,
    },
    /// The user has as many waiting jobs as allowed.
    TooManyJobs {
        /// The maximum number.
        max: i64,
    },
    /// A user is no pupil of the teacher, or has the rights of more than a contestant.
    NoPupil {
        /// The login of the user.
        login: String,
    },
    /// A class needs a teacher.
    NoTeacher {
        /// The login of a user without this right.
        login: String,
    },
    /// The teacher has as many classes as allowed.
    TooManyClasses {
        /// The maximum number.
        max: i64,
    },
    /// A class has as many members as allowed.
    ClassFull {
        /// The maximum number.
        max: i64,
    },
    /// The teacher has added as many users as allowed.
    TooManyPupils {
        /// The maximum number.
        max: i64,
    },
    /// The sources of a contest are too large for one archive.
    TooManySources {
        /// The maximum in MiB.
        mib: usize,
    },
    /// The teacher of a class may not use the problem.
    ForeignProblem,
    /// The question has a different answer from the one that the form showed.
    AnsweredMeanwhile,
}

impl Refusal {
    /// The message for the user.
    pub fn message(&self) -> Box<dyn Message + '_> {
        match self {
            Refusal::InvitationOnly => Box::new(t::RefusalInvitationOnly),
            Refusal::LastAdmin => Box::new(t::RefusalLastAdmin),
            Refusal::OwnAccount => Box::new(t::RefusalOwnAccount),
            Refusal::TotpOn => Box::new(t::RefusalTotpOn),
            Refusal::TotpMissing => Box::new(t::RefusalTotpMissing),
            Refusal::RosterRefused => Box::new(t::RosterCorrect),
            Refusal::RosterChanged => Box::new(t::RefusalRosterChanged),
            Refusal::PublishContest => Box::new(t::RefusalPublishContest),
            Refusal::PublishProblem => Box::new(t::RefusalPublishProblem),
            Refusal::ProblemInUse => Box::new(t::RefusalProblemInUse),
            Refusal::PackageSubmission => Box::new(t::RefusalPackageSubmission),
            Refusal::PracticeSubmission => Box::new(t::RefusalPracticeSubmission),
            Refusal::JobEnded => Box::new(t::RefusalJobEnded),
            Refusal::JobNotStopped => Box::new(t::RefusalJobNotStopped),
            Refusal::OwnersOnly => Box::new(t::RefusalOwnersOnly),
            Refusal::LastOwner => Box::new(t::RefusalLastOwner),
            Refusal::ParticipantHasSubmissions => Box::new(t::RefusalParticipantHasSubmissions),
            Refusal::TooManyTokens { max } => Box::new(t::RefusalTooManyTokens { max }),
            Refusal::Disqualified { reason } if reason.is_empty() => {
                Box::new(t::RefusalDisqualified)
            }
            Refusal::Disqualified { reason } => Box::new(t::RefusalDisqualifiedFor { reason }),
            Refusal::RoundOver => Box::new(t::RefusalRoundOver),
            Refusal::RoundNotOpen => Box::new(t::RefusalRoundNotOpen),
            Refusal::RoundNotRunning => Box::new(t::RefusalRoundNotRunning),
            Refusal::EndChanged => Box::new(t::RefusalEndChanged),
            Refusal::NoSubmissionsLeft { max } => Box::new(t::RefusalNoSubmissionsLeft { max }),
            Refusal::TeamWithoutMembers => Box::new(t::RefusalTeamWithoutMembers),
            Refusal::FreezeOwner => Box::new(t::RefusalFreezeOwner),
            Refusal::ThawOwner => Box::new(t::RefusalThawOwner),
            Refusal::InQueue => Box::new(t::RefusalInQueue),
            Refusal::RejudgingDecided => Box::new(t::RefusalRejudgingDecided),
            Refusal::RejudgingNotReady => Box::new(t::RefusalRejudgingNotReady),
            Refusal::RejudgingOpen => Box::new(t::RefusalRejudgingOpen),
            Refusal::ServiceFlow => Box::new(t::RefusalServiceFlow),
            Refusal::ServiceRefused => Box::new(t::RefusalServiceRefused),
            Refusal::ServiceFailed => Box::new(t::RefusalServiceFailed),
            Refusal::ServiceNotLinked => Box::new(t::RefusalServiceNotLinked),
            Refusal::ServiceTaken => Box::new(t::RefusalServiceTaken),
            Refusal::AccountDisabled => Box::new(t::RefusalAccountDisabled),
            Refusal::TooManyFiles { max } => Box::new(t::RefusalTooManyFiles { max }),
            Refusal::DiskFull { gib } => Box::new(t::RefusalDiskFull { gib }),
            Refusal::TooManyLargePackages { left } => {
                Box::new(t::RefusalTooManyLargePackages { left: *left })
            }
            Refusal::TooManyJobs { max } => Box::new(t::RefusalTooManyJobs { max }),
            Refusal::NoPupil { login } => Box::new(t::RefusalNoPupil { login }),
            Refusal::NoTeacher { login } => Box::new(t::RefusalNoTeacher { login }),
            Refusal::TooManyClasses { max } => Box::new(t::RefusalTooManyClasses { max }),
            Refusal::ClassFull { max } => Box::new(t::RefusalClassFull { max }),
            Refusal::TooManyPupils { max } => Box::new(t::RefusalTooManyPupils { max }),
            Refusal::TooManySources { mib } => Box::new(t::RefusalTooManySources { mib }),
            Refusal::ForeignProblem => Box::new(t::RefusalForeignProblem),
            Refusal::AnsweredMeanwhile => Box::new(t::RefusalAnsweredMeanwhile),
        }
    }
}
