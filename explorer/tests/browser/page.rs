//! The page on a running app, in a browser.

use crate::{
    chromium::Tab,
    common::{Game, serve},
};
use bevy_ecs::world::World;
use bevy_relations::remote::RemoteLimits;
use serde_json::{Value, json};
use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// One browser at a time: each is several processes.
static TURN: Mutex<()> = Mutex::new(());

/// The page on an app, in a browser.
pub(crate) struct Page {
    tab: Tab,
    pub(crate) game: Game,
    pub(crate) url: String,
    _turn: MutexGuard<'static, ()>,
}

impl Page {
    /// Opens the page on the small world of `cargo remote`, after something was done to it.
    pub(crate) fn open(prepare: impl FnOnce(&mut World) + Send + 'static) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let tab = Tab::open()?;
        let game = Game::start(|world| {
            // As users have them: in an unoptimised build, pages end early and the document asks for the next.
            let RemoteLimits { page_time, watch_time, .. } = RemoteLimits::default();
            let limits = world.resource_mut::<RemoteLimits>().into_inner();
            (limits.page_time, limits.watch_time) = (page_time, watch_time);
            prepare(world);
        });
        let url = format!("http://{}/", serve(game.address()));
        let mut page = Self { tab, game, url, _turn: turn };
        page.load();
        Some(page)
    }

    pub(crate) fn load(&mut self) {
        let url = self.url.clone();
        self.leave("Page.navigate", json!({ "url": url }));
        self.until("document.querySelector('#tree .row[data-entity]')");
    }

    /// Calls a method that leads to another document, and waits until the one before is gone.
    pub(crate) fn leave(&mut self, method: &str, params: Value) {
        self.eval("window.isLeft = true");
        self.call(method, params);
        self.until("!window.isLeft");
    }

    /// Holds back the answer to the next request that contains a text: `isHeld` once it is there, `release()` lets it go. Those
    /// after it are not held back.
    pub(crate) fn hold(&mut self, text: &str) {
        let text = json!(text);
        self.eval(&format!(
            "{{ const send = window.fetch;
                const released = new Promise((resolve) => (window.release = resolve));
                let isNext = true;
                window.isHeld = false;
                window.fetch = async (url, options) => {{
                  const isIt = isNext && options?.body?.includes({text});
                  if (isIt) isNext = false;
                  const answer = await send(url, options);
                  if (isIt) {{ window.isHeld = true; await released; }}
                  return answer;
                }}; }}"
        ));
    }

    /// Lets the answer go that is held back, and gives the page time to do what is wrong.
    pub(crate) fn release(&mut self) {
        self.until("window.isHeld");
        self.eval("window.release()");
        self.pause();
    }

    /// Time for what must not happen. What must happen is waited for with `until`.
    pub(crate) fn pause(&mut self) {
        self.eval("new Promise((resolve) => setTimeout(resolve, 400))");
    }

    /// The row of an entity in the tree.
    pub(crate) fn row(&self, label: &str) -> String {
        format!(
            "[...document.querySelectorAll('#tree .row')].find((row) => row.querySelector('.label')?.textContent === '{label}')"
        )
    }

    /// Selects an entity by a click in the tree.
    pub(crate) fn select(&mut self, label: &str) {
        let row = self.row(label);
        self.click(&format!("({row})?.querySelector('.label')"));
        self.until(&format!("document.querySelector('#details h2')?.textContent === '{label}'"));
    }

    /// Writes an expression and runs it.
    pub(crate) fn ask(&mut self, expression: &str) {
        self.click("document.querySelector('#expression')");
        self.write(expression);
        self.press("Enter");
    }

    /// Waits for a text in an element.
    pub(crate) fn until_text(&mut self, selector: &str, text: &str) {
        let text = json!(text);
        // What is hidden has a text too.
        let found =
            format!("[document.querySelector('{selector}')].find((element) => element?.checkVisibility())");
        self.until(&format!("{found}?.innerText.includes({text})"));
    }

    /// Checks that nothing has gone wrong in the page.
    pub(crate) fn end(mut self) {
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
