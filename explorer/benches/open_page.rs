//! What an open page costs the game, frame by frame. `cargo bench` measures; `cargo test` runs it once, briefly.

#[path = "../tests/common/mod.rs"]
mod common;

#[path = "../tests/browser/chromium.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod chromium;

#[path = "../tests/browser/page.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod page;

use bevy_app::{First, Update};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_remote::{DockedTo, Likes, Ship};
use page::Page;
use serde_json::json;
use std::{env, fs, mem, thread, time::Duration};

/// The processor time of each frame. The thread of the app does nothing else.
#[derive(Resource, Default)]
struct Frames {
    start: Duration,
    taken: Vec<Duration>,
}

/// What this thread has taken of a processor, whatever else the machine does. Linux brings it up to date when a thread sleeps.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("it is measured on Linux");
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("a number comes first"))
}

fn note_frame(world: &mut World) {
    let now = processor_time();
    let mut frames = world.resource_mut::<Frames>();
    let start = mem::replace(&mut frames.start, now);
    frames.taken.push(now.saturating_sub(start));
}

/// A hundred regions of a thousand ships each, some of which change what they have docked to and whom they like.
fn regions(world: &mut World) {
    let regions: Vec<Entity> =
        (0..100).map(|region| world.spawn(Name::new(format!("Region {region}"))).id()).collect();
    let mut ships = Vec::new();
    for number in 0..100_000 {
        let region = regions[number % regions.len()];
        let name = Name::new(format!("Ship {number}"));
        ships.push(world.spawn((name, Ship, ChildOf(region), Pair(DockedTo, region))).id());
    }
    for pair in ships[..1000].chunks(2) {
        world.insert_pair(pair[0], Likes, pair[1]).expect("there are no rules for it");
    }
    let mut next = 0;
    let play = move |world: &mut World| {
        for _ in 0..100 {
            next = (next + 7) % ships.len();
            world
                .insert_pair(ships[next], DockedTo, regions[next * 3 % regions.len()])
                .expect("it is exclusive");
        }
        let [from, to] = [next % 1000, (next + 1) % 1000].map(|number| ships[number]);
        world.insert_pair(from, Likes, to).expect("there are no rules for it");
        let other = ships[(next + 500) % 1000];
        world.remove_pairs::<Likes>(other);
    };
    world.init_resource::<Frames>();
    let mut schedules = world.resource_mut::<Schedules>();
    schedules.add_systems(First, note_frame);
    schedules.add_systems(Update, play);
}

/// How long each state of the page is measured.
fn time() -> Duration {
    let measures = env::args().any(|argument| argument == "--bench");
    if measures { Duration::from_secs(15) } else { Duration::from_millis(200) }
}

/// What the frames took, of something that is done and of some time after it.
fn measure(page: &mut Page, what: &str, act: impl FnOnce(&mut Page)) {
    page.game.run(|world| world.resource_mut::<Frames>().taken.clear());
    act(page);
    thread::sleep(time());
    let mut taken = page.game.run(|world| mem::take(&mut world.resource_mut::<Frames>().taken));
    taken.sort_unstable();
    let count = u32::try_from(taken.len()).expect("not so many");
    let mean = taken.iter().sum::<Duration>() / count;
    let at = |part: usize| taken[(taken.len() - 1) * part / 1000];
    println!(
        "{what}: {count} frames, mean {mean:.1?}, median {:.1?}, 99 of 100 within {:.1?}, the longest {:.1?}",
        at(500),
        at(990),
        at(1000)
    );
}

fn main() {
    let Some(mut page) = Page::open(regions) else { return };
    page.call("Page.navigate", json!({ "url": "about:blank" }));
    thread::sleep(Duration::from_secs(1));
    measure(&mut page, "without a page", |_| ());
    measure(&mut page, "the tree", Page::load);
    measure(&mut page, "a search", |page| {
        page.click("document.querySelector('#search')");
        page.write("Ship 77");
    });
    measure(&mut page, "an entity, and rows that follow the world", |page| {
        page.press("Escape");
        page.select("Region 7");
        page.ask("Ship, (Likes, $friend)");
        page.until_text("#found-rows", "live");
    });
    measure(&mut page, "the same behind the statistics", |page| {
        page.click("document.querySelector('#tab-statistics')");
    });
    page.end();
}
