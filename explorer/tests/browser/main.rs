//! The page in Chromium, on a running app.
//!
//! Chromium is looked for on the `PATH`; where it is not, the tests say so and pass. `CHROMIUM` names another program, which
//! then must be there. With `EXPLORER_SCREENSHOTS=folder` the test of the look saves pictures of the page into that folder;
//! `explorer-query.png` and `explorer-graph.png` are those in `assets/screenshots`. With `EXPLORER_SLOW=1` scripts of the page take
//! several times as long, and each answer is late by up to 0.7 s: nothing here may depend on speed, but for the search in
//! `a_large_world_is_read_by_the_page`, which waits for hundreds of answers.

#[path = "../common/mod.rs"]
mod common;

mod chromium;
mod edits;
mod looks;
mod page;
mod rows;
mod views;

use page::Page;
