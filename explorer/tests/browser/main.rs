//! The page in a real browser, Chromium, on an app that runs. Where there is none, nothing is tested, and a message says so.
//!
//! `CHROMIUM` names a browser. `EXPLORER_SCREENSHOTS` names a folder in which pictures are saved.

mod chromium;
#[path = "../common/mod.rs"]
mod common;

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Carries, DockedTo, Likes, Planet, Ship};
use chromium::Page;
use common::Game;
use std::time::Instant;

fn open() -> Option<(Game, Page)> {
    let game = Game::start();
    let page = Page::open(&game.url)?;
    Some((game, page))
}

fn entity(game: &Game, path: &'static str) -> Entity {
    game.run(move |world| world.lookup(path).unwrap())
}

fn bits(entity: Entity) -> String {
    format!("#{}", entity.to_bits())
}

#[test]
fn the_tree_is_opened_searched_and_walked_with_keys() {
    let Some((game, mut page)) = open() else { return };
    page.until("document.querySelector('#tree [data-entity]')");
    assert!(page.text("#tree").contains("Sol") && !page.text("#tree").contains("Earth"));
    assert!(!page.text("#tree").contains("null"), "{}", page.text("#tree"));
    let sol = bits(entity(&game, "Sol"));
    page.click(&format!("#tree [data-entity='{sol}'] .twist"));
    page.until("document.querySelector('#tree').innerText.includes('Earth')");
    // By keys: the search, what it finds, and its entity.
    page.eval("document.activeElement.blur()");
    page.key("/");
    page.until("document.activeElement.id === 'search'");
    page.call("Input.insertText", serde_json::json!({ "text": "mar" }));
    page.until("document.querySelector('#found').innerText.includes('Mars')");
    page.key("ArrowDown");
    page.key("Enter");
    page.until("document.querySelector('#details h2')?.innerText.includes('Mars')");
    page.until("document.querySelector('#components').innerText.includes('people')");
    // The tree follows the world.
    page.write("#search", "");
    page.key("Escape");
    game.run(|world| {
        let sol = world.lookup("Sol").unwrap();
        world.spawn((Name::new("Venus"), ChildOf(sol)));
    });
    page.until("document.querySelector('#tree').innerText.includes('Venus')");
}

#[test]
fn values_and_pairs_are_shown_and_edited() {
    let Some((game, mut page)) = open() else { return };
    let [kite, earth, mars, swan] = ["Kite", "Sol.Earth", "Sol.Mars", "Swan"].map(|path| entity(&game, path));
    page.eval(&format!("location.hash = '{}'", bits(kite)));
    page.until("document.querySelector('#pairs')?.innerText.includes('Sol.Earth')");
    page.until("document.querySelector('#pairs-to').innerText.includes('Swan')");
    // The value of a pair.
    page.click("#pairs button[aria-label^='Carries tons']");
    page.write("#pairs .editing input", "7.25");
    page.key("Enter");
    page.until("document.querySelector('#pairs').innerText.includes('7.25')");
    let tons = game.run(move |world| world.pair_value::<Carries>(kite, earth).unwrap().tons);
    assert_eq!(tons, 7.25);
    // A new pair; an exclusive one takes the place of the other.
    page.eval("document.querySelector('#new-relation').value = 'DockedTo'");
    page.write("#new-target", "Sol.Mars");
    page.key("Escape");
    page.click("#insert-pair");
    page.until("document.querySelector('#pairs').innerText.includes('Sol.Mars')");
    assert!(game.run(move |world| world.has_pair::<DockedTo>(kite, mars)));
    // One that is refused is told.
    page.write("#new-target", "Nowhere");
    page.key("Escape");
    page.click("#insert-pair");
    page.until("document.querySelector('.of-pairs .bad').innerText.includes('Nowhere')");
    // A pair goes.
    page.click("#pairs-to button.remove");
    page.until("!document.querySelector('#pairs-to').innerText.includes('Swan')");
    assert!(!game.run(move |world| world.has_pair::<Likes>(swan, kite)));
    // A component, by way of a link.
    page.click(&format!("#pairs a[href='{}']", bits(mars)));
    page.click("#components button[aria-label^='Planet people']");
    page.write("#components .editing input", "11");
    page.key("Enter");
    page.until("document.querySelector('#components').innerText.includes('11')");
    assert_eq!(game.run(move |world| world.get::<Planet>(mars).unwrap().people), 11);
    // What is wrong is told, and changes nothing.
    page.click("#components button[aria-label^='Planet people']");
    page.write("#components .editing input", "many");
    page.key("Enter");
    page.until("document.querySelector('#components .editing .bad').innerText !== ''");
    page.key("Escape");
    assert_eq!(game.run(move |world| world.get::<Planet>(mars).unwrap().people), 11);
}

#[test]
fn an_expression_has_rows_that_follow_the_world() {
    let Some((game, mut page)) = open() else { return };
    page.eval("document.activeElement.blur()");
    page.key("e");
    page.until("document.activeElement.id === 'expression'");
    page.write("#expression", "Ship, (DockedTo, $port)");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#rows tbody')?.rows.length === 1");
    assert!(page.text("#rows").contains("Kite") && page.text("#rows").contains("Sol.Earth"));
    game.run(|world| {
        let mars = world.lookup("Sol.Mars").unwrap();
        world.spawn((Name::new("Crow"), Ship, Pair(DockedTo, mars)));
    });
    page.until("document.querySelector('#rows tbody').rows.length === 2");
    page.click("#rows a");
    page.until("document.querySelector('#pairs')?.innerText.includes('Carries')");
    page.click("#tree [aria-expanded='false'] .twist");
    page.until("document.querySelector('#tree').innerText.includes('Earth')");
    page.screenshot("explorer-query.png");
    game.run(|world| {
        let kite = world.lookup("Kite").unwrap();
        world.despawn(kite);
    });
    page.until("document.querySelector('#rows tbody').rows.length === 1");
    assert!(page.text("#rows").contains("Crow"));
    page.click("#rows tbody a");
    page.until("document.querySelector('#details h2')?.innerText.includes('Crow')");
    // Not live: by the page.
    game.run(|world| {
        world.spawn_batch((0..500).map(|_| Ship));
    });
    page.click("#live");
    page.write("#expression", "Ship");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#rows-state').innerText.includes('first 200')");
    page.click("#more");
    page.until("document.querySelector('#rows tbody').rows.length === 400");
    page.click("#explain");
    page.until("document.querySelectorAll('svg.plan g').length > 0");
    assert!(page.text("#result").contains("expected") && page.text("#rows-state").contains("502 rows"));
}

#[test]
fn names_are_completed_and_mistakes_are_shown_at_their_place() {
    let Some((_game, mut page)) = open() else { return };
    page.write("#expression", "Ship, (Dock");
    page.until("document.querySelector('.query .suggestions')?.innerText.includes('DockedTo')");
    page.key("Tab");
    page.until("document.querySelector('#expression').value === 'Ship, (DockedTo'");
    page.write("#expression", "Ship, (DockedTo, Sol.Erth)");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#error mark')");
    assert_eq!(page.text("#error mark"), "Sol.Erth");
    assert!(page.text("#error").contains("Erth"), "{}", page.text("#error"));
    // What is suggested can be taken.
    page.click("#suggestion");
    page.until("document.querySelector('#rows')?.innerText.includes('Kite')");
    page.write("#expression", "Ship, (DockedTo, ");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#error .bad')?.innerText.includes('expected')");
    page.write("#expression", "Ship");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#error').childElementCount === 0 && document.querySelector('#rows')");
}

#[test]
fn relations_are_drawn_and_counted() {
    let Some((game, mut page)) = open() else { return };
    game.run(|world| {
        let ports = ["Sol.Earth", "Sol.Mars"].map(|path| world.lookup(path).unwrap());
        for number in 0..12 {
            let name = Name::new(format!("Ship {number}"));
            world.spawn((name, Ship, Pair(DockedTo, ports[number % 2])));
        }
    });
    let sol = bits(entity(&game, "Sol"));
    page.eval(&format!("location.hash = '{sol}'"));
    page.key("Escape");
    page.eval("document.activeElement.blur()");
    page.key("2");
    page.until("Number(document.querySelector('#canvas').dataset.nodes) >= 15");
    assert!(page.text("#graph-state").contains("pairs"));
    page.click("#theme");
    page.until("document.documentElement.dataset.theme");
    page.eval("document.documentElement.dataset.theme = 'dark'");
    page.click("#graph-draw");
    page.screenshot("explorer-graph.png");
    page.eval("document.activeElement.blur()");
    page.key("3");
    page.until("document.querySelector('#statistics-table')?.innerText.includes('DockedTo')");
    game.run(|world| {
        let [kite, swan] = ["Kite", "Swan"].map(|path| world.lookup(path).unwrap());
        world.insert_pair(kite, Likes, swan).unwrap();
    });
    page.until("[...document.querySelectorAll('#statistics-table tr')].some(row => row.cells[0].innerText === 'Likes' && row.cells[1].innerText === '2')");
    page.key("?");
    page.until("document.querySelector('#keys').open");
    page.key("Escape");
    page.until("!document.querySelector('#keys').open");
}

#[test]
fn names_of_the_app_are_text_and_no_markup() {
    let Some((game, mut page)) = open() else { return };
    let odd = game.run(|world| world.spawn((Name::new("<img src=x onerror=alert(1)>"), Ship)).id());
    page.eval(&format!("location.hash = '{}'", bits(odd)));
    page.write("#expression", "Ship");
    page.key("Escape");
    page.key("Enter");
    page.until("document.querySelector('#rows')?.innerText.includes('onerror')");
    page.until("document.querySelector('#details h2')?.innerText.includes('onerror')");
    assert_eq!(page.eval("document.querySelectorAll('main img').length"), 0);
}

#[test]
fn a_large_world_is_shown_at_once() {
    let game = Game::start();
    game.run(|world| {
        for number in 0..100 {
            let parent = world.spawn(Name::new(format!("Region {number}"))).id();
            world.spawn_batch((0..999).map(move |n| (Name::new(format!("Thing {n}")), ChildOf(parent))));
        }
    });
    let start = Instant::now();
    let Some(mut page) = Page::open(&game.url) else { return };
    page.until("document.querySelector('#tree').innerText.includes('Region')");
    println!(
        "100,000 entities: the first view after {:?}, the start of the browser included",
        start.elapsed()
    );
    let load = page.eval("performance.now()");
    println!("since the page was asked for: {load} ms");
    page.eval("document.querySelector(\"#tree [aria-expanded='false'] .twist\").click()");
    let opened = page.until("document.querySelector('#tree [role=group] .row')");
    println!("a node of 999 is open after {opened:?}");
    page.write("#search", "Thing 77");
    let found = page.until("document.querySelector('#found .row')");
    println!("a search shows its first page after {found:?}");
    assert!(page.text("#found").contains("Thing 77"));
}
