//! Comparing the sources of a contest.
//!
//! One problem is compared after the other, and of each problem a bounded number of sources.

use super::{JobError, Running};
use crate::core::similarity::{self, Entry};
use crate::core::time::Time;
use crate::db::contest_source::{self, ContestSource};
use crate::db::similar::{self, Report};

/// The maximum number of compared sources of one problem. Of more, the latest are compared.
const MAX_COMPARED: usize = 2000;
/// The maximum number of pairs of one problem that are stored.
const MAX_PAIRS: usize = 100;

impl Running<'_> {
    pub(super) fn compare_sources(&self, contest: i64) -> Result<(), JobError> {
        let db = &self.app().db;
        let last_submission = self.block_on(contest_source::last(db, contest))?;
        let problems = self.block_on(contest_source::problems(db, contest))?;
        let (mut pairs, mut sources) = (Vec::new(), 0);
        for (index, problem) in problems.iter().enumerate() {
            let entries = self.entries(problem.id, last_submission)?;
            sources += entries.len();
            let mut found = similarity::pairs(&entries, similarity::LEAST_PERCENT);
            found.truncate(MAX_PAIRS);
            self.say(format!(
                "{} of {} problems: {} {}, {} of {} sources, {} pairs",
                index + 1,
                problems.len(),
                problem.round_name,
                problem.label,
                entries.len(),
                problem.sources,
                found.len()
            ));
            pairs.append(&mut found);
        }
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let report = Report {
            made_at: Time::now(),
            last_submission,
            problems: count(problems.len()),
            sources: count(sources),
        };
        self.block_on(async {
            let mut tx = db.begin().await?;
            similar::replace(&mut tx, contest, &report, &pairs).await?;
            self.commit(tx, &format!("/contests/{contest}/similar"))
                .await
        })
    }

    /// The latest sources of a problem, up to a submission number.
    fn entries(&self, problem: i64, last: i64) -> Result<Vec<Entry>, JobError> {
        let (mut entries, mut before) = (Vec::new(), last.saturating_add(1));
        while entries.len() < MAX_COMPARED {
            self.check()?;
            let found = contest_source::before(&self.app().db, problem, before);
            let found = self.block_on(found)?;
            let Some(first) = found.last() else {
                break;
            };
            before = first.id;
            entries.extend(found.into_iter().map(|one| {
                let ContestSource { id, content, .. } = &one;
                Entry::new(*id, one.participant_id, &one.file_name, content)
            }));
        }
        entries.truncate(MAX_COMPARED);
        // The earlier submission of a pair comes first.
        entries.reverse();
        Ok(entries)
    }
}
