//! Merging and deleting.

use super::{JobError, Running};
use crate::core::time::Time;
use crate::db::rejudging::{self, Filter, NewSet};
use crate::db::{contest, problem};

impl Running<'_> {
    pub(super) fn merge_problems(
        &self,
        from: i64,
        into: i64,
        rejudge: bool,
    ) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            for id in [from, into] {
                if problem::by_id(&mut tx, id).await?.is_none() {
                    return Err(JobError::NoProblem);
                }
            }
            let now = Time::now();
            let version = problem::merge(&mut tx, from, into, self.job.created_by, now).await?;
            let version = version.ok_or(JobError::NoPackage)?;
            let mut page = format!("/problems/{into}");
            if rejudge {
                contest::use_version(&mut tx, into, version).await?;
                let filter = Filter {
                    problem: Some(into),
                    ..Filter::default()
                };
                let new = NewSet {
                    reason: "merged problems",
                    filter: &filter,
                    contest_id: None,
                    problem_id: Some(into),
                    auto_apply: false,
                    priority: rejudging::PRIORITY,
                    user: self.job.created_by,
                };
                let (set, size) = rejudging::insert(&mut tx, &new, now).await?;
                if size > 0 {
                    page = format!("/rejudgings/{set}");
                }
            }
            self.commit(tx, &page).await
        })?;
        self.app().queue.wake();
        Ok(())
    }

    pub(super) fn delete_problem(&self, id: i64) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            if problem::is_attached(&mut tx, id).await? {
                return Err(JobError::ProblemInUse);
            }
            problem::delete(&mut tx, id).await?;
            self.commit(tx, "/problems").await
        })
    }

    pub(super) fn delete_contest(&self, id: i64) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            contest::delete(&mut tx, id).await?;
            self.commit(tx, "/contests").await
        })
    }

    pub(super) fn delete_round(&self, contest: i64, id: i64) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            contest::delete_round(&mut tx, id).await?;
            self.commit(tx, &format!("/contests/{contest}")).await
        })
    }

    pub(super) fn delete_round_problem(&self, contest: i64, id: i64) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            contest::delete_round_problem(&mut tx, id).await?;
            self.commit(tx, &format!("/contests/{contest}")).await
        })
    }
}
