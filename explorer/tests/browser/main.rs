//! The page in Chromium, on a running app.
//!
//! Chromium is looked for on the `PATH`; where it is not, the tests say so and pass. `CHROMIUM` names another program, which
//! then must be there. With `EXPLORER_SCREENSHOTS=folder` the test of the look saves pictures of the page into that folder;
//! `explorer-query.png` and `explorer-graph.png` are those in `assets/screenshots`.

#[path = "../common/mod.rs"]
mod common;

mod chromium;
mod edits;
mod looks;
mod price;
mod rows;
mod views;

use bevy_ecs::world::World;
use chromium::Tab;
use common::{Game, serve};
use serde_json::json;
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// One browser at a time: each is several processes.
static TURN: Mutex<()> = Mutex::new(());

/// The page on an app, in a browser.
struct Page {
    tab: Tab,
    game: Game,
    url: String,
    _turn: MutexGuard<'static, ()>,
}

impl Page {
    /// Opens the page on the small world of `cargo remote`, after something was done to it.
    fn open(prepare: impl FnOnce(&mut World) + Send + 'static) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let tab = Tab::open()?;
        let game = Game::start(prepare);
        let url = format!("http://{}/", serve(game.address()));
        let mut page = Self { tab, game, url, _turn: turn };
        page.load();
        Some(page)
    }

    fn load(&mut self) {
        let url = self.url.clone();
        self.call("Page.navigate", json!({ "url": url }));
        self.until("document.querySelector('#tree .row[data-entity]')");
    }

    /// The row of an entity in the tree.
    fn row(&self, label: &str) -> String {
        format!(
            "[...document.querySelectorAll('#tree .row')].find((row) => row.querySelector('.label')?.textContent === '{label}')"
        )
    }

    /// Selects an entity by a click in the tree.
    fn select(&mut self, label: &str) {
        let row = self.row(label);
        self.click(&format!("({row})?.querySelector('.label')"));
        self.until(&format!("document.querySelector('#details h2')?.textContent === '{label}'"));
    }

    /// Writes an expression and runs it.
    fn ask(&mut self, expression: &str) {
        self.click("document.querySelector('#expression')");
        self.write(expression);
        self.press("Enter");
    }

    /// Waits for a text in an element.
    fn until_text(&mut self, selector: &str, text: &str) {
        let text = json!(text);
        self.until(&format!("document.querySelector('{selector}')?.innerText.includes({text})"));
    }

    /// Checks that nothing has gone wrong in the page.
    fn end(mut self) {
        let problems = self.problems();
        assert!(problems.is_empty(), "{problems:#?}");
    }
}

impl Deref for Page {
    type Target = Tab;

    fn deref(&self) -> &Tab {
        &self.tab
    }
}

impl DerefMut for Page {
    fn deref_mut(&mut self) -> &mut Tab {
        &mut self.tab
    }
}
