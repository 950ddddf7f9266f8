//! Expectations of submissions.

use millibox_judge::scoring::expected::is_expected;
use millibox_judge::verdict::Verdict::{self, *};
use millibox_package::model::Expected;

#[test]
fn is_expected_compares_verdicts() {
    let of =
        |expected: &[Expected], verdict: Verdict| is_expected(expected, None, verdict, None, None);
    assert_eq!(of(&[], Accepted), None);
    assert_eq!(of(&[Expected::Accepted], Accepted), Some(true));
    assert_eq!(of(&[Expected::Accepted], WrongAnswer), Some(false));
    let crash = [Expected::RunTimeError, Expected::MemoryLimit];
    assert_eq!(of(&crash, MemoryLimit), Some(true));
    assert_eq!(of(&crash, TimeLimit), Some(false));
    for verdict in [
        WrongAnswer,
        OutputLimit,
        TimeLimit,
        MemoryLimit,
        RunTimeError,
        CompileError,
    ] {
        assert_eq!(of(&[Expected::Rejected], verdict), Some(true));
    }
    assert_eq!(of(&[Expected::Rejected], Accepted), Some(false));
    // A judge error says nothing about the submission.
    for expected in [Expected::Accepted, Expected::Rejected] {
        assert_eq!(of(&[expected], JudgeError), None);
    }
}

#[test]
fn is_expected_compares_points() {
    let partial = |points, most| {
        is_expected(
            &[Expected::PartiallyAccepted],
            None,
            Accepted,
            Some(points),
            most,
        )
        .unwrap()
    };
    assert!(partial(99.0, Some(100.0)));
    assert!(!partial(100.0, Some(100.0)));
    assert!(!partial(100.0 - 1e-12, Some(100.0)));
    assert!(partial(5.0, None));
    assert_eq!(
        is_expected(
            &[Expected::PartiallyAccepted],
            None,
            WrongAnswer,
            Some(5.0),
            Some(9.0)
        ),
        Some(false)
    );
    let range = |points| is_expected(&[], Some((10.0, 20.0)), WrongAnswer, points, None);
    assert_eq!(range(Some(10.0)), Some(true));
    assert_eq!(range(Some(20.5)), Some(false));
    assert_eq!(range(None), Some(false));
    assert_eq!(
        is_expected(
            &[Expected::Accepted],
            Some((1.0, 2.0)),
            Accepted,
            Some(3.0),
            None
        ),
        Some(false)
    );
}
