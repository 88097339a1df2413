//! Paths as text: names with `.` between them, and `\` before a character that is part of a name.

use alloc::{borrow::Cow, string::String};

/// The names of a path, from the first one. There is at least one, which may be empty.
pub(crate) fn steps(path: &str) -> impl Iterator<Item = Cow<'_, str>> {
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

/// Appends a name such that [`steps`] reads it as one.
pub(super) fn push_step(path: &mut String, name: &str) {
    for c in name.chars() {
        if matches!(c, '.' | '\\') {
            path.push('\\');
        }
        path.push(c);
    }
}
