//! Texts at random: the same as the verbs one by one, found by the same expression, and hostile ones that change nothing.

use super::{refused::state, *};
use crate::common::{Random, fewer};
use bevy_relations::expr::PairExpr;

/// A term: what is inserted, what asks for it, and the verb that does the same, which returns whether it did.
struct Term {
    text: String,
    query: String,
    verb: Box<dyn Fn(&mut World, Entity) -> bool>,
    /// What may have a value only once.
    once: Option<String>,
}

fn term(
    text: impl Into<String>,
    query: impl Into<String>,
    verb: impl Fn(&mut World, Entity) -> bool + 'static,
) -> Term {
    Term { text: text.into(), query: query.into(), verb: Box::new(verb), once: None }
}

impl Term {
    fn once(self, what: impl Into<String>) -> Self {
        Self { once: Some(what.into()), ..self }
    }
}

const PLACES: [&str; 4] = ["Earth", "Mars", "Venus", "Earth.Moon"];

/// The places, two tags, a relation, and ships.
fn a_world() -> (World, Vec<Entity>) {
    let mut world = world();
    let mut entities: Vec<Entity> = PLACES[..3].iter().map(|name| named(&mut world, name)).collect();
    entities.push(world.spawn((Name::new("Moon"), ChildOf(entities[0]))).id());
    entities.extend(["Red", "Blue"].map(|name| named(&mut world, name)));
    let allied = world.spawn_relation("allied", RelationTraits::new().symmetric()).unwrap();
    world.entity_mut(allied).insert(Name::new("allied"));
    entities.push(allied);
    entities.extend(["Kite", "Crow", "Gull"].map(|name| named(&mut world, name)));
    (world, entities)
}

fn component(world: &mut World, on: Entity, component: impl Bundle) -> bool {
    world.entity_mut(on).insert(component);
    true
}

fn a_term(random: &mut Random, entities: &[Entity]) -> Term {
    let at = random.below(PLACES.len());
    let (place, target) = (PLACES[at], entities[at]);
    let number = random.below(90) as u32;
    let [red, blue, allied] = [entities[4], entities[5], entities[6]];
    let pair = |relation| format!("({relation}, {place})");
    match random.below(13) {
        0 => term("Fighter", "Fighter", |world, on| component(world, on, Fighter)),
        1 => term(format!("Health({number})"), format!("Health.0 == {number}"), move |world, on| {
            component(world, on, Health(number))
        })
        .once("Health"),
        2 => term(
            format!("Position {{ x: {number}.5 }}"),
            format!("Position.x == {number}.5, Position.y == 8"),
            move |world, on| component(world, on, Position { x: number as f32 + 0.5, y: 8.0 }),
        )
        .once("Position"),
        3 => term("Pilot { rank: (2, 3) }", "Pilot.rank.1 == 3, Fighter", |world, on| {
            component(world, on, Pilot { rank: Rank(2, Some(3)), name: String::new() })
        })
        .once("Pilot"),
        4 => term("Red", "Red", move |world, on| world.insert_tag(on, red).is_ok()),
        5 => term("Blue($this)", "Blue", move |world, on| world.insert_tag(on, blue).is_ok()),
        6 => {
            term(pair("Likes"), pair("Likes"), move |world, on| world.insert_pair(on, Likes, target).is_ok())
        }
        7 => term(format!("DockedTo($this, {place})"), pair("DockedTo"), move |world, on| {
            world.insert_pair(on, DockedTo, target).is_ok()
        }),
        8 => term(
            format!("(Eats {{ grams: {number}, how: None }}, {place})"),
            format!("(Eats.grams, {place}) == {number}"),
            move |world, on| world.insert_pair(on, Eats { grams: number, how: None }, target).is_ok(),
        )
        .once(pair("Eats")),
        9 => term(
            format!("(Knows {{ years: {number} }}, {place})"),
            format!("(Knows.years, {place}) == {number}"),
            move |world, on| world.insert_pair(on, Knows { years: number as u8 }, target).is_ok(),
        )
        .once(pair("Knows")),
        10 => term(pair("Follows"), pair("Follows"), move |world, on| {
            world.insert_pair(on, Follows, target).is_ok()
        }),
        11 => term(pair("allied"), format!("allied({place}, $this)"), move |world, on| {
            world.insert_pair_by_id(on, (allied, target)).is_ok()
        }),
        _ => term(
            format!("(Pays({}), {place})", number + 20),
            format!("(Pays.0, {place}) == {}", number + 20),
            move |world, on| world.insert_pair(on, Pays(number + 20), target).is_ok(),
        )
        .once(pair("Pays")),
    }
}

/// Everything but the order of targets, in which companions come last if pairs are inserted all at once.
fn unordered(world: &World) -> Vec<String> {
    let mut lines = state(world);
    for line in &mut lines {
        let mut words: Vec<&str> = line.split([' ', ',', '[', ']']).collect();
        words.sort_unstable();
        *line = words.join(" ");
    }
    lines
}

/// Whether the entity is what the expression asks for.
#[track_caller]
fn matches(world: &mut World, entity: Entity, query: &str) -> bool {
    let compiled = PairExpr::parse(query).and_then(|expr| expr.compile(world));
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
    compiled.with_var(world, "this", entity).unwrap().any(world).unwrap()
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

#[test]
fn inserting_a_text_is_what_the_verbs_do_one_by_one() {
    let (mut inserted, mut refused) = (0, 0);
    for seed in 1..=fewer(120) as u64 {
        let mut random = Random(seed * 0x9E37_79B9);
        let ((mut one, entities), (mut other, same)) = (a_world(), a_world());
        assert_eq!(entities, same);
        for _ in 0..8 {
            let on = match random.below(4) {
                0 => random.pick(&entities[..4]),
                _ => random.pick(&entities[7..]),
            };
            let terms: Vec<Term> = (0..1 + random.below(4)).map(|_| a_term(&mut random, &entities)).collect();
            let text = joined(terms.iter().map(|term| term.text.clone()));
            let query = joined(terms.iter().map(|term| term.query.clone()));
            // The verbs would do these one after the other.
            let all: Vec<_> = terms.iter().filter_map(|term| term.once.as_deref()).collect();
            let mut once = all.clone();
            once.sort_unstable();
            once.dedup();
            let mut docks: Vec<_> =
                terms.iter().map(|term| &term.text).filter(|text| text.starts_with('D')).collect();
            docks.sort_unstable();
            docks.dedup();
            let is_twice = once.len() < all.len() || docks.len() > 1;

            let before = state(&one);
            let result = one.insert_expr(on, &text);
            one.check_pairs().unwrap();
            if is_twice {
                refused += 1;
                assert!(result.is_err(), "{text}");
                assert_eq!(state(&one), before, "{text}");
                continue;
            }
            let did = terms.iter().all(|term| (term.verb)(&mut other, on));
            assert_eq!(result.is_ok(), did, "{text}: {result:?}");
            if !did {
                refused += 1;
                assert_eq!(state(&one), before, "{text}");
                // The verbs before the one that was refused have changed the other world.
                break;
            }
            inserted += 1;
            assert_eq!(unordered(&one), unordered(&other), "{text}");
            assert!(matches(&mut one, on, &query), "{text}: {query}");
        }
    }
    assert!(inserted > fewer(120) && refused > fewer(120) / 4, "{inserted} {refused}");
}

#[test]
fn hostile_texts_change_nothing_when_they_are_refused() {
    const PIECES: [&str; 34] = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "|",
        "!",
        "?",
        "$this",
        "$x",
        "*",
        "_",
        "#0",
        "#4294967301",
        "-1",
        "1e400",
        "true",
        "\"",
        "None",
        "Earth",
        "Fighter",
        "Health(1)",
        "(Likes, Mars)",
        "(Follows, Kite)",
        "Sol.Sol",
        "\\",
        "é",
        "/*",
        "Prefab",
        "ChildOf",
        "Equips[Head](Mars)",
    ];
    let (mut world, entities) = a_world();
    let mut random = Random(0xBAD);
    let (mut inserted, mut refused) = (0, 0);
    for nth in 0..fewer(2_000) {
        let mut text = joined((0..1 + random.below(4)).map(|_| a_term(&mut random, &entities).text));
        for _ in 0..1 + random.below(3) {
            let at = random.below(text.len() + 1);
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let end = (at + random.below(4)).min(text.len());
            let end = (end..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(at);
            match random.below(3) {
                0 => text.replace_range(at..end, ""),
                1 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
                _ => text.replace_range(at..end, PIECES[random.below(PIECES.len())]),
            }
        }
        let on = random.pick(&entities[7..]);
        let unknown = if nth % 3 == 0 { UnknownNames::Spawn } else { UnknownNames::Refuse };
        let before = state(&world);
        match world.insert_expr_with(on, &text, unknown) {
            Ok(()) => inserted += 1,
            Err(error) => {
                refused += 1;
                let place = error.place().unwrap();
                assert!(text.get(place.range()).is_some(), "{text}: {error}");
                let mut after = state(&world);
                after.retain(|line| before.contains(line) || !line.ends_with("no pairs"));
                assert_eq!(after, before, "{text}: {error}");
            }
        }
        world.check_pairs().unwrap();
        if nth % 50 == 0 {
            (world, _) = a_world();
        }
    }
    assert!(inserted > fewer(2_000) / 50 && refused > fewer(2_000) / 3, "{inserted} {refused}");
}
