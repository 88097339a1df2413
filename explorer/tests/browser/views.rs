//! The tree, the search, the keys, the graph, the statistics.

use crate::Page;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Likes, PartOf};

#[test]
fn the_page_shows_the_tree_and_opens_it_a_level_at_a_time() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.until_text("#state", "running");
    page.until_text("#totals", "relations");
    page.until_text("#tree", "Kite");
    assert_eq!(page.eval("document.querySelector('#tree').innerText.includes('Earth')"), false);
    let sol = page.row("Sol");
    page.click(&format!("({sol})?.querySelector('.twist')"));
    page.until_text("#tree", "Earth");
    page.until_text("#tree", "Mars");
    assert_eq!(page.eval(&format!("({sol}).getAttribute('aria-expanded')")), "true");
    // It follows the world.
    page.game.run(|world| {
        let sol = world.lookup("Sol").unwrap();
        world.spawn((Name::new("Venus"), ChildOf(sol)));
    });
    page.until_text("#tree", "Venus");
    page.click(&format!("({sol})?.querySelector('.twist')"));
    page.until("!document.querySelector('#tree').innerText.includes('Venus')");
    page.click("document.querySelector('#unnamed .twist')");
    page.until("document.querySelectorAll('#tree .unnamed').length > 3");
    page.end();
}

#[test]
fn another_relation_is_looked_at_as_a_tree() {
    let prepare = |world: &mut World| {
        let [kite, swan] = ["Kite", "Swan"].map(|name| world.lookup(name).unwrap());
        world.insert_pair(swan, PartOf, kite).unwrap();
    };
    let Some(mut page) = Page::open(prepare) else { return };
    page.until("[...document.querySelector('#along').options].some(({ value }) => value === 'PartOf')");
    page.eval("(() => { const along = document.querySelector('#along'); along.value = 'PartOf'; along.dispatchEvent(new Event('change')); })()");
    let kite = page.row("Kite");
    page.until(&format!("({kite})?.getAttribute('aria-expanded') === 'false'"));
    page.click(&format!("({kite})?.querySelector('.twist')"));
    page.until_text("#tree [role=group]", "Swan");
    page.end();
}

#[test]
fn entities_are_found_by_name_and_by_bits() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.click("document.querySelector('#search')");
    page.write("ar");
    page.until("document.querySelectorAll('#found .row').length === 2");
    page.until_text("#found", "Sol.Earth");
    page.write("earth");
    page.until("document.querySelectorAll('#found .row').length === 1");
    page.press("Enter");
    page.until_text("#details h2", "Earth");
    page.write("nothing of this name");
    page.until_text("#found", "No name contains this.");
    let kite = page.game.run(|world| world.lookup("Kite").unwrap().to_bits());
    page.write(&format!("#{kite}"));
    page.press("Enter");
    page.until_text("#details h2", "Kite");
    page.press("Escape");
    page.until("document.querySelector('#found').hidden");
    // Enter is for what is written, also before it is found.
    page.hold("relations.search");
    page.write("swan");
    page.press("Enter");
    page.release();
    page.until_text("#details h2", "Swan");
    page.end();
}

#[test]
fn what_was_read_further_stays_and_leaves_the_focus_alone() {
    let prepare = |world: &mut World| {
        for number in 0..250 {
            world.spawn(Name::new(format!("Boat {number}")));
        }
    };
    let Some(mut page) = Page::open(prepare) else { return };
    let rows = "document.querySelectorAll('#tree .row[data-entity]').length";
    let more = "document.querySelector('#tree .more button')";
    // The tree is read again while more of it is.
    page.hold("relations.children");
    page.until("window.isHeld");
    page.click(more);
    page.until(&format!("{rows} === 200"));
    page.release();
    assert_eq!(page.eval(rows), 200);
    page.hold("\"offset\":200");
    page.click(more);
    page.click("document.querySelector('#search')");
    page.release();
    page.until(&format!("{rows} > 200"));
    assert_eq!(page.eval("document.activeElement.id"), "search");
    page.end();
}

#[test]
fn everything_is_reached_by_keys() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.press("/");
    page.until("document.activeElement.id === 'search'");
    page.press("ArrowDown");
    let focused = "document.activeElement.querySelector('.label')?.textContent";
    let first = page.eval(focused);
    page.press("ArrowDown");
    page.until(&format!("{focused} !== '{}'", first.as_str().unwrap()));
    page.press("ArrowUp");
    for _ in 0..3 {
        if page.eval(focused) == "Sol" {
            break;
        }
        page.press("ArrowDown");
    }
    assert_eq!(page.eval(focused), "Sol");
    page.press("ArrowRight");
    page.until_text("#tree", "Earth");
    page.press("ArrowRight");
    page.until(&format!("{focused} === 'Earth'"));
    page.press("Enter");
    page.until_text("#details h2", "Earth");
    page.press("ArrowLeft");
    page.until(&format!("{focused} === 'Sol'"));
    page.press("ArrowLeft");
    page.until("!document.querySelector('#tree').innerText.includes('Earth')");
    page.press("3");
    page.until("!document.querySelector('#statistics').hidden");
    page.press("ArrowLeft");
    page.until("!document.querySelector('#graph').hidden");
    page.press("e");
    page.until("document.activeElement.id === 'expression'");
    page.call("Input.insertText", serde_json::json!({ "text": "Planet" }));
    page.press("Enter");
    page.until("document.querySelectorAll('#rows tr').length === 2");
    page.press("ArrowDown");
    page.until("document.activeElement === document.querySelector('#rows tr')");
    page.press("ArrowDown");
    page.until("document.activeElement === document.querySelectorAll('#rows tr')[1]");
    page.press("Enter");
    page.until_text("#details h2", "Mars");
    page.press("?");
    page.until("document.querySelector('#keys').open");
    page.press("Escape");
    page.until("!document.querySelector('#keys').open");
    page.end();
}

#[test]
fn the_graph_shows_what_is_around_an_entity_and_what_an_expression_finds() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Kite");
    page.press("2");
    let nodes =
        "document.querySelector('#canvas').graph?.nodes().map((node) => node.data('label')).sort().join()";
    page.until(&format!("({nodes})?.includes('Kite')"));
    page.until_text("#drawn", "entities");
    let drawn = page.eval(nodes);
    let drawn = drawn.as_str().unwrap();
    assert!(
        ["Kite", "Earth", "Swan", "Sol"].iter().all(|name| drawn.split(',').any(|node| node == *name)),
        "{drawn}"
    );
    // Without what is not chosen.
    page.click("[...document.querySelectorAll('#chosen label')].find((label) => label.innerText.includes('ChildOf'))");
    page.until(&format!("!({nodes}).includes('Sol')"));
    page.eval("document.querySelector('#graph-expression').focus()");
    page.write("Ship");
    page.press("Enter");
    page.until(&format!("({nodes}) === 'Kite,Swan'"));
    assert_eq!(
        page.eval("document.querySelector('#canvas').graph.edges().map((edge) => edge.data('label')).join()"),
        "Likes"
    );
    page.write("Ship,,");
    page.press("Enter");
    page.until("document.querySelector('#graph .mistake:not([hidden])')?.innerText");
    page.end();
}

#[test]
fn a_graph_that_was_read_behind_another_view_is_drawn_when_it_is_opened() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.select("Kite");
    page.hold("\"limit\":40");
    page.press("2");
    page.until("window.isHeld");
    page.press("1");
    page.release();
    page.press("2");
    page.until("document.querySelector('#canvas').graph?.elements().renderedBoundingBox().w > 100");
    page.end();
}

#[test]
fn the_statistics_count_pairs_and_changes() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.press("3");
    let cells =
        "[...document.querySelectorAll('#relations [data-relation=Likes] td')].map((cell) => cell.innerText)";
    page.until(&format!("({cells})[3] === '1'"));
    page.until(&format!("({cells})[4] === '0'"));
    page.game.run(|world| {
        let swan = world.lookup("Swan").unwrap();
        for number in 0..50 {
            let other = world.spawn(Name::new(format!("Friend {number}"))).id();
            world.insert_pair(swan, Likes, other).unwrap();
        }
    });
    page.until(&format!("({cells})[3] === '51'"));
    // It is in the cell for a second only, and in the picture for a minute.
    let most = "document.querySelector('#relations [data-relation=Likes] svg').getAttribute('aria-label')";
    page.until(&format!("Number(/at most ([\\d.]+)/.exec({most})[1]) > 0"));
    page.click("document.querySelector('#relations [data-relation=Likes] .ask')");
    page.until(
        "!document.querySelector('#query').hidden && document.querySelectorAll('#rows tr').length === 51",
    );
    page.end();
}

#[test]
fn an_app_that_ends_is_noticed() {
    let Some(mut page) = Page::open(|_| ()) else { return };
    page.until_text("#state", "running");
    let other = crate::common::Game::start(|_| ());
    let server = crate::common::serve(other.address());
    page.url = format!("http://{server}/");
    page.load();
    drop(other);
    // The browser writes each request that fails into its console: that is no mistake of the page.
    page.until("document.querySelector('#state').classList.contains('off')");
    page.until_text("#state", "no app answers");
}
