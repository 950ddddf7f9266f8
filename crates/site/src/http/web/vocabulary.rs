//! The words for roles, scopes, states and kinds.

use crate::core::judgement::State;
use crate::db::api_token::Scope;
use crate::db::contest::MemberRole;
use crate::db::job::{self, Kind};
use crate::db::user::Role;
use crate::text::{Message, t};

/// The name of a role on the site.
pub fn role(role: Role) -> &'static dyn Message {
    match role {
        Role::User => &t::RoleUser,
        Role::Teacher => &t::RoleTeacher,
        Role::Admin => &t::RoleAdmin,
    }
}

/// The name of a role in a contest.
pub fn member_role(role: MemberRole) -> &'static dyn Message {
    match role {
        MemberRole::Contestant => &t::MemberContestant,
        MemberRole::Moderator => &t::MemberModerator,
        MemberRole::Owner => &t::MemberOwner,
    }
}

/// What a token allows.
pub fn scope(scope: Scope) -> &'static dyn Message {
    match scope {
        Scope::Submit => &t::ScopeSubmit,
        Scope::Read => &t::ScopeRead,
        Scope::Manage => &t::ScopeManage,
    }
}

/// The state of a judgement.
pub fn judgement_state(state: State) -> &'static dyn Message {
    match state {
        State::Queued => &t::JudgementQueued,
        State::Running => &t::JudgementRunning,
        State::Done => &t::JudgementDone,
        State::Fault => &t::JudgementFault,
        State::Cancelled => &t::JudgementCancelled,
    }
}

/// The state of a job.
pub fn job_state(state: job::State) -> &'static dyn Message {
    match state {
        job::State::Queued => &t::JobQueued,
        job::State::Running => &t::JobRunning,
        job::State::Stopping => &t::JobStopping,
        job::State::Done => &t::JobDone,
        job::State::Failed => &t::JobFailed,
        job::State::Cancelled => &t::JobCancelled,
    }
}

/// What a job does.
pub fn job_kind(kind: Kind) -> &'static dyn Message {
    match kind {
        Kind::AddProblem => &t::JobAddProblem,
        Kind::AddVersion => &t::JobAddVersion,
        Kind::ChangeStatement => &t::JobChangeStatement,
        Kind::CompileStatements => &t::JobCompileStatements,
        Kind::ResetLimits => &t::JobResetLimits,
        Kind::MergeProblems => &t::JobMergeProblems,
        Kind::DeleteProblem => &t::JobDeleteProblem,
        Kind::DeleteContest => &t::JobDeleteContest,
        Kind::DeleteRound => &t::JobDeleteRound,
        Kind::DeleteRoundProblem => &t::JobDeleteRoundProblem,
        Kind::CompareSources => &t::JobCompareSources,
    }
}
