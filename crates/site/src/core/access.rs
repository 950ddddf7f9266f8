//! What a user may do on the site, with a problem and in a contest.
//!
//! Pages ask these functions before they show or change something, and show only those actions that
//! are allowed. An object that a user may not know of is reported as missing.

use super::participation::State;
use super::time::Time;
use super::visibility::Relation;
use crate::db::contest::{MemberRole, Visibility as ContestVisibility};
use crate::db::problem::{Problem, Tag, Visibility};
use crate::db::user::Role;

/// The sender of a request; guests have no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewer {
    /// The id and the role, if the user is signed in.
    pub user: Option<(i64, Role)>,
}

impl Viewer {
    /// The id; none for guests.
    pub fn id(self) -> Option<i64> {
        self.user.map(|(id, _)| id)
    }

    /// Whether this is an administrator.
    pub fn is_admin(self) -> bool {
        matches!(self.user, Some((_, Role::Admin)))
    }

    /// Whether this is a teacher or an administrator. Both may add problems and private contests.
    pub fn is_teacher(self) -> bool {
        matches!(self.user, Some((_, Role::Admin | Role::Teacher)))
    }
}

/// What a user may do with a problem outside contests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each right is given by itself"
)]
pub struct ProblemAccess {
    /// See it.
    pub view: bool,
    /// Submit to it.
    pub submit: bool,
    /// Use it in contests.
    pub attach: bool,
    /// Change it, download it and see all submissions to it.
    pub edit: bool,
    /// See its hidden tags.
    pub hidden_tags: bool,
}

impl ProblemAccess {
    /// Whether the user sees a tag of the problem.
    pub fn sees_tag(self, tag: &Tag) -> bool {
        self.hidden_tags || !tag.hidden
    }

    /// Whether the user sees the problem only because a class shows it.
    pub fn is_by_class(&self) -> bool {
        self.submit && !self.attach
    }
}

/// Determines what a user may do with a problem outside contests. `is_shown` states whether a class
/// of the user shows the problem: its members see it and submit to it.
pub fn problem(viewer: Viewer, problem: &Problem, is_shown: bool) -> ProblemAccess {
    let edit = viewer.is_admin() || viewer.id() == Some(problem.owner_id);
    let general = edit
        || match problem.visibility {
            Visibility::Public => true,
            Visibility::ContestOnly => viewer.is_teacher(),
            Visibility::Private => false,
        };
    let view = general || (is_shown && viewer.user.is_some());
    ProblemAccess {
        view,
        submit: view && viewer.user.is_some(),
        attach: general && viewer.user.is_some(),
        edit,
        hidden_tags: edit || (general && viewer.is_teacher()),
    }
}

/// Whether a user may show a problem to a class. The rule of the owner is also in SQL
/// (`db/class.rs`): a problem that becomes private leaves the classes of other teachers.
pub fn shows(viewer: Viewer, problem: &Problem, class_owner: i64) -> bool {
    let is_effective = problem.visibility != Visibility::Private || problem.owner_id == class_owner;
    self::problem(viewer, problem, false).attach && is_effective
}

/// Whether a user manages a class.
pub fn class(viewer: Viewer, owner: i64) -> bool {
    viewer.is_admin() || (viewer.is_teacher() && viewer.id() == Some(owner))
}

/// A user, and what connects a teacher with the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PupilTie {
    /// The role of the user.
    pub role: Role,
    /// Whether the teacher has added the user.
    pub is_created: bool,
    /// Whether the user is a member of one of the teacher's classes.
    pub is_in_class: bool,
    /// Whether the user owns a problem or manages a contest.
    pub is_manager: bool,
}

/// Whether a user is a pupil of the viewer. The viewer may then change the name and the password of
/// the user, and so has all rights of the user. Therefore users with more rights than a contestant
/// are no pupils, not even of administrators, which have other pages for them.
pub fn pupil(viewer: Viewer, tie: PupilTie) -> bool {
    let is_known = viewer.is_teacher() && (tie.is_created || tie.is_in_class);
    tie.role == Role::User && !tie.is_manager && (viewer.is_admin() || is_known)
}

/// What a user may do in a contest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContestAccess {
    /// See it.
    pub view: bool,
    /// Change it, and see all submissions, full results and everything before it begins.
    pub manage: bool,
    /// Appoint and remove owners.
    pub own: bool,
    /// Submit while a round is open.
    pub take_part: bool,
}

/// Determines what a user may do in a contest.
pub fn contest(
    viewer: Viewer,
    visibility: ContestVisibility,
    role: Option<MemberRole>,
) -> ContestAccess {
    let own = viewer.is_admin() || role == Some(MemberRole::Owner);
    let manage = own || role == Some(MemberRole::Moderator);
    let view = manage || role.is_some() || visibility == ContestVisibility::Public;
    ContestAccess {
        view,
        manage,
        own,
        take_part: view && viewer.user.is_some(),
    }
}

impl ContestAccess {
    /// The access of a participant in a state. The staff may test the contest in every state.
    #[must_use]
    pub fn of_participant(self, state: State) -> ContestAccess {
        ContestAccess {
            take_part: self.take_part && (self.manage || state.rights().takes_part),
            ..self
        }
    }

    /// Whether the user may know that a round exists.
    pub fn sees_round(self, begins: Time, now: Time) -> bool {
        self.view && (self.manage || begins <= now)
    }

    /// Whether the user may submit to a round now.
    pub fn submits(self, begins: Time, ends: Time, now: Time) -> bool {
        self.take_part && (self.manage || (begins <= now && now < ends))
    }

    /// Whether the ranking includes the results of a round for this user.
    pub fn sees_ranking(self, begins: Time, ranking_from: Time, now: Time) -> bool {
        self.sees_round(begins, now) && (self.manage || ranking_from <= now)
    }

    /// Whether the user sees the full results of a round.
    pub fn sees_full_results(self, full_results: Time, now: Time) -> bool {
        self.view && (self.manage || full_results <= now)
    }
}

/// A submission, and what connects a user with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tie {
    /// The author.
    pub author: i64,
    /// The owner of the problem.
    pub problem_owner: i64,
    /// Whether the user manages the submission's contest; `None` outside contests.
    pub manages_contest: Option<bool>,
    /// Whether the submission's round is over for all participants.
    pub is_over: bool,
    /// Whether the user belongs to the author's team.
    pub is_teammate: bool,
}

/// The relation of a user to a submission. Members of the author's team see what the author sees.
///
/// Owning a problem is no right on its uses. In a contest that the owner of the problem does not
/// manage, the owner reads the submissions after the round, and changes nothing.
pub fn submission(viewer: Viewer, tie: Tie) -> Relation {
    let Some(id) = viewer.id() else {
        return Relation::Stranger;
    };
    let owns = id == tie.problem_owner;
    if viewer.is_admin() || tie.manages_contest.unwrap_or(owns) {
        Relation::Staff
    } else if owns && tie.is_over {
        Relation::Owner
    } else if id == tie.author || tie.is_teammate {
        Relation::Author
    } else {
        Relation::Stranger
    }
}

/// Whether a merge of problems that a user has started switches a round to the version of the kept
/// problem. A round that runs keeps its version, and so does a round of another user's contest.
pub fn takes_version(is_admin: bool, manages_contest: bool, is_running: bool) -> bool {
    (is_admin || manages_contest) && !is_running
}

/// Whether a user sees a set of submissions that are judged again, and decides on it.
/// `manages_contest` and `owns_problem` refer to the contest and the problem of the set; `None`
/// means that the set has none. `manages_all` states whether the user manages all submissions of
/// the set: owning a problem is no right on its submissions in contests. The list of sets follows
/// the same rule (`db/rejudging.rs`).
pub fn rejudging(
    viewer: Viewer,
    manages_contest: Option<bool>,
    owns_problem: Option<bool>,
    manages_all: bool,
) -> bool {
    let decides = manages_contest == Some(true) || owns_problem == Some(true);
    viewer.is_admin() || (decides && manages_all)
}

/// What a user may do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobAccess {
    /// See it.
    pub view: bool,
    /// See its log.
    pub log: bool,
    /// Stop it and start it again.
    pub control: bool,
}

/// Determines what a user may do with a job. `problem_owner` owns the problem that the job changes;
/// `manages_contest` states whether the user manages the job's contest.
pub fn job(
    viewer: Viewer,
    creator: i64,
    problem_owner: Option<i64>,
    manages_contest: bool,
) -> JobAccess {
    let is = |user: Option<i64>| user.is_some() && viewer.id() == user;
    let control = viewer.is_admin() || is(Some(creator)) || is(problem_owner);
    JobAccess {
        view: control || manages_contest,
        log: control,
        control,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_is_shown_to_the_staff_of_its_contest_and_the_owner_of_its_problem() {
        // Columns: role, manages the contest, owns the problem; whether the set is shown.
        let (no, yes) = (Some(false), Some(true));
        let table = [
            (None, None, None, false),
            (None, no, no, false),
            (Some(Role::User), None, None, false),
            (Some(Role::Teacher), None, None, false),
            (Some(Role::Admin), None, None, true),
            (Some(Role::Admin), no, no, true),
            (Some(Role::User), yes, None, true),
            (Some(Role::User), no, None, false),
            (Some(Role::User), None, yes, true),
            (Some(Role::User), None, no, false),
            (Some(Role::User), no, yes, true),
            (Some(Role::User), yes, no, true),
            (Some(Role::Teacher), no, no, false),
        ];
        for (role, manages, owns, expected) in table {
            let found = rejudging(viewer(role), manages, owns, true);
            assert_eq!(found, expected, "{role:?} {manages:?} {owns:?}");
            let is_admin = role == Some(Role::Admin);
            let found = rejudging(viewer(role), manages, owns, false);
            assert_eq!(found, is_admin, "{role:?} {manages:?} {owns:?}");
        }
    }

    #[test]
    fn job_belongs_to_its_creator_and_to_the_owner_of_its_problem() {
        // Columns: role, creator, problem's owner, manages the contest; expected view, log,
        // control.
        let table = [
            (None, 2, None, false, "---"),
            (Some(Role::Admin), 2, None, false, "vlc"),
            (Some(Role::Teacher), 2, None, false, "---"),
            (Some(Role::User), 1, None, false, "vlc"),
            (Some(Role::User), 2, Some(1), false, "vlc"),
            (Some(Role::User), 2, Some(3), false, "---"),
            (Some(Role::User), 2, None, true, "v--"),
        ];
        for (role, creator, owner, manages, expected) in table {
            let found = job(viewer(role), creator, owner, manages);
            let flags = [found.view, found.log, found.control];
            let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
            assert_eq!(
                flags[..],
                expected,
                "{role:?} {creator} {owner:?} {manages}"
            );
        }
    }

    fn viewer(role: Option<Role>) -> Viewer {
        Viewer {
            user: role.map(|role| (1, role)),
        }
    }

    #[test]
    fn teacher_decides_on_own_pupils_without_rights() {
        let (user, teacher, admin) = (Role::User, Role::Teacher, Role::Admin);
        // Columns: role of the viewer; role of the other user, added by the viewer, in a class of
        // the viewer, manages something; whether the user is a pupil.
        let table = [
            (None, user, true, true, false, false),
            (Some(user), user, true, true, false, false),
            (Some(teacher), user, false, false, false, false),
            (Some(teacher), user, true, false, false, true),
            (Some(teacher), user, false, true, false, true),
            (Some(teacher), user, true, true, true, false),
            (Some(teacher), teacher, true, true, false, false),
            (Some(teacher), admin, true, true, false, false),
            (Some(admin), user, false, false, false, true),
            (Some(admin), user, false, false, true, false),
            (Some(admin), admin, true, true, false, false),
        ];
        for (viewed_by, role, is_created, is_in_class, is_manager, expected) in table {
            let tie = PupilTie {
                role,
                is_created,
                is_in_class,
                is_manager,
            };
            assert_eq!(
                pupil(viewer(viewed_by), tie),
                expected,
                "{viewed_by:?} {tie:?}"
            );
        }
    }

    #[test]
    fn class_is_managed_by_its_owner_while_a_teacher() {
        // The viewer is user 1.
        let table = [
            (None, 1, false),
            (Some(Role::User), 1, false),
            (Some(Role::Teacher), 1, true),
            (Some(Role::Teacher), 2, false),
            (Some(Role::Admin), 2, true),
        ];
        for (role, owner, expected) in table {
            assert_eq!(class(viewer(role), owner), expected, "{role:?} {owner}");
        }
    }

    #[test]
    fn class_shows_problems_that_its_owner_may_use() {
        let of = |visibility, owner_id| Problem {
            id: 1,
            name: String::new(),
            label: String::new(),
            visibility,
            owner_id,
        };
        let (teacher, user) = (viewer(Some(Role::Teacher)), viewer(Some(Role::User)));
        let (private, limited) = (Visibility::Private, Visibility::ContestOnly);
        assert!(shows(teacher, &of(private, 1), 1));
        assert!(!shows(teacher, &of(private, 2), 1));
        assert!(shows(teacher, &of(limited, 2), 1));
        assert!(!shows(viewer(Some(Role::Admin)), &of(private, 2), 3));
        // A member sees a problem, and submits to it, and no more.
        for visibility in [private, limited] {
            let found = problem(user, &of(visibility, 2), true);
            assert!(found.view && found.submit);
            assert!(!found.attach && !found.edit && !found.hidden_tags);
        }
        assert!(!problem(viewer(None), &of(private, 2), true).view);
    }

    #[test]
    fn problem_is_seen_by_its_visibility() {
        let of = |visibility, owner_id| Problem {
            id: 1,
            name: String::new(),
            label: String::new(),
            visibility,
            owner_id,
        };
        // Columns: role, visibility, owner; expected view, submit, attach, edit, hidden tags.
        let table = [
            (None, Visibility::Public, 2, "v----"),
            (None, Visibility::ContestOnly, 2, "-----"),
            (None, Visibility::Private, 2, "-----"),
            (Some(Role::User), Visibility::Public, 2, "vsa--"),
            (Some(Role::User), Visibility::ContestOnly, 2, "-----"),
            (Some(Role::User), Visibility::Private, 1, "vsaeh"),
            (Some(Role::Teacher), Visibility::ContestOnly, 2, "vsa-h"),
            (Some(Role::Teacher), Visibility::Private, 2, "-----"),
            (Some(Role::Teacher), Visibility::Private, 1, "vsaeh"),
            (Some(Role::Admin), Visibility::Private, 2, "vsaeh"),
        ];
        for (role, visibility, owner, expected) in table {
            let found = problem(viewer(role), &of(visibility, owner), false);
            let flags = [
                found.view,
                found.submit,
                found.attach,
                found.edit,
                found.hidden_tags,
            ];
            let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
            assert_eq!(flags[..], expected, "{role:?} {visibility:?} {owner}");
        }
    }

    #[test]
    fn submission_is_related_to_its_team_and_staff() {
        use Relation::{Author, Owner, Staff, Stranger};
        let (guest, user, teacher) = (None, Some(Role::User), Some(Role::Teacher));
        let admin = Some(Role::Admin);
        // Columns: role, author, problem's owner, manages the contest, teammate; expected relation
        // while the round runs, and after it. The viewer is user 1.
        let table = [
            (guest, 1, 1, Some(true), true, Stranger, Stranger),
            (user, 2, 3, None, false, Stranger, Stranger),
            (user, 2, 3, Some(false), false, Stranger, Stranger),
            (teacher, 2, 3, Some(false), false, Stranger, Stranger),
            (user, 1, 3, None, false, Author, Author),
            (user, 2, 3, Some(false), true, Author, Author),
            (user, 1, 3, Some(true), false, Staff, Staff),
            (user, 2, 3, Some(true), false, Staff, Staff),
            // The owner of the problem.
            (user, 2, 1, None, false, Staff, Staff),
            (user, 2, 1, Some(true), false, Staff, Staff),
            (user, 2, 1, Some(false), false, Stranger, Owner),
            (teacher, 2, 1, Some(false), false, Stranger, Owner),
            (user, 1, 1, Some(false), false, Author, Owner),
            (user, 2, 1, Some(false), true, Author, Owner),
            (admin, 2, 3, None, false, Staff, Staff),
            (admin, 2, 3, Some(false), false, Staff, Staff),
        ];
        for (role, author, problem_owner, manages_contest, is_teammate, running, over) in table {
            for (is_over, expected) in [(false, running), (true, over)] {
                let tie = Tie {
                    author,
                    problem_owner,
                    manages_contest,
                    is_over,
                    is_teammate,
                };
                assert_eq!(submission(viewer(role), tie), expected, "{role:?} {tie:?}");
            }
        }
    }

    #[test]
    fn merge_leaves_rounds_that_run_or_are_of_others() {
        // Columns: is an administrator, manages, runs; whether the round takes the version.
        let table = [
            (false, false, false, false),
            (false, false, true, false),
            (false, true, false, true),
            (false, true, true, false),
            (true, false, false, true),
            (true, false, true, false),
        ];
        for (admin, manages, running, expected) in table {
            let found = takes_version(admin, manages, running);
            assert_eq!(found, expected, "{admin} {manages} {running}");
        }
    }

    #[test]
    fn only_the_staff_takes_part_although_it_is_disqualified() {
        let (public, user) = (ContestVisibility::Public, viewer(Some(Role::User)));
        let moderator = Some(MemberRole::Moderator);
        // Columns: role, state; whether the user takes part.
        let table = [
            (None, State::TakesPart, true),
            (None, State::Hidden, true),
            (None, State::Disqualified, false),
            (moderator, State::Disqualified, true),
        ];
        for (role, state, expected) in table {
            let access = contest(user, public, role).of_participant(state);
            assert_eq!(access.take_part, expected, "{role:?} {state:?}");
            assert!(access.view);
            assert_eq!(access.submits(Time(1), Time(3), Time(2)), expected);
        }
    }

    #[test]
    fn contest_is_managed_by_its_staff() {
        use ContestVisibility::{Private, Public};
        // Columns: role, visibility, membership; expected view, manage, own, take part.
        let table = [
            (None, Public, None, "v---"),
            (None, Private, None, "----"),
            (Some(Role::User), Public, None, "v--t"),
            (Some(Role::User), Private, None, "----"),
            (Some(Role::Teacher), Private, None, "----"),
            (
                Some(Role::User),
                Private,
                Some(MemberRole::Contestant),
                "v--t",
            ),
            (
                Some(Role::User),
                Private,
                Some(MemberRole::Moderator),
                "vm-t",
            ),
            (Some(Role::User), Private, Some(MemberRole::Owner), "vmot"),
            (Some(Role::Admin), Private, None, "vmot"),
        ];
        for (role, visibility, member, expected) in table {
            let found = contest(viewer(role), visibility, member);
            let flags = [found.view, found.manage, found.own, found.take_part];
            let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
            assert_eq!(flags[..], expected, "{role:?} {visibility:?} {member:?}");
        }
    }

    #[test]
    fn round_is_hidden_before_it_begins_and_closed_after_it_ends() {
        let contestant = contest(viewer(Some(Role::User)), ContestVisibility::Public, None);
        let admin = contest(viewer(Some(Role::Admin)), ContestVisibility::Public, None);
        let (begins, ends) = (Time(10), Time(20));
        for (now, sees, submits) in [(9, false, false), (10, true, true), (20, true, false)] {
            let now = Time(now);
            assert_eq!(contestant.sees_round(begins, now), sees);
            assert_eq!(contestant.submits(begins, ends, now), submits);
            assert!(admin.sees_round(begins, now) && admin.submits(begins, ends, now));
        }
        assert!(!contestant.sees_ranking(begins, Time(15), Time(14)));
        assert!(contestant.sees_ranking(begins, Time(15), Time(15)));
        assert!(!contestant.sees_ranking(begins, Time(5), Time(9)));
        assert!(!contestant.sees_full_results(ends, Time(19)));
        assert!(contestant.sees_full_results(ends, Time(20)));
    }
}
