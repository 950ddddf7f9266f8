//! What a user sees of questions, answers and announcements.
//!
//! A question is visible to its author, the author's team and the staff of the contest. An answer
//! to all is visible to everyone with access to the contest. Questions and answers about a problem
//! are hidden until the round of the problem has begun for the viewer.

use super::access::ContestAccess;
use super::time::Time;
use crate::db::clarification::Audience;

/// The maximum length of a question, an answer or an announcement, in characters.
pub const MAX_TEXT: usize = 4000;
/// The maximum number of canned answers of a contest.
pub const MAX_CANNED: usize = 50;
/// The maximum length of a canned answer, in characters.
pub const MAX_CANNED_TEXT: usize = 500;

/// The facts on which visibility depends. An announcement is an answer without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Whether the viewer or the viewer's team has asked.
    pub is_own: bool,
    /// The audience of the answer.
    pub audience: Audience,
    /// Whether there is an answer.
    pub is_answered: bool,
    /// When the round of the problem begins for the viewer; `None` if it concerns no problem.
    pub begins: Option<Time>,
}

/// What a user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The question.
    pub question: bool,
    /// The answer, if there is one.
    pub answer: bool,
}

impl Seen {
    /// Whether the user sees any part of the clarification.
    pub fn any(self) -> bool {
        self.question || self.answer
    }
}

/// What a user sees now.
pub fn seen(access: ContestAccess, facts: Facts, now: Time) -> Seen {
    let has_begun = access.sees_round(facts.begins.unwrap_or(Time::ALWAYS), now);
    let is_inside = has_begun && (access.manage || facts.is_own);
    let is_public = has_begun && facts.is_answered;
    Seen {
        question: is_inside || (is_public && facts.audience == Audience::Quoted),
        answer: facts.is_answered
            && (is_inside || (is_public && facts.audience != Audience::Author)),
    }
}

/// The time from which an answer is visible to a viewer: when it was given, or when the round
/// began.
pub fn shown_at(answered_at: Time, begins: Option<Time>) -> Time {
    answered_at.max(begins.unwrap_or(Time::ALWAYS))
}

/// The text of a form without surrounding spaces, if its length is allowed.
pub fn text(text: &str, max: usize) -> Option<String> {
    let text = text.replace("\r\n", "\n").trim().to_owned();
    (1..=max).contains(&text.chars().count()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::access::{Viewer, contest};
    use crate::db::contest::{MemberRole, Visibility};
    use crate::db::user::Role;

    /// Viewer, contest, own question, audience, answer: what the viewer sees before and after the
    /// round begins (`q`: the question, `a`: the answer), and what the viewer sees if no problem is
    /// concerned.
    #[test]
    fn clarification_is_visible_by_this_table() {
        use Audience::{All, Author, Quoted};
        use Visibility::{Private, Public};
        let guest = None;
        let user = Some(None);
        let contestant = Some(Some(MemberRole::Contestant));
        let moderator = Some(Some(MemberRole::Moderator));
        let table = [
            (guest, Private, false, Quoted, true, "--", "--", "--"),
            (user, Private, false, Quoted, true, "--", "--", "--"),
            (user, Private, true, All, true, "--", "--", "--"),
            (guest, Public, false, Author, true, "--", "--", "--"),
            (guest, Public, false, All, true, "--", "-a", "-a"),
            (guest, Public, false, Quoted, true, "--", "qa", "qa"),
            (guest, Public, false, Quoted, false, "--", "--", "--"),
            (contestant, Private, false, Author, true, "--", "--", "--"),
            (contestant, Private, false, All, true, "--", "-a", "-a"),
            (contestant, Private, false, Quoted, true, "--", "qa", "qa"),
            (contestant, Private, false, All, false, "--", "--", "--"),
            (contestant, Private, true, Author, false, "--", "q-", "q-"),
            (contestant, Private, true, Author, true, "--", "qa", "qa"),
            (contestant, Private, true, All, true, "--", "qa", "qa"),
            (moderator, Private, false, Author, false, "q-", "q-", "q-"),
            (moderator, Private, false, Author, true, "qa", "qa", "qa"),
            (moderator, Private, false, All, true, "qa", "qa", "qa"),
        ];
        for (viewer, visibility, is_own, audience, is_answered, before, after, general) in table {
            let role = viewer.flatten();
            let user = viewer.map(|_| (1, Role::User));
            let access = contest(Viewer { user }, visibility, role);
            let cases = [
                (9, Some(10), before),
                (10, Some(10), after),
                (9, None, general),
            ];
            for (now, begins, expected) in cases {
                let facts = Facts {
                    is_own,
                    audience,
                    is_answered,
                    begins: begins.map(Time),
                };
                let found = seen(access, facts, Time(now));
                let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
                assert_eq!(
                    [found.question, found.answer][..],
                    expected,
                    "{viewer:?} {visibility:?} {facts:?} at {now}"
                );
            }
        }
    }

    #[test]
    fn answer_is_new_from_the_begin_of_its_round() {
        assert_eq!(shown_at(Time(5), None), Time(5));
        assert_eq!(shown_at(Time(5), Some(Time(10))), Time(10));
        assert_eq!(shown_at(Time(15), Some(Time(10))), Time(15));
    }

    #[test]
    fn text_has_a_length() {
        assert_eq!(text(" a\r\nb ", 3).as_deref(), Some("a\nb"));
        assert_eq!(text(" \r\n ", 3), None);
        assert_eq!(text("abcd", 3), None);
    }
}
