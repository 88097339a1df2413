//! Paths as text: names with `.` between them, and `\` before a character that is part of a name.

use alloc::{borrow::Cow, string::String};
use core::fmt::{self, Write};

/// The names of a path, from the first one. There is at least one, which may be empty.
///
/// ```
/// # use bevy_relations_syntax::path::{join, steps};
/// assert!(steps(r"Sol.Probe No\. 7").eq(["Sol", "Probe No. 7"]));
/// assert_eq!(join(["Sol", "Probe No. 7"]), r"Sol.Probe No\. 7");
/// ```
pub fn steps(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = Some(path);
    core::iter::from_fn(move || {
        let path = rest?;
        let mut escaped = false;
        let end = path.bytes().position(|byte| {
            let end = byte == b'.' && !escaped;
            escaped = byte == b'\\' && !escaped;
            end
        });
        let (step, after) = match end {
            Some(end) => (&path[..end], Some(&path[end + 1..])),
            None => (path, None),
        };
        rest = after;
        Some(if step.contains('\\') { Cow::Owned(unescape(step)) } else { Cow::Borrowed(step) })
    })
}

fn unescape(step: &str) -> String {
    let mut name = String::with_capacity(step.len());
    let mut chars = step.chars();
    while let Some(c) = chars.next() {
        // A backslash at the end escapes nothing.
        name.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    name
}

/// The path of these names, as [`steps`] reads it.
pub fn join<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for (nth, name) in names.into_iter().enumerate() {
        if nth > 0 {
            path.push('.');
        }
        // Writing to a string does not fail.
        let _ = write_escaped(&mut path, name, |_, c| matches!(c, '.' | '\\'));
    }
    path
}

/// Writes a name with a backslash before every character that needs one, given its number in the name.
pub(crate) fn write_escaped(
    to: &mut impl Write,
    name: &str,
    needs_one: impl Fn(usize, char) -> bool,
) -> fmt::Result {
    for (nth, c) in name.chars().enumerate() {
        if needs_one(nth, c) {
            to.write_char('\\')?;
        }
        to.write_char(c)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{join, steps};
    use alloc::vec::Vec;

    #[test]
    fn what_is_joined_is_read_as_the_same_names() {
        for names in [&["Sol", "Earth"][..], &["Probe No. 7"], &[r"a\", ".", r"\.b", ""], &[""], &["", ""]] {
            let path = join(names.iter().copied());
            assert_eq!(steps(&path).collect::<Vec<_>>(), names, "{path}");
        }
        assert_eq!(join(["Sol", "Probe No. 7"]), r"Sol.Probe No\. 7");
        assert_eq!(steps(r"a\").collect::<Vec<_>>(), [r"a\"], "a backslash at the end");
    }
}
