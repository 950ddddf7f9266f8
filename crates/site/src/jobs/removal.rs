//! Merging and deleting.

use super::{JobError, Running};
use crate::core::time::Time;
use crate::db::rejudging::{self, Filter, NewSet};
use crate::db::user::{self, Role};
use crate::db::{contest, job, problem, problem_use};

impl Running<'_> {
    pub(super) fn merge_problems(
        &self,
        from: i64,
        into: i64,
        rejudge: bool,
    ) -> Result<(), JobError> {
        self.block_on(async {
            let mut tx = self.app().db.begin().await?;
            let creator = self.job.created_by;
            let user = user::by_id(&mut tx, creator).await?;
            let is_admin = user.is_some_and(|user| user.role == Role::Admin);
            for id in [from, into] {
                let found = problem::by_id(&mut tx, id).await?;
                // The rights of the user may have changed since the job was added.
                if found.is_none_or(|one| !is_admin && one.owner_id != creator) {
                    return Err(JobError::NoProblem);
                }
            }
            let now = Time::now();
            let version = problem::merge(&mut tx, from, into, creator, now).await?;
            let version = version.ok_or(JobError::NoPackage)?;
            let mut page = format!("/problems/{into}");
            if rejudge {
                let mut lines = Vec::new();
                for one in problem_use::uses(&mut tx, into, creator).await? {
                    if one.takes_version(is_admin, now) {
                        problem_use::use_version(&mut tx, one.round_problem_id, version).await?;
                    } else if is_admin || one.is_managed() {
                        lines.push(format!(
                            "the round {} of the contest {} runs and keeps its version",
                            one.round_name, one.contest_name
                        ));
                    } else {
                        lines.push(format!(
                            "a round of contest {}, which you do not manage, keeps its version",
                            one.contest_id
                        ));
                    }
                }
                job::write_in(&mut tx, self.job.id, &lines, now).await?;
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
                    user: creator,
                    all: is_admin,
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
