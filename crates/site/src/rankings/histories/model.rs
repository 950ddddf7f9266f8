//! The model of a history, and its steps.

use super::super::{Submissions, read};
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::judgement::State;
use crate::core::standings::{Audience, Data, Scope, Shown, naive, tables};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use crate::db::contest::{self, MemberRole, Mode, RoundFields, RoundProblemFields, RoundRules};
use crate::db::fault;
use crate::db::judgement::{self, Failure, NewJudgement, Outcome};
use crate::db::participant::{self, Fields};
use crate::db::submission::{self, Brief, Kind, NewSubmission};
use crate::db::tests::{add_problem, add_user};
use crate::db::user::Role;
use crate::db::{Db, problem};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub const LEASE: Duration = Duration::from_secs(30);
pub const ROUNDS: usize = 2;
pub const PROBLEMS: usize = 4;
/// Three single users, two members of a team, and the team.
pub const PARTICIPANTS: usize = 6;
pub const TEAM: usize = 5;

pub fn at(minute: i64) -> Time {
    Time(minute * 60_000_000)
}

/// A step of a history.
#[derive(Debug, Clone)]
pub enum Step {
    Submit {
        participant: usize,
        problem: usize,
        minute: i64,
    },
    Claim,
    Initial {
        lease: usize,
        verdict: Verdict,
    },
    Finish {
        lease: usize,
        initial: Verdict,
        verdict: Verdict,
        score: i64,
    },
    Fail {
        lease: usize,
        is_final: bool,
    },
    Again {
        submission: usize,
    },
    Count {
        submission: usize,
        kind: Kind,
    },
    Method {
        problem: usize,
        method: FinalMethod,
        reveal: Reveal,
    },
    Rules {
        round: usize,
        mode: Mode,
        freeze: i64,
        thaw: i64,
        window: Option<i64>,
    },
    Change {
        participant: usize,
        flags: u8,
        delay: i64,
        penalty: i64,
    },
    Member {
        user: usize,
        joins: bool,
    },
    Start {
        participant: usize,
        round: usize,
        minute: i64,
    },
}

/// A failure of the machine, or of the package, which is final.
pub fn failure(is_final: bool) -> Failure<'static> {
    Failure {
        kind: if is_final {
            fault::Kind::Package
        } else {
            fault::Kind::Machine
        },
        reason: "broken",
        has_ended: false,
    }
}

/// A judgement of the model.
#[derive(Debug)]
struct Judged {
    id: i64,
    state: State,
    attempt: i64,
    failures: i64,
    initial: Option<Verdict>,
    verdict: Option<Verdict>,
    score: Option<i64>,
}

#[derive(Debug)]
struct Submitted {
    brief: Brief,
    judgements: Vec<Judged>,
}

/// What the database must contain.
pub struct Model<'a> {
    db: &'a Db,
    contest: i64,
    version: i64,
    /// The users of the participants; the team has none.
    users: Vec<i64>,
    data: Data,
    /// What a site that read the data after each step remembers.
    remembered: Submissions,
    submissions: Vec<Submitted>,
    leases: Vec<(i64, i64)>,
}

impl<'a> Model<'a> {
    /// A contest with two rounds of two problems.
    pub async fn new(db: &'a Db) -> Model<'a> {
        static NAMES: AtomicU64 = AtomicU64::new(0);
        let number = NAMES.fetch_add(1, Ordering::Relaxed);
        let mut users = Vec::new();
        for user in 0..TEAM {
            users.push(add_user(db, &format!("history{number}-{user}"), Role::User).await);
        }
        let (problem_id, version) = add_problem(db, users[0], problem::Visibility::Private).await;
        let mut tx = db.begin().await.unwrap();
        let visibility = contest::Visibility::Private;
        let id = contest::insert(&mut tx, "History", visibility, at(0))
            .await
            .unwrap();
        for user in &users {
            let role = MemberRole::Contestant;
            contest::join(&mut tx, id, *user, role, at(0))
                .await
                .unwrap();
            participant::ensure(&mut tx, id, *user, false)
                .await
                .unwrap();
        }
        let fields = Fields {
            name: "Team".to_owned(),
            ..Fields::default()
        };
        let team = participant::insert(&mut tx, id, None, &fields)
            .await
            .unwrap();
        for user in &users[3..] {
            participant::add_member(&mut tx, id, team, *user)
                .await
                .unwrap();
        }
        for name in ["First", "Second"] {
            let fields = RoundFields {
                name: name.to_owned(),
                begins: at(100),
                ends: at(400),
                full_results: at(400),
                ranking_from: Time::ALWAYS,
            };
            let round = contest::insert_round(&mut tx, id, &fields).await.unwrap();
            for label in ["A", "B"] {
                let fields = RoundProblemFields {
                    version_id: version,
                    label: label.to_owned(),
                    name: label.to_owned(),
                    final_method: FinalMethod::Best,
                    reveal: Reveal::Nothing,
                };
                let added = contest::insert_round_problem(&mut tx, round, problem_id, &fields);
                added.await.unwrap();
            }
        }
        tx.commit().await.unwrap();
        // The beginning is empty of results, so it may be read.
        let mut remembered = Submissions::default();
        let data = read(db, id, &mut remembered).await.unwrap();
        Model {
            db,
            contest: id,
            version,
            users,
            data,
            remembered,
            submissions: Vec::new(),
            leases: Vec::new(),
        }
    }

    fn judged(&mut self, id: i64) -> &mut Judged {
        let mut all = self
            .submissions
            .iter_mut()
            .flat_map(|one| &mut one.judgements);
        all.find(|one| one.id == id)
            .expect("a judgement of this history")
    }

    /// A lease, which is returned unless it is `kept`.
    fn lease(&mut self, index: usize, kept: bool) -> Option<(i64, i64)> {
        let index = index.checked_rem(self.leases.len())?;
        Some(if kept {
            self.leases[index]
        } else {
            self.leases.swap_remove(index)
        })
    }

    async fn submit(&mut self, participant: usize, problem: usize, minute: i64) {
        // A member submits for the team, and the team by its first user.
        let user_id = self
            .users
            .get(participant)
            .copied()
            .unwrap_or(self.users[3]);
        let problem = self.data.problems[problem].clone();
        let participant_id = self.data.participants[participant].id;
        let new = NewSubmission {
            user_id,
            problem_id: problem.problem_id,
            round_problem_id: Some(problem.id),
            participant_id: Some(participant_id),
            language: "python3",
            kind: Kind::Normal,
            file_name: "a.py",
            source: b"pass",
        };
        let mut tx = self.db.begin().await.unwrap();
        let id = submission::insert(&mut tx, &new, at(minute)).await.unwrap();
        let judgement = self.queue(&mut tx, id, user_id, true).await;
        tx.commit().await.unwrap();
        self.submissions.push(Submitted {
            brief: Brief {
                id,
                participant_id,
                round_problem_id: problem.id,
                kind: Kind::Normal,
                submitted_at: at(minute),
                initial_verdict: None,
                verdict: None,
                score: None,
                max_score: None,
                group_scores: None,
            },
            judgements: vec![judgement],
        });
    }

    async fn queue(
        &self,
        tx: &mut crate::db::Tx,
        submission_id: i64,
        user_id: i64,
        is_first: bool,
    ) -> Judged {
        let new = NewJudgement {
            submission_id,
            version_id: self.version,
            user_id,
            priority: judgement::CONTEST,
            is_first,
        };
        Judged {
            id: judgement::insert(tx, &new, at(0)).await.unwrap(),
            state: State::Queued,
            attempt: 0,
            failures: 0,
            initial: None,
            verdict: None,
            score: None,
        }
    }

    async fn claim(&mut self) {
        let Some(task) = judgement::claim(self.db, "w", at(0), LEASE).await.unwrap() else {
            return;
        };
        let judged = self.judged(task.id);
        assert_eq!(
            (judged.state, judged.attempt + 1),
            (State::Queued, task.attempt)
        );
        (judged.state, judged.attempt) = (State::Running, task.attempt);
        self.leases.push((task.id, task.attempt));
    }

    async fn finish(&mut self, lease: usize, initial: Verdict, verdict: Verdict, score: i64) {
        let Some((id, attempt)) = self.lease(lease, false) else {
            return;
        };
        let outcome = Outcome {
            initial_verdict: initial,
            verdict,
            score,
            max_score: None,
            cpu_time_ns: None,
            memory_bytes: None,
            as_expected: None,
            protocol: "{}".to_owned(),
        };
        // The result of an earlier attempt changes nothing.
        let late = judgement::finish(self.db, id, attempt - 1, &outcome, at(0)).await;
        assert!(!late.unwrap());
        let done = judgement::finish(self.db, id, attempt, &outcome, at(0)).await;
        assert!(done.unwrap());
        let judged = self.judged(id);
        judged.state = State::Done;
        (judged.initial, judged.verdict) = (Some(initial), Some(verdict));
        judged.score = Some(score);
    }

    async fn fail(&mut self, lease: usize, is_final: bool) {
        let Some((id, attempt)) = self.lease(lease, false) else {
            return;
        };
        let failed = judgement::fail(self.db, id, attempt, &failure(is_final), at(0)).await;
        assert!(failed.unwrap());
        let judged = self.judged(id);
        judged.initial = None;
        judged.failures += 1;
        judged.state = if is_final || judged.failures >= judgement::MAX_FAILURES {
            State::Fault
        } else {
            State::Queued
        };
    }

    async fn initial(&mut self, lease: usize, verdict: Verdict) {
        let Some((id, attempt)) = self.lease(lease, true) else {
            return;
        };
        let stored = judgement::set_initial(self.db, id, attempt, verdict).await;
        assert!(stored.unwrap());
        self.judged(id).initial = Some(verdict);
    }

    async fn change_submission(&mut self, index: usize, kind: Option<Kind>) {
        let Some(index) = index.checked_rem(self.submissions.len()) else {
            return;
        };
        let id = self.submissions[index].brief.id;
        let mut tx = self.db.begin().await.unwrap();
        if let Some(kind) = kind {
            submission::set_kind(&mut tx, id, kind).await.unwrap();
            self.submissions[index].brief.kind = kind;
        } else {
            let judged = self.queue(&mut tx, id, self.users[0], false).await;
            self.submissions[index].judgements.push(judged);
        }
        tx.commit().await.unwrap();
    }

    async fn method(&mut self, index: usize, method: FinalMethod, reveal: Reveal) {
        let problem = &mut self.data.problems[index];
        (problem.final_method, problem.reveal) = (method, reveal);
        let fields = RoundProblemFields {
            version_id: problem.version_id,
            label: problem.label.clone(),
            name: problem.name.clone(),
            final_method: method,
            reveal,
        };
        let mut tx = self.db.begin().await.unwrap();
        let changed = contest::update_round_problem(&mut tx, problem.id, &fields).await;
        assert_eq!(changed.unwrap(), 1);
        tx.commit().await.unwrap();
    }

    async fn rules(&mut self, index: usize, rules: RoundRules) {
        let round = &mut self.data.rounds[index];
        let mut tx = self.db.begin().await.unwrap();
        contest::update_rules(&mut tx, round.id, &rules)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        round.mode = rules.mode;
        round.penalty_minutes = rules.penalty_minutes;
        (round.freeze_at, round.thaw_at) = (rules.freeze_at, rules.thaw_at);
        round.window_seconds = rules.window_seconds;
        for problem in &mut self.data.problems {
            if problem.round_id == round.id {
                problem.mode = rules.mode;
                problem.window_seconds = rules.window_seconds;
            }
        }
    }

    async fn change(&mut self, index: usize, flags: u8, delay: i64, penalty: i64) {
        let one = &mut self.data.participants[index];
        one.hidden = flags & 3 == 0;
        one.unofficial = flags & 12 == 0;
        one.group_name = if flags & 16 == 0 { "g" } else { "" }.to_owned();
        (one.delay_seconds, one.penalty_minutes) = (delay * 90, penalty * 20);
        let fields = Fields {
            name: one.name.clone(),
            organization: String::new(),
            group_name: one.group_name.clone(),
            hidden: one.hidden,
            unofficial: one.unofficial,
            delay_seconds: one.delay_seconds,
            extra_seconds: 0,
            penalty_minutes: one.penalty_minutes,
        };
        let mut tx = self.db.begin().await.unwrap();
        participant::update(&mut tx, one.id, &fields).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn member(&mut self, user: usize, joins: bool) {
        let team = self.data.participants[TEAM].id;
        let user_id = self.users[user];
        let mut tx = self.db.begin().await.unwrap();
        if joins {
            let added = participant::add_member(&mut tx, self.contest, team, user_id).await;
            added.unwrap();
        } else {
            participant::remove_member(&mut tx, team, user_id)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        self.data.participants[user].team_id = joins.then_some(team);
    }

    async fn start(&mut self, participant: usize, round: usize, minute: i64) {
        let (id, round_id) = (
            self.data.participants[participant].id,
            self.data.rounds[round].id,
        );
        let mut tx = self.db.begin().await.unwrap();
        participant::start(&mut tx, id, round_id, at(minute))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let starts = &mut self.data.starts;
        if !starts
            .iter()
            .any(|one| (one.participant_id, one.round_id) == (id, round_id))
        {
            starts.push(participant::Start {
                participant_id: id,
                round_id,
                started_at: at(minute),
            });
        }
    }

    /// Takes a step in the database and in the model. The site then reads what has changed.
    pub async fn apply(&mut self, step: Step) {
        self.take(step).await;
        let read = read(self.db, self.contest, &mut self.remembered).await;
        read.unwrap();
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Submit {
                participant,
                problem,
                minute,
            } => {
                self.submit(participant, problem, minute).await;
            }
            Step::Claim => self.claim().await,
            Step::Initial { lease, verdict } => self.initial(lease, verdict).await,
            Step::Finish {
                lease,
                initial,
                verdict,
                score,
            } => {
                self.finish(lease, initial, verdict, score).await;
            }
            Step::Fail { lease, is_final } => self.fail(lease, is_final).await,
            Step::Again { submission } => self.change_submission(submission, None).await,
            Step::Count { submission, kind } => {
                self.change_submission(submission, Some(kind)).await;
            }
            Step::Method {
                problem,
                method,
                reveal,
            } => self.method(problem, method, reveal).await,
            Step::Rules {
                round,
                mode,
                freeze,
                thaw,
                window,
            } => {
                let rules = RoundRules {
                    mode,
                    penalty_minutes: freeze % 3 * 10,
                    freeze_at: at(freeze),
                    thaw_at: at(thaw),
                    window_seconds: window.map(|minutes| minutes * 60),
                };
                self.rules(round, rules).await;
            }
            Step::Change {
                participant,
                flags,
                delay,
                penalty,
            } => {
                self.change(participant, flags, delay, penalty).await;
            }
            Step::Member { user, joins } => self.member(user, joins).await,
            Step::Start {
                participant,
                round,
                minute,
            } => {
                self.start(participant, round, minute).await;
            }
        }
    }

    /// The data that the database must contain: for each submission, the last complete judgement
    /// or, without one, the first judgement.
    fn expected(&self) -> Data {
        let mut data = self.data.clone();
        data.submissions = self
            .submissions
            .iter()
            .map(|one| {
                let done = one.judgements.iter().filter(|it| it.state == State::Done);
                let current = done.max_by_key(|it| it.id).unwrap_or(&one.judgements[0]);
                Brief {
                    initial_verdict: current.initial,
                    verdict: current.verdict,
                    score: current.score,
                    ..one.brief.clone()
                }
            })
            .collect();
        data
    }

    /// Compares the rankings of the database with those of the model.
    pub async fn check(&mut self) -> Result<(), TestCaseError> {
        let found = read(self.db, self.contest, &mut self.remembered).await;
        let found = found.unwrap();
        let expected = self.expected();
        for audience in [Audience::Public, Audience::Staff] {
            for (is_full, group) in [(false, None), (true, None), (true, Some("g".to_owned()))] {
                let rounds = self.data.rounds.iter();
                let scope = Scope {
                    audience,
                    rounds: rounds
                        .map(|one| Shown {
                            round: one.id,
                            is_full,
                        })
                        .collect(),
                    group,
                };
                for now in [150, 250, 350, 500].map(at) {
                    let tables = tables(&found, &scope, now);
                    let rows: Vec<naive::Rows> = tables.iter().map(naive::of_table).collect();
                    prop_assert_eq!(rows, naive::rows(&expected, &scope, now), "{:?}", scope);
                }
            }
        }
        Ok(())
    }
}
