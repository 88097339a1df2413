//! The look, and a large world.

use crate::Page;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{Carries, DockedTo, Likes, PartOf, Planet, Ship, Trusts};
use serde_json::json;
use std::{env, fs, path::PathBuf, thread, time::Duration};

/// Fleets that carry things between planets.
fn fleets(world: &mut World) {
    let sol = world.lookup("Sol").unwrap();
    let mut ports = Vec::new();
    for (name, people) in [("Venus", 12_000), ("Ceres", 90_000), ("Europa", 700), ("Titan", 4_100)] {
        ports.push(world.spawn((Name::new(name), Planet { people }, ChildOf(sol))).id());
    }
    ports.push(world.lookup("Sol.Earth").unwrap());
    let mut ships: Vec<Entity> = Vec::new();
    for (fleet, count) in [("Harrier", 6), ("Petrel", 5), ("Osprey", 7)] {
        let flagship = world.spawn((Name::new(fleet), Ship)).id();
        ships.push(flagship);
        for number in 1..=count {
            let ship = world.spawn((Name::new(format!("{fleet} {number}")), Ship, Pair(PartOf, flagship)));
            ships.push(ship.id());
        }
    }
    for (number, &ship) in ships.iter().enumerate() {
        let port = ports[number * 7 % ports.len()];
        if number % 4 != 3 {
            world.insert_pair(ship, DockedTo, port).unwrap();
        }
        if number % 3 == 0 {
            let buyer = Some(ports[(number + 1) % ports.len()]);
            world.insert_pair(ship, Carries { tons: 1.5 * number as f32, buyer }, port).unwrap();
        }
        let other = ships[number * 5 % ships.len()];
        if other != ship {
            world.insert_pair(ship, Likes, other).unwrap();
            let percent = u8::try_from(40 + number).unwrap();
            world.insert_pair(ship, Trusts { percent }, other).unwrap();
        }
    }
}

fn dress(page: &mut Page, theme: &str) {
    let features = json!([{ "name": "prefers-color-scheme", "value": theme }]);
    page.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    page.until(&format!("matchMedia('(prefers-color-scheme: {theme})').matches"));
}

/// The pictures of the three views, light and dark; checks that nothing sticks out of the window.
#[test]
fn the_views_fit_the_window_in_light_and_dark() {
    let Some(mut page) = Page::open(fleets) else { return };
    let folder = env::var_os("EXPLORER_SCREENSHOTS").map(PathBuf::from);
    let mut backgrounds = Vec::new();
    let sol = page.row("Sol");
    page.click(&format!("({sol})?.querySelector('.twist')"));
    page.until_text("#tree", "Titan");
    page.click("document.querySelector('#planned')");
    page.ask("Ship, (Carries, $port), Planet($port)");
    page.until("document.querySelectorAll('#rows tr').length > 5");
    page.select("Harrier");
    for theme in ["light", "dark"] {
        dress(&mut page, theme);
        for (key, view) in [("1", "query"), ("2", "graph"), ("3", "statistics")] {
            page.eval("document.activeElement.blur()");
            page.press(key);
            page.until(&format!("!document.querySelector('#{view}').hidden"));
            if view == "graph" {
                page.until("document.querySelector('#canvas').graph?.nodes().length >= 20");
            }
            if view == "statistics" {
                for percent in 0..6 {
                    page.game.run(move |world| trust(world, percent));
                    thread::sleep(Duration::from_millis(400));
                }
            }
            page.eval("document.activeElement.blur()");
            page.eval("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)))");
            let sizes = "[document.documentElement.scrollWidth <= innerWidth, document.documentElement.scrollHeight <= innerHeight]";
            assert_eq!(page.eval(sizes), json!([true, true]), "{view} in {theme}");
            if let Some(folder) = &folder {
                fs::create_dir_all(folder).expect("a folder");
                let name = match (view, theme) {
                    ("query", "light") | ("graph", "dark") => format!("explorer-{view}.png"),
                    _ => format!("explorer-{view}-{theme}.png"),
                };
                fs::write(folder.join(name), page.picture()).expect("a picture is written");
            }
        }
        backgrounds.push(page.eval("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(backgrounds[0], backgrounds[1]);
    // The button comes before what the system says, and is kept.
    page.click("document.querySelector('#theme')");
    page.until(&format!("getComputedStyle(document.body).backgroundColor === {}", backgrounds[0]));
    page.load();
    assert_eq!(page.eval("getComputedStyle(document.body).backgroundColor"), backgrounds[0]);
    page.end();
}

/// Changes values of some pairs.
fn trust(world: &mut World, percent: u8) {
    let pairs: Vec<(Entity, Entity)> = world.pairs::<Trusts>().iter().collect();
    for (source, target) in pairs.into_iter().take(usize::from(percent % 3) * 6) {
        world.insert_pair(source, Trusts { percent }, target).unwrap();
    }
}

/// 100,000 entities. How long things take is printed: it depends on the machine, and the app is not optimised here.
#[test]
fn a_large_world_is_read_by_the_page() {
    let prepare = |world: &mut World| {
        for region in 0..100 {
            let parent = world.spawn(Name::new(format!("Region {region}"))).id();
            for place in 0..1000 {
                world.spawn((Name::new(format!("Place {region}-{place}")), ChildOf(parent)));
            }
        }
    };
    let Some(mut page) = Page::open(prepare) else { return };
    let url = page.url.clone();
    page.leave("Page.navigate", json!({ "url": url }));
    let shown = "new Promise((done) => { const look = () => document.querySelectorAll('#tree .row').length > 50 ? done(performance.now()) : requestAnimationFrame(look); look(); })";
    let first = page.eval(shown);
    let region = page.row("Region 7");
    let opened = format!(
        "new Promise((done) => {{ const start = performance.now(); ({region}).querySelector('.twist').click();
          const look = () => ({region}).nextSibling?.childElementCount > 50 ? done(performance.now() - start) : requestAnimationFrame(look); look(); }})"
    );
    let opened = page.eval(&opened);
    println!("with 100,000 entities: the first view after {first} ms, a node of 1,000 after {opened} ms");
    // A page of it, and the next.
    let places = format!("({region}).nextSibling.querySelectorAll('.row[data-entity]').length");
    assert_eq!(page.eval(&places), 100);
    page.click(&format!("({region}).nextSibling.querySelector('.more button')"));
    page.until(&format!("({places}) === 200"));
    page.click("document.querySelector('#search')");
    page.write("place 99-99");
    page.until("document.querySelectorAll('#found .row').length === 11");
    page.end();
}
