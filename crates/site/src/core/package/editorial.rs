//! Hints and solutions in packages, which pages show after the contest.
//!
//! They are files in the directory `solution`: `solution.en.md` as the ICPC format names them, and
//! `hints.en.md`. Both may be in Markdown, PDF or LaTeX, in several languages.

use super::{File, Form, Manifest, Offer, image_type, ranked, read_text};
use crate::blobs::Blobs;
use crate::core::latex;
use crate::core::time::Time;
use millibox_package::Problem;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The directory of these files in a package.
pub const DIRECTORY: &str = "solution";
/// The maximum number of files that are kept.
const MAX_FILES: usize = 50;

/// What a text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Hints, for contestants that want to find the rest themselves.
    Hints,
    /// The solution.
    Solution,
}

impl Subject {
    /// All subjects, in the order of pages.
    pub const ALL: [Subject; 2] = [Subject::Hints, Subject::Solution];

    /// The first part of the names of its files.
    pub fn stem(self) -> &'static str {
        match self {
            Subject::Hints => "hints",
            Subject::Solution => "solution",
        }
    }
}

/// A text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub subject: Subject,
    /// The language, such as `en`.
    pub language: String,
    pub form: Form,
    /// The digest of its content.
    pub digest: String,
}

/// The hints and solutions of a package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Editorial {
    pub notes: Vec<Note>,
    /// Images of the texts.
    pub images: Vec<File>,
}

impl Editorial {
    /// The texts about a subject, the best first for a reader of these languages.
    pub fn offers(&self, subject: Subject, languages: &[impl AsRef<str>]) -> Vec<Offer<'_>> {
        let notes = self.notes.iter().filter(|note| note.subject == subject);
        let offers = notes.map(|note| Offer {
            language: &note.language,
            form: note.form,
            digest: &note.digest,
        });
        ranked(offers.collect(), languages)
    }

    /// The text with this file name.
    pub fn note(&self, name: &str) -> Option<&Note> {
        let (subject, language, form) = parts(name)?;
        self.notes
            .iter()
            .find(|note| (note.subject, note.form) == (subject, form) && note.language == language)
    }
}

/// The subject, the language and the form of a file with this name: `hints.pl.md`, `solution.pdf`.
fn parts(name: &str) -> Option<(Subject, &str, Form)> {
    let (stem, extension) = name.rsplit_once('.')?;
    let (subject, language) = stem.split_once('.').unwrap_or((stem, "en"));
    let subject = Subject::ALL.into_iter().find(|one| one.stem() == subject)?;
    let form = match extension {
        "md" => Form::Markdown,
        "pdf" => Form::Pdf,
        "tex" => Form::Latex,
        _ => return None,
    };
    let is_tag = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '-';
    let is_language = !language.is_empty() && language.chars().all(is_tag);
    is_language.then_some((subject, language, form))
}

/// Whether a file with this name contains hints or a solution.
pub fn is_note(name: &str) -> bool {
    parts(name).is_some()
}

/// A round that uses a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundUse {
    /// When the round is over for all its participants.
    pub over: Time,
    /// Whether the owner of the problem manages the contest, and can therefore end the round.
    pub owner_manages: bool,
    /// Whether everyone sees the problem.
    pub is_public: bool,
    /// Whether the viewer is a member of the contest, or reads the problem on a page of the round.
    pub is_of_viewer: bool,
}

impl RoundUse {
    /// Whether the round keeps hints and solutions closed for the viewer.
    ///
    /// Every teacher may use a public problem, so a round of any contest must not close them for
    /// everyone: a round without an end would do so forever. With the visibility for contests, the
    /// owner lets teachers use the problem, so their rounds count as long as they have an end.
    pub fn counts(self) -> bool {
        let is_agreed = !self.is_public && self.over != Time::NEVER;
        self.is_of_viewer || self.owner_manages || is_agreed
    }
}

/// Whether a user sees the hints and the solution. `opens` is the time at which every round that
/// [counts](RoundUse::counts) is over for all its participants. `is_staff` states that the user
/// owns the
/// problem or manages the contest in whose round the user reads it.
pub fn is_seen(sees_problem: bool, is_staff: bool, opens: Time, now: Time) -> bool {
    sees_problem && (is_staff || opens <= now)
}

/// When hints and solutions open for a viewer, by the rounds that use the problem.
pub fn opens(rounds: impl Iterator<Item = RoundUse>) -> Time {
    let counted = rounds.filter(|one| one.counts());
    let over = counted.map(|one| one.over).max();
    over.unwrap_or(Time::ALWAYS)
}

/// Whether a round that counts has ended. Otherwise, members of a class that see the problem only
/// through the class may still work on it as homework.
pub fn has_ended(rounds: impl Iterator<Item = RoundUse>, now: Time) -> bool {
    let mut counted = rounds.filter(|one| one.counts());
    counted.any(|one| one.over <= now)
}

/// Stores the hints and solutions of a package with their images.
pub(super) fn store(
    problem: &Problem,
    blobs: &Blobs,
    manifest: &mut Manifest,
) -> Result<(), super::PackageError> {
    let directory = problem.directory.join(DIRECTORY);
    if !directory.is_dir() {
        return Ok(());
    }
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.metadata()?.len() <= super::MAX_FILE {
            paths.push(entry.path());
        }
    }
    paths.sort();
    for path in paths.iter().take(MAX_FILES) {
        store_file(problem, path, blobs, manifest)?;
    }
    Ok(())
}

fn store_file(
    problem: &Problem,
    path: &Path,
    blobs: &Blobs,
    manifest: &mut Manifest,
) -> Result<(), super::PackageError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(());
    };
    if let Some(media) = image_type(name) {
        manifest.editorial.images.push(File {
            name: name.to_owned(),
            media: media.to_owned(),
            digest: blobs.put(&std::fs::read(path)?)?,
        });
        return Ok(());
    }
    let Some((subject, language, form)) = parts(name) else {
        return Ok(());
    };
    let content = match form {
        Form::Markdown => match read_text(problem, path)? {
            Ok(content) => content,
            Err(warning) => {
                manifest.warnings.push(warning);
                return Ok(());
            }
        },
        Form::Pdf => std::fs::read(path)?,
        Form::Latex => latex::without_comments(&std::fs::read(path)?),
    };
    if form == Form::Pdf && !content.starts_with(b"%PDF-") {
        return Ok(());
    }
    manifest.editorial.notes.push(Note {
        subject,
        language: language.to_owned(),
        form,
        digest: blobs.put(&content)?,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editorial_is_visible_by_this_table() {
        // Sees the problem, is staff; expected before, at and after the end, and without an end.
        let table = [
            (false, false, [false, false, false, false]),
            // Staff of a contest whose round does not show the problem, such as a former owner.
            (false, true, [false, false, false, false]),
            (true, false, [false, true, true, false]),
            (true, true, [true, true, true, true]),
        ];
        for (sees, staff, expected) in table {
            let found = [
                is_seen(sees, staff, Time(10), Time(9)),
                is_seen(sees, staff, Time(10), Time(10)),
                is_seen(sees, staff, Time(10), Time(11)),
                is_seen(sees, staff, Time::NEVER, Time(11)),
            ];
            assert_eq!(found, expected, "{sees} {staff}");
        }
    }

    #[test]
    fn editorial_opens_after_the_last_round() {
        for (rounds, expected) in [
            (vec![], Time::ALWAYS),
            (vec![Time(5)], Time(5)),
            (vec![Time(5), Time(9), Time(7)], Time(9)),
            (vec![Time(5), Time::NEVER], Time::NEVER),
        ] {
            let own = |over: &Time| RoundUse {
                over: *over,
                owner_manages: true,
                is_public: true,
                is_of_viewer: false,
            };
            assert_eq!(opens(rounds.iter().map(own)), expected, "{rounds:?}");
            let ended = rounds.contains(&Time(5));
            assert_eq!(has_ended(rounds.iter().map(own), Time(5)), ended);
            assert!(!has_ended(rounds.iter().map(own), Time(4)));
        }
    }

    #[test]
    fn rounds_of_others_count_by_this_table() {
        // The owner manages the contest, the problem is public, the viewer is in the contest;
        // whether a round with an end counts, and one without.
        let table = [
            (false, false, false, true, false),
            (false, false, true, true, true),
            (false, true, false, false, false),
            (false, true, true, true, true),
            (true, false, false, true, true),
            (true, false, true, true, true),
            (true, true, false, true, true),
            (true, true, true, true, true),
        ];
        for (owner_manages, is_public, is_of_viewer, with_end, without) in table {
            let counts = |over| {
                let round = RoundUse {
                    over,
                    owner_manages,
                    is_public,
                    is_of_viewer,
                };
                (round.counts(), round)
            };
            for (over, expected) in [(Time(5), with_end), (Time::NEVER, without)] {
                let (found, round) = counts(over);
                assert_eq!(found, expected, "{round:?}");
            }
        }
    }

    #[test]
    fn names_of_files_state_subject_language_and_form() {
        use Subject::{Hints, Solution};
        for (name, expected) in [
            ("solution.md", Some((Solution, "en", Form::Markdown))),
            ("solution.pl.pdf", Some((Solution, "pl", Form::Pdf))),
            ("hints.pt-BR.tex", Some((Hints, "pt-BR", Form::Latex))),
            ("hints.md", Some((Hints, "en", Form::Markdown))),
            ("problem.en.md", None),
            ("solution.py", None),
            ("solution..md", None),
            ("solution.a b.md", None),
            ("solution", None),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
    }
}
