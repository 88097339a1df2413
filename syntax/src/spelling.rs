//! What messages do with words that were not understood: they shorten them, and guess which known one was meant.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

/// Characters of a word that are shown, and of a line around the place of a mistake.
pub(crate) const SHOWN: usize = 60;

/// The text as a message shows it: after 60 characters, the rest is left out.
///
/// ```
/// # use bevy_relations_syntax::spelling::shorten;
/// assert_eq!(shorten("Ship"), "Ship");
/// assert_eq!(shorten(&"a".repeat(100)).chars().count(), 61); // with `…`
/// ```
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Whether a character cannot be seen, or not be distinguished from a blank.
pub(crate) fn is_invisible(c: char) -> bool {
    let others = ['\u{a0}', '\u{ad}', '\u{feff}'];
    c.is_control()
        || others.contains(&c)
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}')
}

/// The text with escapes in the place of characters that cannot be seen.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars() {
        match is_invisible(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// Words of Flecs that are another word here.
const OF_FLECS: [(&str, &str); 2] = [("Delete", "Despawn"), ("Panic", "Refuse")];

/// The known name nearest to `name`, if one is near, or the one that stands for a word of Flecs.
///
/// ```
/// # use bevy_relations_syntax::spelling::nearest;
/// assert_eq!(nearest("exlusive", &["exclusive", "acyclic"]), Some("exclusive"));
/// assert_eq!(nearest("Delete", &["Remove", "Despawn"]), Some("Despawn"));
/// assert_eq!(nearest("likes", &["exclusive", "acyclic"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = folded(name);
    let of_flecs = OF_FLECS.into_iter().find(|(word, _)| folded(word) == name);
    let stands_for = of_flecs.and_then(|(_, here)| known.iter().find(|known| **known == here));
    if let Some(known) = stands_for {
        return Some(*known);
    }
    // It differs by more edits from all of them; and counting the edits of a word that is never so long takes long.
    let longest = known.iter().map(|known| known.len()).max()?;
    if name.len() > longest + MAX_EDITS {
        return None;
    }
    let (edits, nearest) = known.iter().map(|known| (distance(&name, &folded(known)), *known)).min()?;
    (edits <= allowed(nearest)).then_some(nearest)
}

/// The edits in a likely slip, at most.
const MAX_EDITS: usize = 3;

/// How many edits away a name may be and still be a likely slip: one per three letters.
fn allowed(known: &str) -> usize {
    (known.len() / 3).min(MAX_EDITS)
}

/// The letters of a name, whichever case convention it follows and however it is quoted or qualified.
fn folded(name: &str) -> Vec<char> {
    let last = name.rsplit("::").next().unwrap_or(name);
    last.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Insertions, removals and replacements of a letter, and exchanges of two that follow each other, that turn `a` into
/// `b`: the Damerau-Levenshtein distance (optimal string alignment).
///
/// ```
/// # use bevy_relations_syntax::spelling::distance;
/// let [a, b] = ["Erath", "Earth"].map(|word| word.chars().collect::<Vec<_>>());
/// assert_eq!(distance(&a, &b), 1);
/// ```
pub fn distance(a: &[char], b: &[char]) -> usize {
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut before = above.clone();
    for (i, x) in a.iter().enumerate() {
        let mut row = above.clone();
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            row[j + 1] = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};
    use alloc::vec::Vec;

    fn guess(name: &str) -> Option<&str> {
        nearest(name, &["exclusive", "tag", "on_target_despawn", "Despawn"])
    }

    #[test]
    fn edits_are_counted_and_an_exchange_is_one() {
        let edits = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|word| word.chars().collect::<Vec<_>>());
            assert_eq!(distance(&a, &b), distance(&b, &a));
            distance(&a, &b)
        };
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("knows", "knows", 0),
            ("konws", "knows", 1),
            ("valeu", "value", 1),
            ("abcd", "badc", 2),
            ("load", "coal", 2),
            ("armor", "arm", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn a_slip_of_the_keyboard_is_recognised() {
        assert_eq!(guess("exlusive"), Some("exclusive"));
        assert_eq!(guess("on_target_despwan"), Some("on_target_despawn"));
    }

    #[test]
    fn another_case_convention_is_recognised() {
        assert_eq!(guess("OnTargetDespawn"), Some("on_target_despawn"));
    }

    #[test]
    fn a_quoted_or_qualified_name_is_recognised() {
        assert_eq!(guess("\"Despawn\""), Some("Despawn"));
        assert_eq!(guess("CleanupPolicy :: Despawn"), Some("Despawn"));
    }

    #[test]
    fn a_word_of_flecs_is_recognised() {
        assert_eq!(nearest("Delete", &["Remove", "Despawn", "Refuse"]), Some("Despawn"));
        assert_eq!(nearest("Panic", &["Remove", "Despawn", "Refuse"]), Some("Refuse"));
        assert_eq!(nearest("Delete", &["Store"]), None);
    }

    #[test]
    fn a_name_that_is_far_from_all_gets_no_guess() {
        assert_eq!(guess("cascade"), None);
        assert_eq!(guess("map"), None);
    }
}
