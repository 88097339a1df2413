//! Queries: rows, errors, completion, plans, and rows that follow the world.

use crate::Page;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{DockedTo, Ship};
use serde_json::json;

#[test]
fn an_expression_gives_rows_that_lead_to_entities() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.ask("Ship, (DockedTo, $port)");
    page.until("document.querySelectorAll('#rows tr').length === 1");
    page.until_text("#found-rows", "1 row · live");
    assert_eq!(
        page.eval(
            "[...document.querySelectorAll('table.rows th')].slice(0, 2).map((cell) => cell.innerText).join()"
        ),
        "this,$port"
    );
    page.click("[...document.querySelectorAll('#rows .link')].find((link) => link.innerText === 'Earth')");
    page.until_text("#details h2", "Earth");
    // The expression is part of the address.
    page.leave("Page.reload", json!({}));
    page.until("document.querySelectorAll('#rows tr').length === 1");
    page.until_text("#details h2", "Earth");
    page.end();
}

#[test]
fn a_mistake_is_marked_in_the_text_and_explained_under_it() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.ask("Ship, (DockedT, $port)");
    page.until("document.querySelector('.under mark')?.textContent === 'DockedT'");
    page.until("!document.querySelector('#mistake').hidden");
    let places = page.eval(
        "['.box', '#mistake'].map((part) => document.querySelector(part).getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])",
    );
    assert!(places[1][0].as_f64() >= places[0][1].as_f64(), "it is under the text: {places}");
    // It knows what was meant.
    page.click("document.querySelector('#mistake .link')");
    page.until(
        "document.querySelector('#mistake').hidden && document.querySelectorAll('#rows tr').length === 1",
    );
    assert_eq!(page.eval("document.querySelector('#expression').value"), "Ship, (DockedTo, $port)");
    // Places are counted in bytes: what is before them may take more than one each.
    page.ask("Planet || (Likes, \"Zoë\"), Nobody");
    page.until("['\"Zoë\"', 'Nobody'].includes(document.querySelector('.under mark')?.textContent)");
    // At the end there is nothing to mark but a blank.
    page.ask("Planet, (Likes, ");
    page.until("document.querySelector('.under mark')?.textContent === ' '");
    page.until_text("#mistake", "expected");
    page.end();
}

#[test]
fn names_are_completed() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.click("document.querySelector('#expression')");
    page.call("Input.insertText", serde_json::json!({ "text": "(Dock" }));
    page.until_text(".box .suggestions", "DockedTo");
    page.press("Tab");
    page.until("document.querySelector('#expression').value === '(DockedTo'");
    page.call("Input.insertText", serde_json::json!({ "text": ", Mar" }));
    page.until_text(".box .suggestions", "Sol.Mars");
    page.press("Enter");
    page.until("document.querySelector('.box .suggestions').hidden");
    page.write("(DockedTo, $port), Planet($po");
    page.until_text(".box .suggestions", "$port");
    page.press("Escape");
    page.until("document.querySelector('.box .suggestions').hidden");
    // None come up after the expression was run.
    page.hold("relations.search");
    page.write("(DockedTo, Mar");
    page.until("window.isHeld");
    page.press("Enter");
    page.release();
    assert_eq!(page.eval("document.querySelector('.box .suggestions').hidden"), true);
    page.end();
}

#[test]
fn rows_come_and_go_with_the_world() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.ask("Ship, (DockedTo, $port)");
    let shown = "[...document.querySelectorAll('#rows tr:not(.gone)')].map((row) => row.innerText.split('\\t')[0].trim()).join()";
    page.until(&format!("({shown}) === 'Kite'"));
    let swan = page.game.run(|world| {
        let [swan, mars] = ["Swan", "Sol.Mars"].map(|name| world.lookup(name).unwrap());
        world.insert_pair(swan, DockedTo, mars).unwrap();
        swan
    });
    page.until(&format!("({shown}) === 'Kite,Swan'"));
    page.until("document.querySelector('#rows tr.new')");
    page.until_text("#found-rows", "2 rows");
    page.game.run(move |world| {
        let kite = world.lookup("Kite").unwrap();
        world.remove_pairs::<DockedTo>(kite);
        world.despawn(swan);
    });
    page.until(&format!("({shown}) === ''"));
    page.until("document.querySelectorAll('#rows tr').length === 0");
    page.until_text("#found-rows", "0 rows");
    page.end();
}

#[test]
fn an_expression_that_was_run_is_not_run_again_by_itself() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.ask("Ship, (DockedTo, $port)");
    page.until("document.querySelectorAll('#rows tr').length === 1");
    page.eval("document.querySelector('#rows tr').isFirst = true");
    page.pause();
    assert_eq!(page.eval("document.querySelector('#rows tr').isFirst"), true);
    page.end();
}

#[test]
fn more_rows_than_can_be_followed_are_read_by_the_page() {
    let prepare = |world: &mut World| {
        for number in 0..1500 {
            world.spawn((Name::new(format!("Boat {number}")), Ship));
        }
    };
    let Some(mut page) = Page::open(prepare) else { return };
    page.ask("Ship");
    page.until_text("#found-rows", "100 rows of more · too many to follow");
    page.click("[...document.querySelectorAll('#query button')].find((button) => button.innerText.startsWith('more rows'))");
    page.until("document.querySelectorAll('#rows tr').length === 200");
    page.end();
}

#[test]
fn the_plan_is_drawn_with_expected_and_real_numbers() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.ask("Ship, (DockedTo, $port), Planet($port)");
    page.click("document.querySelector('#planned')");
    page.until("document.querySelectorAll('#plan svg').length === 2");
    page.until("document.querySelectorAll('#plan rect.expected').length > 0");
    let bars = "document.querySelectorAll('#plan rect.expected').length === document.querySelectorAll('#plan rect.made').length";
    assert_eq!(page.eval(bars), true);
    page.until_text("#plan", "as run: 1 row");
    page.end();
}
