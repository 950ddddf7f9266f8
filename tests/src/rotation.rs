//! Large cross products. Each run of the tests covers one part of them.

/// Keeps the part of all cases that `MILLIBOX_ROTATION` selects: `PART/PARTS`. Without the
/// variable, keeps all cases. The file .ci/rotation describes what rotates; .ci/test selects tests
/// of the standard harness by their names.
pub fn keep_rotating_part<T>(cases: &mut Vec<T>) {
    let Some((part, parts)) = rotation() else {
        return;
    };
    println!(
        "part {part} of {parts} of {} cases (see .ci/rotation)",
        cases.len()
    );
    let mut index = 0;
    cases.retain(|_| {
        index += 1;
        index % parts == part
    });
}

/// The number of the variant that the current test runs, which changes with the part that
/// `MILLIBOX_ROTATION` selects; `None` if the test runs all variants. The standard harness names
/// threads after tests, so each of two variants is the first for half of the tests.
pub fn rotating_variant(variants: usize) -> Option<usize> {
    let (part, _) = rotation()?;
    let thread = std::thread::current();
    let offset: usize = thread.name()?.bytes().map(usize::from).sum();
    Some((part + offset) % variants)
}

fn rotation() -> Option<(usize, usize)> {
    let text = std::env::var("MILLIBOX_ROTATION")
        .ok()
        .filter(|text| !text.is_empty())?;
    let parsed = text.split_once('/').and_then(|(part, parts)| {
        Some((part.parse().ok()?, parts.parse().ok()?)).filter(|(part, parts)| part < parts)
    });
    Some(parsed.unwrap_or_else(|| {
        panic!("MILLIBOX_ROTATION={text} is not of the form PART/PARTS, such as 0/4")
    }))
}
