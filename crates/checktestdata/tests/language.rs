//! The language: what programs accept and reject.

use millibox_checktestdata::{Program, Rejection, Why};

fn check(program: &str, input: &str) -> Result<(), Rejection> {
    let program = Program::parse(program).unwrap_or_else(|error| panic!("{program}: {error}"));
    program.check(input.as_bytes())
}

#[track_caller]
fn accepts(program: &str, inputs: &[&str]) {
    for input in inputs {
        assert_eq!(check(program, input), Ok(()), "{program}: {input:?}");
    }
}

#[track_caller]
fn rejects(program: &str, inputs: &[&str]) {
    for input in inputs {
        let why = check(program, input).expect_err(input).why;
        assert!(why.is_mismatch(), "{program}: {input:?}: {why}");
    }
}

#[test]
fn numbers_have_forms_and_ranges() {
    let program = "INT(-5, 10^20) NEWLINE";
    accepts(program, &["0\n", "-5\n", "100000000000000000000\n"]);
    rejects(
        program,
        &[
            "-6\n",
            "-0\n",
            "01\n",
            "+1\n",
            "100000000000000000001\n",
            "1",
            "1 \n",
            "x\n",
            "\n",
            "1\n\n",
        ],
    );
    let program = "FLOAT(-1, 2.5) NEWLINE";
    accepts(program, &["0\n", "2.5\n", "-0.5e0\n", "25E-1\n"]);
    rejects(
        program,
        &["2.51\n", "-1.1\n", ".5\n", "1.\n", "1e\n", "nan\n"],
    );
    accepts("FLOAT(0, 9, x, FIXED)", &["1.5"]);
    rejects("FLOAT(0, 9, x, FIXED)", &["1.5e0"]);
    accepts("FLOAT(0, 9, x, SCIENTIFIC)", &["1.5e0"]);
    rejects("FLOAT(0, 9, x, SCIENTIFIC)", &["1.5"]);
    accepts("FLOATP(0, 9, 1, 2)", &["1.5", "1.25"]);
    rejects("FLOATP(0, 9, 1, 2)", &["1", "1.125"]);
}

#[test]
fn loops_and_conditions_run() {
    let list = "INT(1, 9, n) NEWLINE REP(n, SPACE) INT(0, 9) END NEWLINE";
    accepts(list, &["1\n0\n", "3\n1 2 3\n"]);
    rejects(list, &["2\n1\n", "2\n1 2 3\n", "2\n1  2\n"]);
    accepts("REPI(i, 3, SPACE) INT(i, i) END", &["0 1 2"]);
    accepts("WHILE(!ISEOF, SPACE) INT(0, 9) END", &["", "1", "1 2 3"]);
    accepts(
        "WHILEI(k, MATCH(\"ab\")) REGEX(\".\") END INT(k, k)",
        &["abab4", "0"],
    );
    // prose: allow
    let choice = "INT(0, 9, n) IF(n < 5 && (n != 2 || n == 3)) SPACE ELSE NEWLINE END";
    accepts(choice, &["1 ", "2\n", "7\n"]);
    rejects(choice, &["1\n", "2 ", "7 "]);
    accepts("INT(0,9,a) ASSERT((a + 1) * 2 == 8 && !((a) > 3))", &["3"]);
    accepts("EOF", &[""]);
}

#[test]
fn strings_and_patterns_match_greedily() {
    accepts("STRING(\"a\\tb\\\"\\\\\\101\\n\")", &["a\tb\"\\A\n"]);
    accepts(
        "REGEX(\"[a-z]+\", w) SPACE STRING(w) ASSERT(STRLEN(w) == 2)",
        &["ab ab"],
    );
    rejects("REGEX(\"[a-z]+\", w) SPACE STRING(w)", &["ab ac"]);
    // The longest alternative matches, not the first one.
    accepts("REGEX(\"a|ab\") NEWLINE", &["ab\n"]);
    rejects("REGEX(\".*\") STRING(\"x\")", &["ax", "a\nx"]);
    accepts("REGEX(\".*\") NEWLINE STRING(\"x\")", &["a\nx"]);
}

#[test]
fn arrays_are_unique_or_contain_values() {
    let program = "REPI(i, 3, SPACE) INT(0, 9, a[i]) STRING(\",\") INT(0, 9, b[i]) END \
                   ASSERT(UNIQUE(a, b)) ASSERT(INARRAY(5, a)) UNSET(a, b)";
    accepts(program, &["1,2 1,3 5,2"]);
    rejects(program, &["1,2 5,3 1,2", "1,2 1,3 4,2"]);
    accepts(
        "SET(x[1, \"k\"] = 2, y = x[1, \"k\"] % 2) ASSERT(y == 0)",
        &[""],
    );
}

#[test]
fn arithmetic_is_exact_for_whole_numbers() {
    for condition in [
        "2^100 == 1267650600228229401496703205376",
        "-2^2 == -4",
        "2^3^2 == 512",
        "7 / 2 == 3",
        "-7 % 3 == -1",
        "7 / 2.0 == 3.5",
        "1 + 2 * 3 - 4 == 3",
        "(-1)^3 == -1",
        "0^0 == 1",
        "\"a\" < \"b\"",
    ] {
        accepts(&format!("ASSERT({condition})"), &[""]);
    }
}

#[test]
fn rejection_names_place() {
    let rejection = check("INT(1, 5) NEWLINE\nINT(1, 5) SPACE\nINT(1, 5)", "3\n4 9").unwrap_err();
    assert_eq!(
        (rejection.line, rejection.column, rejection.program_line),
        (2, 3, 3)
    );
}

#[test]
fn wrong_programs_are_refused_with_line() {
    for (program, line) in [
        ("INT(1, 2", 1),
        ("\nFOO(1)", 2),
        ("NEWLINE\nEND", 2),
        ("REP(3)\nNEWLINE", 2),
        ("STRING(\"a", 1),
        ("ASSERT(1)", 1),
        ("INT(1,2) ?", 1),
        ("INT 1", 1),
        ("x", 1),
    ] {
        let error = Program::parse(program).expect_err(program);
        assert_eq!(error.line, line, "{program}: {error}");
    }
    for program in [
        "ASSERT(x == 1)",
        "ASSERT(1 / 0 == 1)",
        "ASSERT(\"a\" == 1)",
        "REP(-1) END",
        "SET(a[1]=1, b[2]=1) ASSERT(UNIQUE(a, b))",
        "REGEX(\"(\")",
        "SET(x = 2 ^ 100000)",
    ] {
        let why = check(program, "").unwrap_err().why;
        assert!(matches!(why, Why::Program(_)), "{program}: {why}");
    }
}

#[test]
fn hostile_programs_end() {
    let deep = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(100_000), close.repeat(100_000))
    };
    for program in [
        deep("(", "1", ")"),
        format!("ASSERT({} == 1)", deep("(", "1", ")")),
        format!("ASSERT({})", deep("!", "ISEOF", "")),
        format!("ASSERT({} == 1)", deep("-", "1", "")),
        format!("SET(x = {})", deep("2^", "1", "")),
        deep("IF(ISEOF) ", "", "END "),
        deep("REP(1, ", "SPACE", ") END"),
    ] {
        Program::parse(&program).expect_err("nested too deeply");
    }
    // Parentheses are not parsed again and again.
    let nested = format!("{}1{}", "(".repeat(40), ")".repeat(40));
    accepts(&format!("ASSERT({nested} == 1)"), &[""]);
    accepts(&format!("ASSERT(0{} == 9000)", "+1".repeat(9000)), &[""]);
    for program in [
        "WHILE(1 == 1) END",
        "REP(4000000000) END",
        "REP(100000) REP(100000) END END",
        "SET(x = 1) WHILE(1 == 1) SET(x = x * 3 % 2^30000) END",
        "REPI(i, 4000000000) SET(a[i] = 1) END",
        "REPI(i, 100000) SET(a[i] = i) ASSERT(!INARRAY(-1, a)) END",
        "REPI(i, 4000000000) SET(a[i] = 2^30000) END",
    ] {
        let why = check(program, "").unwrap_err().why;
        assert!(matches!(why, Why::Bound(_)), "{program}: {why}");
    }
    let input = "a".repeat(1_000_000);
    let why = check("WHILE(!ISEOF) REGEX(\"a\") END", &input).err();
    assert!(why.is_none_or(|rejection| matches!(rejection.why, Why::Bound(_))));
    check("REGEX(\"(a*)*b\")", &input).unwrap_err();
    check("REGEX(\"(a{1,1000}){1,1000}\")", &input).unwrap_err();
}

#[test]
fn hostile_lists_of_names_end() {
    let names = vec!["a"; 500_000].join(",");
    for count in [1, 10_000] {
        let program =
            format!("REPI(i, {count}) SET(a[i] = i) END WHILE(1 == 1) ASSERT(UNIQUE({names})) END");
        let why = check(&program, "").unwrap_err().why;
        assert!(matches!(why, Why::Bound(_)), "{count}: {why}");
    }
    // Large values are counted as often as they are named.
    let names = vec!["a"; 40_000].join(",");
    let program = format!("SET(a = 2^30000 * 2^30000) ASSERT(UNIQUE({names}))");
    assert_eq!(check(&program, "").unwrap_err().why, Why::Bound("memory"));
    // So are large keys.
    let program = format!("REGEX(\"x*\", k) SET(a[k] = 1) ASSERT(UNIQUE({names}))");
    let why = check(&program, &"x".repeat(1_000_000)).unwrap_err().why;
    assert_eq!(why, Why::Bound("time"));
}

#[test]
fn hostile_texts_end() {
    let input = "x".repeat(1_000_000);
    let program = "REGEX(\"x*\", k) SET(a[k] = 1) WHILE(a[k] == 1) END";
    assert_eq!(check(program, &input).unwrap_err().why, Why::Bound("time"));
    let program = "REGEX(\"x*\", k) WHILE(1 == 1) SET(a[k] = 1) END";
    assert_eq!(check(program, &input).unwrap_err().why, Why::Bound("time"));
    // Messages show only the beginning of a text.
    let why = check("REGEX(\"x*\", k) STRING(k)", &input).unwrap_err().why;
    assert!(why.is_mismatch() && why.to_string().len() < 200, "{why}");
    // A pattern from the input is short.
    let why = check("REGEX(\"x*\", k) REGEX(k)", &input).unwrap_err().why;
    assert!(matches!(why, Why::Bound(_)), "{why}");
}

#[test]
fn hostile_numbers_end() {
    for program in [
        "SET(x = 2^30000) WHILE(x > 0.5) END",
        "REPI(i, 1000) SET(a[i] = 2^500) END WHILE(!INARRAY(0.5, a)) END",
    ] {
        let why = check(program, "").unwrap_err().why;
        assert_eq!(why, Why::Bound("time"), "{program}");
    }
    accepts(
        "ASSERT(2^30000 > 0.5 && -2^30000 < 0.5 && 2^500 > 0.5)",
        &[""],
    );
}

#[test]
fn hostile_patterns_end() {
    // Almost every byte of this input leads to a new state.
    let mut state = 1u32;
    let input: String = (0..1_000_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 'a' } else { 'b' }
        })
        .collect();
    let why = check("REGEX(\"[ab]*a[ab]{1000}\")", &input)
        .unwrap_err()
        .why;
    assert_eq!(why, Why::Bound("time"));
}
