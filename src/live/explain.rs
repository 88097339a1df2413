//! The text that explains how the rows of a live expression are kept.

use super::expr::{LiveExpr, WholeRun};
use alloc::string::String;
use core::fmt::{self, Write};

impl LiveExpr {
    pub(super) fn write_plan(&self, text: &mut String) -> fmt::Result {
        let Some(WholeRun { query, outline, .. }) = &self.known else {
            return writeln!(text, "not run yet");
        };
        let is_kept = outline.reasons.is_empty();
        writeln!(text, "{}", if is_kept { "kept up to date" } else { "run again at each update" })?;
        for (number, field) in query.fields.iter().enumerate() {
            let is_own = |of: Option<u16>| of == Some(number as u16);
            write!(text, "  {}: ", field.text)?;
            match outline.reasons.iter().find(|(of, _)| is_own(*of)) {
                Some((_, reason)) => writeln!(text, "run again, {reason}")?,
                None => {
                    let watches = outline.fields.iter().filter(|(of, _)| is_own(*of));
                    outline.explain(watches.map(|&(_, watch)| watch), query, text)?;
                }
            }
        }
        let others = outline.reasons.iter().filter(|(of, _)| of.is_none());
        others.into_iter().try_for_each(|(_, reason)| writeln!(text, "  run again, {reason}"))
    }
}
