//! Scoring by points: one final submission counts for each problem.

use super::finals::{Attempt, FinalMethod, Reveal, full_final, initial_final};
use super::score::Score;
use super::verdict::Verdict;

/// The rules of a problem for a viewer.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// How finals are chosen.
    pub method: FinalMethod,
    /// What is shown before the full results.
    pub reveal: Reveal,
    /// Whether the viewer sees full results.
    pub is_full: bool,
}

/// What the viewer sees of a final submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Final {
    /// The submission.
    pub submission: i64,
    /// The verdict that the viewer may see.
    pub verdict: Option<Verdict>,
    /// The points; `None` if they are hidden, which counts as 0.
    pub score: Option<Score>,
}

/// The result of the attempts of one participant in one problem.
pub fn cell(column: Column, attempts: &[Attempt]) -> Option<Final> {
    if column.is_full {
        let found = full_final(column.method, attempts)?;
        return Some(Final {
            submission: found.id,
            verdict: found.full,
            score: found.score,
        });
    }
    let found = initial_final(column.method, column.reveal, attempts)?;
    Some(Final {
        submission: found.id,
        verdict: match column.reveal {
            Reveal::Hidden => None,
            Reveal::Nothing | Reveal::Score => found.initial,
            Reveal::Status | Reveal::First | Reveal::All => found.full,
        },
        score: found.score.filter(|_| column.reveal.shows_score()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_points_are_absent() {
        let attempt = Attempt {
            id: 1,
            counts: true,
            initial: Some(Verdict::Accepted),
            full: Some(Verdict::WrongAnswer),
            score: Some(Score(5)),
        };
        let found = |reveal, is_full| {
            let column = Column {
                method: FinalMethod::Best,
                reveal,
                is_full,
            };
            let found = cell(column, std::slice::from_ref(&attempt)).unwrap();
            (found.verdict, found.score)
        };
        let points = Some(Score(5));
        let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        assert_eq!(found(Reveal::Hidden, false), (None, None));
        assert_eq!(found(Reveal::Hidden, true), (wrong, points));
        for reveal in [Reveal::First, Reveal::All] {
            assert_eq!(found(reveal, false), (wrong, points));
        }
        assert_eq!(found(Reveal::Nothing, false), (right, None));
        assert_eq!(found(Reveal::Score, false), (right, points));
        assert_eq!(found(Reveal::Status, false), (wrong, points));
        assert_eq!(found(Reveal::Nothing, true), (wrong, points));
    }
}
