//! How a participant takes part in a contest, and what follows from it.
//!
//! The staff sets the state. Every page, stream and operation asks [`State::rights`], and no place
//! has a rule of its own.

/// How a participant takes part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// In competition.
    #[default]
    TakesPart,
    /// Out of competition: without a place.
    Unofficial,
    /// Without a place, and shown only to the staff.
    Hidden,
    /// Excluded by the staff. The submissions are kept, so the state can be undone.
    Disqualified,
}

/// What a participant may do, and what others see of the participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each right is given by itself"
)]
pub struct Rights {
    /// Has a place in the ranking, and can be the first to solve a problem.
    pub has_place: bool,
    /// Is shown in the public ranking, with the group.
    pub is_public: bool,
    /// Receives balloons.
    pub gets_balloons: bool,
    /// Submits, tries programs, asks, prints, and starts personal clocks.
    pub takes_part: bool,
    /// Enters by a link, or by taking part in a public contest.
    pub enters: bool,
}

impl State {
    /// The state that the fields of a participant make. A stronger field hides a weaker one, which
    /// counts again after the stronger one is removed.
    pub fn of(is_unofficial: bool, is_hidden: bool, is_disqualified: bool) -> State {
        match (is_disqualified, is_hidden, is_unofficial) {
            (true, _, _) => State::Disqualified,
            (_, true, _) => State::Hidden,
            (_, _, true) => State::Unofficial,
            (false, false, false) => State::TakesPart,
        }
    }

    /// What the participant may do.
    pub fn rights(self) -> Rights {
        Rights {
            has_place: self == State::TakesPart,
            is_public: matches!(self, State::TakesPart | State::Unofficial),
            gets_balloons: self != State::Disqualified,
            takes_part: self != State::Disqualified,
            enters: self != State::Disqualified,
        }
    }

    /// The name in exports.
    pub fn text(self) -> &'static str {
        match self {
            State::TakesPart => "takes_part",
            State::Unofficial => "unofficial",
            State::Hidden => "hidden",
            State::Disqualified => "disqualified",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_follow_this_table() {
        // Place, public, balloons, takes part, enters.
        let table = [
            (State::TakesPart, "ppbte"),
            (State::Unofficial, "-pbte"),
            (State::Hidden, "--bte"),
            (State::Disqualified, "-----"),
        ];
        for (state, expected) in table {
            let found = state.rights();
            let flags = [
                found.has_place,
                found.is_public,
                found.gets_balloons,
                found.takes_part,
                found.enters,
            ];
            let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
            assert_eq!(flags[..], expected, "{state:?}");
        }
    }

    #[test]
    fn strongest_field_makes_the_state() {
        // Unofficial, hidden, disqualified.
        let table = [
            (false, false, false, State::TakesPart),
            (true, false, false, State::Unofficial),
            (false, true, false, State::Hidden),
            (true, true, false, State::Hidden),
            (false, false, true, State::Disqualified),
            (true, false, true, State::Disqualified),
            (false, true, true, State::Disqualified),
            (true, true, true, State::Disqualified),
        ];
        for (unofficial, hidden, disqualified, expected) in table {
            assert_eq!(State::of(unofficial, hidden, disqualified), expected);
        }
    }
}
