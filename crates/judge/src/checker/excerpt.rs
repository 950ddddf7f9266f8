//! Excerpts of strings that differ.

/// Length of a token's or line's excerpt in a comment.
const MAX_SHOWN_BYTES: usize = 48;

/// Quotes two different strings, each cut so that the first difference is visible.
pub(super) fn show(read: &[u8], expected: &[u8]) -> (String, String) {
    let same = read
        .iter()
        .zip(expected)
        .take_while(|(one, other)| one == other)
        .count();
    let begin = if same > MAX_SHOWN_BYTES / 2 {
        same - MAX_SHOWN_BYTES / 4
    } else {
        0
    };
    (quote(read, begin), quote(expected, begin))
}

fn quote(text: &[u8], begin: usize) -> String {
    let is_continuation = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    // Skip at most three continuation bytes, so that the excerpt begins with a whole character.
    let begin = (begin..begin + 4)
        .find(|at| !is_continuation(*at))
        .unwrap_or(begin)
        .min(text.len());
    let before = if begin > 0 { "..." } else { "" };
    let mut end = text.len().min(begin + MAX_SHOWN_BYTES);
    let mut after = "";
    if end < text.len() {
        end = (end - 3..=end)
            .rev()
            .find(|at| !is_continuation(*at))
            .unwrap_or(end);
        after = "...";
    }
    let mut shown = String::new();
    for character in String::from_utf8_lossy(&text[begin..end]).chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    format!("'{before}{shown}{after}'")
}
