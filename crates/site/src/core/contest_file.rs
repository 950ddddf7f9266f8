//! Files of contests: which users see them.

use super::access::ContestAccess;
use super::time::Time;
use crate::db::contest_file::FileAudience;

/// The maximum number of files of one contest.
pub const MAX_FILES: usize = 100;
/// The maximum length of a name, in characters.
pub const MAX_FILE_NAME: usize = 100;
/// The maximum length of a description, in characters.
pub const MAX_DESCRIPTION: usize = 500;

/// Whether a user may download a file now. `begins` is the time at which its round begins for the
/// user; `None` if the file belongs to no round.
pub fn is_seen(
    access: ContestAccess,
    audience: FileAudience,
    begins: Option<Time>,
    now: Time,
) -> bool {
    let has_begun = access.sees_round(begins.unwrap_or(Time::ALWAYS), now);
    has_begun && (access.manage || audience == FileAudience::All)
}

/// The name under which a file is saved: without directories and control characters.
pub fn file_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let is_named = !last.trim_matches('.').is_empty() && !last.chars().any(char::is_control);
    (is_named && last.chars().count() <= MAX_FILE_NAME).then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::access::{Viewer, contest};
    use crate::db::contest::{MemberRole, Visibility};
    use crate::db::user::Role;

    #[test]
    fn file_is_visible_by_this_table() {
        use FileAudience::{All, Staff};
        use Visibility::{Private, Public};
        let (guest, user) = (None, Some(None));
        let contestant = Some(Some(MemberRole::Contestant));
        let moderator = Some(Some(MemberRole::Moderator));
        // Viewer, contest, audience: before and after the round begins, without a round.
        let table = [
            (guest, Private, All, [false, false, false]),
            (user, Private, All, [false, false, false]),
            (guest, Public, All, [false, true, true]),
            (guest, Public, Staff, [false, false, false]),
            (contestant, Private, All, [false, true, true]),
            (contestant, Private, Staff, [false, false, false]),
            (moderator, Private, All, [true, true, true]),
            (moderator, Private, Staff, [true, true, true]),
        ];
        for (viewer, visibility, audience, expected) in table {
            let user = viewer.map(|_| (1, Role::User));
            let access = contest(Viewer { user }, visibility, viewer.flatten());
            let begins = Some(Time(10));
            let found = [
                is_seen(access, audience, begins, Time(9)),
                is_seen(access, audience, begins, Time(10)),
                is_seen(access, audience, None, Time(9)),
            ];
            assert_eq!(found, expected, "{viewer:?} {visibility:?} {audience:?}");
        }
    }

    #[test]
    fn file_name_has_no_directory() {
        for (name, expected) in [
            ("a b.pdf", Some("a b.pdf")),
            ("Übung.zip", Some("Übung.zip")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\x\\a.txt", Some("a.txt")),
            ("..", None),
            ("", None),
            ("a\nb", None),
            ("a/", None),
        ] {
            assert_eq!(file_name(name).as_deref(), expected, "{name:?}");
        }
        assert_eq!(file_name(&"x".repeat(101)), None);
    }
}
