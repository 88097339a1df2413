//! The selected entity, and what the page changes in the app.

use crate::Page;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Carries, DockedTo, Likes, Log, Planet};
use serde_json::json;

/// An input by its name for screen readers.
fn input(name: &str) -> String {
    format!("document.querySelector('#details input[aria-label=\"{name}\"]')")
}

fn fill(page: &mut Page, name: &str, text: &str) {
    page.click(&input(name));
    page.write(text);
}

#[test]
fn an_entity_shows_its_components_and_its_pairs_in_both_directions() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Kite");
    page.until_text("#details .components", "Ship");
    page.until_text("#details [data-direction=as_source]", "DockedTo");
    page.until_text("#details [data-direction=as_source]", "Earth");
    page.until_text("#details [data-direction=as_target]", "Swan");
    page.until(&format!("{}?.value === '2.5'", input("Carries Sol.Earth tons")));
    // A name leads to its entity, and the browser's way back leads back.
    page.click("[...document.querySelectorAll('#details .link')].find((link) => link.innerText === 'Earth')");
    page.until_text("#details h2", "Earth");
    page.until_text("#details .components", "people");
    page.until_text("#details [data-direction=as_target]", "Kite");
    page.eval("history.back()");
    page.until_text("#details h2", "Kite");
    // It follows the world.
    page.game.run(|world| {
        let [kite, mars] = ["Kite", "Sol.Mars"].map(|name| world.lookup(name).unwrap());
        world.insert_pair(kite, Likes, mars).unwrap();
        world.entity_mut(kite).insert(Log("left".into()));
    });
    page.until_text("#details [data-direction=as_source]", "Mars");
    page.until(&format!("{}?.value === 'left'", input("Log")));
    page.game.run(|world| {
        let kite = world.lookup("Kite").unwrap();
        world.despawn(kite);
    });
    page.until_text("#details", "This entity is gone.");
    page.end();
}

#[test]
fn a_pair_is_inserted_and_removed() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Swan");
    fill(&mut page, "relation", "DockedTo");
    fill(&mut page, "target", "Sol.Mars");
    page.press("Enter");
    page.until_text("#details [data-direction=as_source]", "Mars");
    let docked = |world: &mut World| {
        let [swan, mars] = ["Swan", "Sol.Mars"].map(|name| world.lookup(name).unwrap());
        world.has_pair::<DockedTo>(swan, mars)
    };
    assert!(page.game.run(docked));
    page.click("document.querySelector('#details [aria-label=\"Remove DockedTo Sol.Mars\"]')");
    page.until("!document.querySelector('#details [data-direction=as_source]').innerText.includes('Mars')");
    assert!(!page.game.run(docked));
    // With a value; what is wrong is said.
    fill(&mut page, "relation", "Carries");
    fill(&mut page, "target", "Kite");
    fill(&mut page, "value", "{ tons }");
    page.press("Enter");
    page.until_text(".of-pair .bad", "The value is not JSON");
    fill(&mut page, "value", "{ \"tons\": 4.5, \"buyer\": null }");
    page.press("Enter");
    page.until_text("#details [data-direction=as_source]", "Carries");
    let carried = page.game.run(|world| {
        let [swan, kite] = ["Swan", "Kite"].map(|name| world.lookup(name).unwrap());
        world.pair_value::<Carries>(swan, kite).cloned()
    });
    assert_eq!(carried, Some(Carries { tons: 4.5, buyer: None }));
    fill(&mut page, "relation", "Trusts");
    fill(&mut page, "target", "Kite");
    fill(&mut page, "value", "{ \"percent\": 101 }");
    page.press("Enter");
    page.until_text(".of-pair .bad", "more than everything");
    page.end();
}

#[test]
fn what_is_written_while_the_app_answers_stays() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Swan");
    page.hold("relations.insert");
    fill(&mut page, "relation", "DockedTo");
    fill(&mut page, "target", "Sol.Mars");
    page.press("Enter");
    page.until_text("#details [data-direction=as_source]", "Mars");
    fill(&mut page, "relation", "Carries");
    fill(&mut page, "target", "Kite");
    page.release();
    for (name, text) in [("relation", "Carries"), ("target", "Kite"), ("value", "")] {
        assert_eq!(page.eval(&format!("{}.value", input(name))), text, "{name}");
    }
    // An answered form that nobody touched is empty.
    fill(&mut page, "value", "{ \"tons\": 4.5, \"buyer\": null }");
    page.press("Enter");
    page.until(&format!("{}.value === ''", input("target")));
    page.until(&format!("{}.value === ''", input("value")));
    // Nor does the answer to what was sent before empty a form whose fields were refused since.
    page.hold("relations.insert");
    fill(&mut page, "relation", "DockedTo");
    fill(&mut page, "target", "Sol.Earth");
    page.press("Enter");
    page.until_text("#details [data-direction=as_source]", "Earth");
    fill(&mut page, "target", "Nowhere");
    page.press("Enter");
    page.until_text(".of-pair .bad", "Nowhere");
    page.release();
    assert_eq!(page.eval(&format!("{}.value", input("target"))), "Nowhere");
    page.until_text(".of-pair .bad", "Nowhere");
    page.end();
}

#[test]
fn values_of_pairs_and_components_are_edited() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Kite");
    fill(&mut page, "Carries Sol.Earth tons", "7.25");
    page.press("Enter");
    let tons = |world: &mut World| {
        let [kite, earth] = ["Kite", "Sol.Earth"].map(|name| world.lookup(name).unwrap());
        world.pair_value::<Carries>(kite, earth).unwrap().clone()
    };
    let swan = page.game.run(|world| world.lookup("Swan").unwrap());
    wait(|| page.game.run(tons) == Carries { tons: 7.25, buyer: Some(swan) });
    fill(&mut page, "Carries Sol.Earth tons", "heavy");
    page.press("Enter");
    page.until("document.querySelector('#details .pair-value .bad')?.innerText");
    assert_eq!(page.game.run(tons).tons, 7.25);
    page.press("Escape");

    page.eval("location.hash = ''");
    select_earth(&mut page);
    // More than numbers of JavaScript hold.
    fill(&mut page, "Planet people", "9007199254740993");
    page.press("Enter");
    wait(|| page.game.run(people) == 9_007_199_254_740_993);
    fill(&mut page, "Planet people", "-1");
    page.press("Enter");
    page.until("document.querySelector('#details .component .bad')?.innerText");
    assert_eq!(page.game.run(people), 9_007_199_254_740_993);
    page.end();
}

fn people(world: &mut World) -> u64 {
    let earth = world.lookup("Sol.Earth").unwrap();
    world.get::<Planet>(earth).unwrap().people
}

/// Selects what is below `Sol`.
fn select_earth(page: &mut Page) {
    let sol = page.row("Sol");
    page.click(&format!("({sol})?.querySelector('.twist')"));
    page.select("Earth");
}

#[test]
fn the_last_of_two_changes_shows_what_has_come_of_it() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    select_earth(&mut page);
    page.hold("world.mutate_components");
    fill(&mut page, "Planet people", "5");
    page.press("Enter");
    page.until("window.isHeld");
    fill(&mut page, "Planet people", "-1");
    page.press("Enter");
    page.pause();
    page.release();
    page.until("document.querySelector('#details .component .bad')?.innerText");
    page.pause();
    page.until("document.querySelector('#details .component .bad')?.innerText");
    assert_eq!(page.eval(&format!("{}.value", input("Planet people"))), "-1");
    assert_eq!(page.game.run(people), 5);
    // It stays after the field is left, which does not ask the app again, until it is taken back.
    page.hold("world.mutate_components");
    page.eval("document.activeElement.blur()");
    page.game.run(|world| {
        let earth = world.lookup("Sol.Earth").unwrap();
        world.get_mut::<Planet>(earth).unwrap().people = 6;
        world.entity_mut(earth).insert(Log("six".into()));
    });
    page.until(&format!("{}?.value === 'six'", input("Log")));
    page.until("document.querySelector('#details .component .bad')?.innerText");
    assert_eq!(page.eval("window.isHeld"), false);
    // Enter does: the app may accept now what it refused before.
    page.click(&input("Planet people"));
    page.press("Enter");
    page.release();
    page.until("!document.querySelector('#details .saving')");
    page.until("document.querySelector('#details .component .bad')?.innerText");
    page.press("Escape");
    page.until(&format!("{}?.value === '6'", input("Planet people")));
    page.end();
}

#[test]
fn each_part_of_a_value_is_written_into_the_newest_value() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    let carried = |world: &mut World| {
        let [kite, earth] = ["Kite", "Sol.Earth"].map(|name| world.lookup(name).unwrap());
        world.pair_value::<Carries>(kite, earth).unwrap().clone()
    };
    page.select("Kite");
    // One change is sent while another one is on its way.
    page.hold("relations.insert");
    fill(&mut page, "Carries Sol.Earth tons", "7.25");
    page.press("Enter");
    page.until("window.isHeld");
    fill(&mut page, "Carries Sol.Earth buyer", "Kite");
    page.press("Enter");
    page.pause();
    page.release();
    let [kite, swan] = page.game.run(|world| ["Kite", "Swan"].map(|name| world.lookup(name).unwrap()));
    wait(|| page.game.run(carried) == Carries { tons: 7.25, buyer: Some(kite) });
    // What is shown is old where something is being written.
    page.click(&input("Carries Sol.Earth tons"));
    page.game.run(|world| {
        let names = ["Kite", "Swan", "Sol.Earth", "Sol.Mars"];
        let [kite, swan, earth, mars] = names.map(|name| world.lookup(name).unwrap());
        world.insert_pair(kite, Carries { tons: 7.25, buyer: Some(swan) }, earth).unwrap();
        world.insert_pair(kite, Likes, mars).unwrap();
    });
    page.until_text("#details [data-direction=as_source]", "Mars");
    fill(&mut page, "Carries Sol.Earth tons", "8.5");
    page.press("Enter");
    wait(|| page.game.run(carried).tons == 8.5);
    assert_eq!(page.game.run(carried).buyer, Some(swan));
    page.end();
}

#[test]
fn what_is_being_written_stays_where_components_come_and_go() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    select_earth(&mut page);
    fill(&mut page, "Planet people", "12");
    page.game.run(|world| {
        let earth = world.lookup("Sol.Earth").unwrap();
        world.entity_mut(earth).insert(Log("left".into()));
    });
    page.until(&format!("{}?.value === 'left'", input("Log")));
    let focused = "[document.activeElement.getAttribute('aria-label'), document.activeElement.value]";
    assert_eq!(page.eval(focused), json!(["Planet people", "12"]));
    page.end();
}

#[test]
fn an_older_answer_does_not_show_what_was_before_a_change() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    select_earth(&mut page);
    page.hold("world.get_components");
    page.until("window.isHeld");
    fill(&mut page, "Planet people", "5");
    page.press("Enter");
    page.eval("document.activeElement.blur()");
    wait(|| page.game.run(people) == 5);
    page.until(&format!("{}?.value === '5' && !{0}.matches('.saving')", input("Planet people")));
    page.release();
    assert_eq!(page.eval(&format!("{}.value", input("Planet people"))), "5");
    // The app may at once have its own way again.
    fill(&mut page, "Planet people", "9");
    page.press("Enter");
    wait(|| page.game.run(people) == 9);
    page.game.run(|world| {
        let earth = world.lookup("Sol.Earth").unwrap();
        world.get_mut::<Planet>(earth).unwrap().people = 5;
    });
    page.until(&format!("!{}.matches('.saving')", input("Planet people")));
    page.eval("document.activeElement.blur()");
    page.until(&format!("{}?.value === '5'", input("Planet people")));
    page.end();
}

#[test]
fn a_component_is_inserted_and_removed() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Swan");
    fill(&mut page, "component", "Planet");
    fill(&mut page, "component value", "{ \"people\": 7 }");
    page.press("Enter");
    page.until(&format!("{}?.value === '7'", input("Planet people")));
    let people = |world: &mut World| {
        let swan = world.lookup("Swan").unwrap();
        world.get::<Planet>(swan).map(|planet| planet.people)
    };
    assert_eq!(page.game.run(people), Some(7));
    page.click("document.querySelector('#details [aria-label=\"Remove Planet\"]')");
    page.until(&format!("!{}", input("Planet people")));
    assert_eq!(page.game.run(people), None);
    // What is wrong is said.
    fill(&mut page, "component", "Nothing");
    page.press("Enter");
    page.until_text(".of-component .bad", "No component `Nothing` is registered");
    fill(&mut page, "component", "Planet");
    fill(&mut page, "component value", "{ people");
    page.press("Enter");
    page.until_text(".of-component .bad", "The value is not JSON");
    fill(&mut page, "component value", "{ \"people\": \"many\" }");
    page.press("Enter");
    page.until("document.querySelector('.of-component .bad').innerText.includes('people') || document.querySelector('.of-component .bad').innerText.includes('many')");
    assert_eq!(page.game.run(people), None);
    page.end();
}

/// Waits for what the app does in one of its next frames.
fn wait(is_done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !is_done() {
        assert!(start.elapsed() < crate::chromium::PATIENCE, "the app does not change");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn what_the_app_says_is_text_and_no_markup() {
    let name = "<img src=x onerror=\"document.title = 'run'\">";
    let prepare = move |world: &mut World| {
        let swan = world.lookup("Swan").unwrap();
        world.spawn((Name::new(name), Log(name.into()), Pair(Likes, swan)));
    };
    let Some(mut page) = Page::open(prepare) else { return };
    page.until(&format!("document.querySelector('#tree').innerText.includes({})", json!(name)));
    page.select("Swan");
    page.until(&format!("document.querySelector('#details').innerText.includes({})", json!(name)));
    page.ask("(Likes, $x)");
    page.until("document.querySelectorAll('#rows tr').length === 2");
    assert_eq!(page.eval("document.querySelectorAll('main img').length"), 0);
    assert_eq!(page.eval("document.title"), "Explorer · bevy_relations");
    page.end();
}
