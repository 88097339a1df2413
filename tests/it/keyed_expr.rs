//! Keys in expressions: `Equips[Head]($item)`.
//!
//! What a program can write: names and numbers of keys, with and without a source; constants, variables, wildcards; negated,
//! optional, alternative terms and scopes; by text, by the builder, in systems; keys that are not known, relations without keys,
//! types that cannot be read.

use crate::common::{Random, fewer};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{ExprErrorKind, FieldId, PairExpr},
    prelude::*,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug, bevy_reflect::Reflect)]
enum Slot {
    Head,
    Hand,
    Foot,
}

#[derive(Relation, PartialEq, Debug)]
#[relation(key = Slot)]
struct Equips {
    slot: Slot,
    wear: u32,
}

#[derive(Relation)]
#[relation(key = u8)]
struct Carries(u8);

#[derive(Relation)]
#[relation(key = String)]
struct Plugs(String);

#[derive(PartialEq, Eq)]
struct Opaque;

#[derive(Relation)]
#[relation(key = Opaque)]
struct Hides(Opaque, #[expect(dead_code, reason = "a key without a size is no value")] u8);

#[derive(Relation)]
struct Likes;

fn named(world: &mut World, name: &str) -> Entity {
    world.spawn(Name::new(name.to_owned())).id()
}

fn equip(world: &mut World, source: Entity, slot: Slot, target: Entity) {
    world.insert_pair(source, Equips { slot, wear: 0 }, target).unwrap();
}

/// The names of `$this` and the given variables, row by row, sorted.
#[track_caller]
fn rows(world: &mut World, text: &str, vars: &[&str]) -> Vec<String> {
    let expr = PairExpr::parse(text).and_then(|expr| expr.compile(world));
    let mut expr = expr.unwrap_or_else(|error| panic!("{error}"));
    let mut rows = Vec::new();
    expr.for_each(world, |row| {
        let entities = vars.iter().map(|&var| if var == "this" { row.this() } else { row.var(var) });
        let name = |entity: Option<Entity>| match entity {
            Some(entity) => world.get::<Name>(entity).map_or_else(|| entity.to_string(), ToString::to_string),
            None => "-".to_owned(),
        };
        rows.push(entities.map(name).collect::<Vec<_>>().join(" "));
    })
    .unwrap();
    rows.sort_unstable();
    rows
}

/// Two knights with something on, and one with nothing.
fn world() -> World {
    let mut world = World::new();
    world.register_relation::<Equips>().unwrap();
    world.register_relation::<Likes>().unwrap();
    let [ann, bob, _] = ["ann", "bob", "cid"].map(|name| named(&mut world, name));
    let [helmet, hat, sword] = ["helmet", "hat", "sword"].map(|name| named(&mut world, name));
    equip(&mut world, ann, Slot::Head, helmet);
    equip(&mut world, ann, Slot::Hand, sword);
    equip(&mut world, bob, Slot::Head, hat);
    world.insert_pair(ann, Likes, hat).unwrap();
    world.insert_pair(bob, Likes, hat).unwrap();
    world
}

#[test]
fn a_key_chooses_among_the_pairs_of_a_relation() {
    let mut world = world();
    let world = &mut world;
    let both = ["this", "x"];
    assert_eq!(rows(world, "Equips[Head]($x)", &both), ["ann helmet", "bob hat"]);
    assert_eq!(rows(world, "Equips[Hand]($x)", &both), ["ann sword"]);
    assert_eq!(rows(world, "Equips[Foot]($x)", &both), [""; 0]);
    assert_eq!(rows(world, "Equips[Slot::Head]($this, $x)", &both), ["ann helmet", "bob hat"]);
    // A source, a constant target, from either end, and wildcards.
    assert_eq!(rows(world, "Equips[Head](ann, $x)", &["x"]), ["helmet"]);
    assert_eq!(rows(world, "Equips[Head](hat)", &["this"]), ["bob"]);
    assert_eq!(rows(world, "Equips[Hand](hat)", &["this"]), [""; 0]);
    assert_eq!(rows(world, "Equips[Head]($x, $this)", &both), ["hat bob", "helmet ann"]);
    assert_eq!(rows(world, "Equips[Head](*)", &["this"]), ["ann", "bob"]);
    assert_eq!(rows(world, "Equips[Head](_)", &["this"]), ["ann", "bob"]);
    assert_eq!(rows(world, "Equips[Head](*, $x)", &["x"]), ["hat", "helmet"]);
    // Joined with other terms.
    assert_eq!(rows(world, "Equips[Head]($x), (Likes, $x)", &both), ["bob hat"]);
    assert_eq!(rows(world, "Equips[Head]($x), Equips[Hand]($y)", &["this", "x", "y"]), ["ann helmet sword"]);
}

#[test]
fn negated_optional_and_alternative_terms_count_as_for_other_pairs() {
    let mut world = world();
    let world = &mut world;
    let both = ["this", "x"];
    assert_eq!(rows(world, "(Likes, _), !Equips[Hand](*)", &["this"]), ["bob"]);
    assert_eq!(rows(world, "(Likes, $x), !Equips[Head]($x)", &["this"]), ["ann"]);
    assert_eq!(rows(world, "(Likes, _), !Equips[Foot]($x)", &["this"]), ["ann", "bob"]);
    assert_eq!(rows(world, "(Likes, _), ?Equips[Hand]($x)", &both), ["ann sword", "bob -"]);
    let either = "Equips[Hand]($x) || Equips[Head]($x)";
    assert_eq!(rows(world, either, &both), ["ann helmet", "ann sword", "bob hat"]);
    let first = "(Likes, _), Equips[Hand]($x) || Equips[Head]($x)";
    assert_eq!(rows(world, first, &both), ["ann sword", "bob hat"]);
    let none = "(Likes, _), !{Equips[Hand]($x) || Equips[Foot]($x)}";
    assert_eq!(rows(world, none, &["this"]), ["bob"]);
    assert_eq!(rows(world, "{Equips[Head]($x), (Likes, $x)}", &both), ["bob hat"]);
}

#[test]
fn a_field_names_the_pair_and_gives_its_value() {
    let mut world = world();
    let mut expr =
        PairExpr::parse("Equips[Hand]($x), ?Equips[Foot]($y)").unwrap().compile(&mut world).unwrap();
    let relation = world.entity_of::<Equips>();
    let mut count = 0;
    expr.for_each(&world, |row| {
        let pair = PairId::new(relation, row.var("x").unwrap());
        assert_eq!(row.id(0), Some(FieldId::Pair(pair)));
        assert_eq!(row.source(0), row.this());
        assert_eq!(row.get_pair::<Equips>(0), Some(&Equips { slot: Slot::Hand, wear: 0 }));
        assert!(!row.is_set(1));
        count += 1;
    })
    .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn numbers_and_what_reads_itself_from_text_are_keys() {
    let mut world = World::new();
    world.register_relation::<Carries>().unwrap();
    world.register_relation::<Plugs>().unwrap();
    let [hero, arrows, lamp] = ["hero", "arrows", "lamp"].map(|name| named(&mut world, name));
    world.insert_pair(hero, Carries(3), arrows).unwrap();
    world.insert_pair(hero, Plugs("left".into()), lamp).unwrap();
    assert_eq!(rows(&mut world, "Carries[3]($x)", &["this", "x"]), ["hero arrows"]);
    assert_eq!(rows(&mut world, "Carries[4]($x)", &["x"]), [""; 0]);
    assert_eq!(rows(&mut world, "Plugs[left](hero, $x)", &["x"]), ["lamp"]);
    assert_eq!(rows(&mut world, "Plugs[right](hero, $x)", &["x"]), [""; 0]);
}

#[test]
fn a_relation_made_at_run_time_has_keys_in_expressions() {
    let mut world = World::new();
    let traits = RelationTraits::new().keyed_data::<Carries>();
    let holds = world.spawn_relation("Holds", traits).unwrap();
    let [hero, arrows, sword] = ["hero", "arrows", "sword"].map(|name| named(&mut world, name));
    world.insert_pair_value_by_id(hero, (holds, arrows), Carries(1)).unwrap();
    world.insert_pair_value_by_id(hero, (holds, sword), Carries(2)).unwrap();
    assert_eq!(rows(&mut world, "Holds[2]($x)", &["this", "x"]), ["hero sword"]);
    let bits = format!("#{}[1]($x)", holds.to_bits());
    assert_eq!(rows(&mut world, &bits, &["this", "x"]), ["hero arrows"]);
}

#[test]
fn a_kept_expression_follows_pairs_that_move_to_other_keys() {
    let mut world = world();
    let mut expr = PairExpr::parse("Equips[Head](ann, $x)").unwrap().compile(&mut world).unwrap();
    assert_eq!(expr.count(&world), Ok(1));
    let (ann, helmet) = (world.lookup("ann").unwrap(), world.lookup("helmet").unwrap());
    equip(&mut world, ann, Slot::Foot, helmet);
    assert_eq!(expr.count(&world), Ok(0));
    equip(&mut world, ann, Slot::Head, helmet);
    assert_eq!(expr.count(&world), Ok(1));
    world.despawn(helmet);
    assert_eq!(expr.count(&world), Ok(0));
}

#[test]
fn what_names_no_key_is_an_error_at_its_place() {
    let mut world = world();
    world.register_relation::<Hides>().unwrap();
    world.register_relation::<Carries>().unwrap();
    let mut refused = |text: &str, kind, column, found: &str, said: &str| {
        let error = PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).expect_err(text);
        assert_eq!((error.kind(), error.column(), error.found()), (kind, column, found), "{error}");
        assert!(error.message().contains(said), "{error}");
        error.suggestion().map(str::to_owned)
    };
    let (rule, unknown, syntax) = (ExprErrorKind::Rule, ExprErrorKind::UnknownName, ExprErrorKind::Syntax);
    {
        let said = "no key of type `Slot` has this name, only `Head`, `Hand`, `Foot`";
        let suggestion = refused("Equips[Heat]($x)", unknown, 8, "Heat", said);
        assert!(matches!(suggestion.as_deref(), Some("Head")), "{suggestion:?}");
    }
    refused("Carries[300]($x)", unknown, 9, "300", "`300` is no key of type `u8`");
    refused("Hides[Any]($x)", rule, 7, "Any", "keys of type `Opaque` cannot be read from text");
    refused("Likes[Head]($x)", rule, 1, "Likes", "`Likes` has no keys: that takes a relation with");
    refused("ann[Head]($x)", rule, 1, "ann", "`ann` has no keys");
    refused("Equipz[Head]($x)", unknown, 1, "Equipz", "no component, relation or entity");
    refused("[inout] Equips[Head]($x)", rule, 1, "[inout] Equips[Head]($x)", "only read");
    refused("$r[Head]($x)", rule, 1, "$r", "a key belongs to the pairs of one relation");
    refused("Equips[Head](_, $x)", rule, 14, "_", "`_` has no pair with a key");
    refused("Equips[Head]($x|up)", rule, 17, "up", "has no traversal");
    refused("and|Equips[Head]($x)", rule, 1, "and|Equips[Head]($x)", "a pair is none");
    let mut suggested = |text: &str, kind, column, found: &str, said: &str, suggestion: &str| {
        assert_eq!(refused(text, kind, column, found, said).as_deref(), Some(suggestion), "{text}");
    };
    let target = "a key is that of a pair, which has a target";
    suggested("Equips[Head]", rule, 1, "Equips[Head]", target, "Equips[Head](*)");
    suggested("Likes[Head], Tag", rule, 1, "Likes[Head]", target, "Likes[Head](*)");
    let before = "a key stands in front of the parentheses";
    suggested("(Equips[Head], $i)", rule, 1, "(Equips[Head], $i)", before, "Equips[Head]($i)");
    suggested("!(Carries[3], ann)", rule, 2, "(Carries[3], ann)", before, "Carries[3](ann)");
    let brackets = "a key stands in brackets";
    suggested("Equips(Head)($i)", rule, 1, "Equips(Head)($i)", brackets, "Equips[Head]($i)");
    suggested("Equips(Head)(ann, $i)", rule, 1, "Equips(Head)(ann, $i)", brackets, "Equips[Head](ann, $i)");
    refused("(Equips[Head])", syntax, 14, ")", "`,` and a target");
    refused("(Equips[Head], $i, $j)", syntax, 18, ",", "a key belongs to one pair");
    refused("Equips(Head, ann)($i)", syntax, 18, "(", "`,`, `||` or the end");
    refused("Equips($x)($i)", syntax, 11, "(", "`,`, `||` or the end");
    refused("Equips[Head]()", syntax, 14, ")", "expected");
    refused("Equips[Head](a, b, c)", syntax, 18, ",", "a key belongs to one pair");
    refused("Equips[]($x)", syntax, 8, "]", "the name or the number of a key");
    refused("Equips[*]($x)", syntax, 8, "*", "the name or the number of a key");
    refused("Equips[Head($x)", syntax, 12, "(", "`]`");
    refused("Equips[Head](#0)", rule, 14, "#0", "no entity that is alive");
}

#[test]
fn an_expression_with_keys_is_written_as_it_is_read() {
    for (text, written) in [
        ("Equips[ Head ] ( $this , $x )", "Equips[Head]($x)"),
        ("!Equips[Head](ann,$x)", "!Equips[Head](ann, $x)"),
        ("[none] ?Carries[3](*)", "[none] ?Carries[3](*)"),
        ("Equips[a::Slot::Head]($x, _)", "Equips[a::Slot::Head]($x, _)"),
        ("Equips[\\up]($x) || Equips[b]($y)", "Equips[\\up]($x) || Equips[b]($y)"),
    ] {
        let expr = PairExpr::parse(text).unwrap();
        assert_eq!(expr.to_string(), written);
        assert_eq!(PairExpr::parse(written).unwrap(), expr);
    }
}

#[test]
fn the_builder_writes_the_same() {
    let mut world = world();
    let built = PairExpr::builder()
        .pair_by_key::<Equips>("Head", "$x")
        .without_pair_by_key::<Equips>("Hand", "*")
        .optional_pair_by_key::<Equips>("Foot", "$y")
        .on("$x")
        .access(bevy_relations::expr::FieldAccess::None)
        .build()
        .unwrap();
    let path = core::any::type_name::<Equips>();
    let path = path.trim_end_matches("Equips");
    let text = "Equips[Head]($x), !Equips[Hand](*), [none] ?Equips[Foot]($x, $y)";
    assert_eq!(built.to_string().replace(path, ""), text);
    let mut expr = built.compile(&mut world).unwrap();
    assert_eq!(expr.count(&world), Ok(1));
    assert!(PairExpr::builder().pair_by_key::<Equips>("*", "$x").build().is_err());
    assert!(PairExpr::builder().pair_by_key::<Equips>("Head", "$x").up::<ChildOf>().build().is_err());
}

#[derive(Expression)]
#[expr("Equips[Head]($item), !Equips[Hand](*)")]
struct Unarmed;

#[test]
fn a_system_reads_keys_and_conflicts_with_nothing_else() {
    let mut world = world();
    let found = world
        .run_system_once(|mut unarmed: ExprQuery<Unarmed>, equips: Pairs<Equips>| {
            let mut found = Vec::new();
            unarmed
                .for_each(|(), row| {
                    let item = row.var("item").unwrap();
                    assert_eq!(equips.target_by_key(row.this().unwrap(), &Slot::Head), Some(item));
                    assert_eq!(row.get_pair::<Equips>(0).unwrap().slot, Slot::Head);
                    found.push(item);
                })
                .unwrap();
            found
        })
        .unwrap();
    assert_eq!(found, [world.lookup("hat").unwrap()]);
    // A relation that is registered, and has no pairs yet.
    let mut empty = World::new();
    empty.register_relation::<Equips>().unwrap();
    let none = empty.run_system_once(|mut unarmed: ExprQuery<Unarmed>| unarmed.count().unwrap());
    assert_eq!(none.unwrap(), 0);
}

#[derive(Expression)]
#[expr("Wields[Hand]($item)")]
struct Wielding;

#[test]
fn a_system_that_was_made_before_its_relation_is_refused() {
    let mut world = World::new();
    let [ann, sword] = ["ann", "sword"].map(|name| named(&mut world, name));
    let count = world.register_system(|mut wielding: ExprQuery<Wielding>| wielding.count().unwrap());
    let error = world.run_system(count).unwrap_err().to_string();
    assert!(error.contains("no component, relation or entity has this name"), "{error}");
    let wields = world.spawn_relation("Wields", RelationTraits::new().keyed_data::<Equips>()).unwrap();
    world.insert_pair_value_by_id(ann, (wields, sword), Equips { slot: Slot::Hand, wear: 0 }).unwrap();
    let error = world.run_system(count).unwrap_err().to_string();
    assert!(error.contains("that it did not have when the system was initialised"), "{error}");
}

/// Texts of terms with keys, and the same with a relation per key.
struct Writer {
    random: Random,
    keyed: String,
    plain: String,
}

impl Writer {
    fn add(&mut self, text: &str) {
        self.keyed.push_str(text);
        self.plain.push_str(text);
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.random.below(of.len())]
    }

    fn term(&mut self, operators: &[&str], source: Option<&str>) {
        let operator = self.one(operators);
        let source = source.unwrap_or_else(|| self.one(&["$this", "$this", "$x", "$y", "e1", "*"]));
        let target = self.one(&["$this", "$x", "$x", "$y", "e2", "*"]);
        if self.random.below(4) == 0 {
            return self.add(&format!("{operator}Likes({source}, {target})"));
        }
        let key = self.one(&["Head", "Hand", "Foot"]);
        self.keyed.push_str(&format!("{operator}Equips[{key}]({source}, {target})"));
        self.plain.push_str(&format!("{operator}Equips{key}({source}, {target})"));
    }

    fn query(&mut self, depth: u32) {
        for nth in 0..1 + self.random.below(3) {
            self.add(if nth == 0 { "" } else { ", " });
            match self.random.below(8) {
                0 if depth > 0 => {
                    let open = self.one(&["{", "!{"]);
                    self.add(open);
                    self.query(depth - 1);
                    self.add("}");
                }
                1 => {
                    let source = self.one(&["$this", "$x"]);
                    self.term(&[""], Some(source));
                    self.add(" || ");
                    self.term(&[""], Some(source));
                }
                _ => self.term(&["", "", "!", "?"], None),
            }
        }
    }
}

#[test]
fn a_key_is_the_same_as_a_relation_per_key() {
    let mut compared = 0;
    for seed in 0..fewer(40) as u64 {
        let mut world = World::new();
        let mut random = Random(0x6B65_7965 + seed * 131);
        world.register_relation::<Likes>().unwrap();
        let slots = [Slot::Head, Slot::Hand, Slot::Foot];
        let plain =
            slots.map(|slot| world.spawn_relation(format!("Equips{slot:?}"), RelationTraits::new()).unwrap());
        let entities: Vec<Entity> = (0..6).map(|nth| named(&mut world, &format!("e{nth}"))).collect();
        for _ in 0..14 {
            let (source, target) = (random.pick(&entities), random.pick(&entities));
            equip(&mut world, source, slots[random.below(3)], target);
            let (source, target) = (random.pick(&entities), random.pick(&entities));
            world.insert_pair(source, Likes, target).unwrap();
        }
        let pairs: Vec<(Entity, Entity, Slot)> = world
            .pairs::<Equips>()
            .values()
            .map(|(source, target, value)| (source, target, value.slot))
            .collect();
        for (source, target, slot) in pairs {
            world.insert_pair_by_id(source, (plain[slot as usize], target)).unwrap();
        }
        for _ in 0..60 {
            let mut writer = Writer { random: random.clone(), keyed: String::new(), plain: String::new() };
            writer.query(2);
            random = writer.random;
            let vars = ["this", "x", "y"];
            let known: Vec<&str> =
                vars.into_iter().filter(|var| writer.plain.contains(&format!("${var}"))).collect();
            let run = |world: &mut World, text: &str| {
                let mut expr = PairExpr::parse(text).and_then(|expr| expr.compile(world)).ok()?;
                let mut found = Vec::new();
                expr.for_each(world, |row| {
                    let of = |&var: &&str| if var == "this" { row.this() } else { row.var(var) };
                    found.push(known.iter().map(of).collect::<Vec<_>>());
                })
                .unwrap();
                found.sort_unstable();
                Some(found)
            };
            let expected = run(&mut world, &writer.plain);
            assert_eq!(run(&mut world, &writer.keyed), expected, "{}", writer.keyed);
            compared += usize::from(expected.is_some_and(|rows| !rows.is_empty()));
        }
    }
    assert!(compared > fewer(400), "{compared}");
}
