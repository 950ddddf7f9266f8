//! Suggestions for misspelt words.

/// Returns the known word that `word` probably means: the most similar one, if few letters differ.
pub fn nearest<'n>(word: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let length = word.chars().count();
    // If all letters differ, the words are not similar.
    let max_edits = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
    known
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(edits, _)| *edits <= max_edits)
        .min()
        .map(|(_, name)| name)
}
