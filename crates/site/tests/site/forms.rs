//! Forms that are shown again with what was typed.

use super::{first_admin, make_contest, with_each};

#[test]
fn rejected_source_is_shown_again_with_the_mistake_at_its_field() {
    with_each(|site| {
        let mut admin = first_admin(&site);
        let contest = make_contest(&mut admin);
        let code = "print(1 < 2) # <typed>";
        let shown = "print(1 &lt; 2) # &lt;typed&gt;";
        let targets = [
            format!("/problems/{}/submit", contest.package),
            format!("/round-problems/{}/submit", contest.problem),
            format!("/problems/{}/try", contest.package),
        ];
        for path in &targets {
            let fields = [("language", ""), ("code", code), ("input", "7 8 9")];
            let answer = admin.upload(path, &fields, ("", b""));
            assert_eq!(answer.status, 422, "{path}: {answer:#?}");
            assert!(answer.body.contains(shown), "{path}: {answer:#?}");
            assert!(
                answer.body.contains("role=\"alert\">Choose a language"),
                "{path}: {answer:#?}"
            );
            let is_trial = path.ends_with("/try");
            assert_eq!(
                answer.body.contains("7 8 9"),
                is_trial,
                "{path}: {answer:#?}"
            );
            // A file whose name names no language becomes the text.
            let answer = admin.upload(path, &[("language", "")], ("x.unknown", code.as_bytes()));
            assert_eq!(answer.status, 422, "{path}: {answer:#?}");
            if !is_trial {
                assert!(answer.body.contains(shown), "{path}: {answer:#?}");
            }
        }
        let answer = admin.upload(&targets[0], &[("language", "python3")], ("", b""));
        assert_eq!(answer.status, 422, "{answer:#?}");
        assert!(answer.body.contains("id=\"code-mistake\""), "{answer:#?}");
        assert!(answer.body.contains("value=\"python3\""), "{answer:#?}");
    });
}
