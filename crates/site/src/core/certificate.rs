//! Certificates of a contest: when they can be printed, and by which users.

use super::participation::State;
use super::time::Time;

/// A round whose results appear on certificates.
#[derive(Debug, Clone, Copy)]
pub struct RoundState {
    /// When the round is over and its full results are shown, for the last participant.
    pub complete: Time,
    /// Whether the public ranking is frozen now.
    pub is_frozen: bool,
}

/// Whether the results of all rounds are final and public. False for a contest without rounds.
pub fn are_ready(rounds: &[RoundState], now: Time) -> bool {
    let is_ready = |round: &RoundState| round.complete <= now && !round.is_frozen;
    !rounds.is_empty() && rounds.iter().all(is_ready)
}

/// A user that prints certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A contestant, with the number of the participant.
    Participant(i64),
    /// The staff, perhaps only for the best: up to this place.
    Staff { last_place: Option<usize> },
}

/// Whether a certificate of a participant is printed. Participants out of competition have one
/// without a place.
pub fn is_printed(reader: Reader, participant: i64, state: State, place: Option<usize>) -> bool {
    let has_one = state.rights().is_public;
    has_one
        && match reader {
            Reader::Participant(own) => own == participant,
            Reader::Staff { last_place: None } => true,
            Reader::Staff {
                last_place: Some(last),
            } => place.is_some_and(|place| place <= last),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_wait_for_the_results_of_all_rounds() {
        let round = |complete, is_frozen| RoundState {
            complete: Time(complete),
            is_frozen,
        };
        let never = RoundState {
            complete: Time::NEVER,
            is_frozen: false,
        };
        for (rounds, expected) in [
            (vec![], false),
            (vec![round(10, false)], true),
            (vec![round(11, false)], false),
            (vec![round(10, true)], false),
            (vec![round(9, false), round(11, false)], false),
            (vec![round(9, false), round(10, false)], true),
            (vec![round(9, false), never], false),
        ] {
            assert_eq!(are_ready(&rounds, Time(10)), expected, "{rounds:?}");
        }
    }

    #[test]
    fn certificate_is_printed_by_this_table() {
        use State::{Disqualified, Hidden, TakesPart, Unofficial};
        let own = Reader::Participant(7);
        let other = Reader::Participant(8);
        let staff = Reader::Staff { last_place: None };
        let best = Reader::Staff {
            last_place: Some(3),
        };
        // State and place of participant 7; printed for its user, another one, the staff, and for
        // the best three.
        for (state, place, expected) in [
            (TakesPart, Some(3), [true, false, true, true]),
            (TakesPart, Some(4), [true, false, true, false]),
            (Unofficial, None, [true, false, true, false]),
            (Hidden, None, [false; 4]),
            (Disqualified, None, [false; 4]),
        ] {
            let found = [own, other, staff, best].map(|one| is_printed(one, 7, state, place));
            assert_eq!(found, expected, "{state:?} {place:?}");
        }
    }
}
