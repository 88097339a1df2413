//! Random histories before observers that act. No reference says what comes of them: what must hold is that the store
//! keeps its invariants, that both APIs of a relationship agree, and that every way of reading gives the same.

use super::readers::{Actor, Body, Rank, Readers};
use crate::common::{Crew, CrewOf, Random, take_errors, world_that_records_errors};
use bevy_ecs::{
    component::ComponentId,
    entity::{EntityCloner, EntityHashSet},
    lifecycle::{Add, Despawn, Discard, Insert, Remove},
    observer::Observer,
    prelude::*,
    relationship::{Relationship, RelationshipTarget},
    world::DeferredWorld,
};
use bevy_relations::{bundle::Participant, error::PairInvariantError, prelude::*, relation::Wildcard};
use core::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

#[derive(Relation)]
struct Likes;

/// Its values may panic when they are cloned, made or dropped.
#[derive(Relation, Debug)]
struct Weighs(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Clone, Default)]
#[relation(exclusive)]
struct Holds(u32);

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation, Clone, Default)]
#[relation(symmetric)]
struct BoundTo(u8);

#[derive(Relation)]
#[relation(ordered, on_relation_despawn = Despawn, with = Likes)]
struct Loves;

#[derive(Relation)]
#[relation(acyclic)]
struct After;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
struct BoardedOn;

#[derive(Relation)]
#[relation(ordered, with = BoardedOn, storage = "Fragmenting")]
struct Hears;

#[derive(Relation, Clone, Default)]
#[relation(symmetric, exclusive, storage = "Fragmenting")]
struct DancesWith(u8);

/// Comes and goes.
#[derive(Component, Clone)]
struct Plain;

/// How panics begin that are part of a history.
pub(super) const ON_PURPOSE: &str = "on purpose, in ";

thread_local! {
    /// Panics of this crate itself.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// Whether values may panic now, and at which of the calls of user code from here on something does.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
    /// Whether something has panicked in this history. Bevy 0.20 clones with a list of storages that it takes out of the
    /// bundle: a panic in an observer of the clone loses the list, and every later clone with the same components has
    /// uninitialized memory. That is so with Bevy alone: nothing is cloned or moved from then on.
    static BURNT: Cell<bool> = const { Cell::new(false) };
    /// Whether something was cloned or moved in this history. If observers act meanwhile, Bevy itself is left with components
    /// whose target has not collected them, or with entities in a collection whose component has moved away.
    static CLONED: Cell<bool> = const { Cell::new(false) };
    /// Whether an entity is being cloned with what is linked to it. Bevy alone does not end if an observer makes a clone a
    /// child of something below its original: no relationship is written meanwhile.
    static LINKED_CLONE: Cell<bool> = const { Cell::new(false) };
}

/// Notes a panic that comes from this crate. Bevy has some of its own: it cannot go on cloning an entity that an observer
/// has despawned.
pub(super) fn note_panic(info: &PanicHookInfo<'_>) {
    BURNT.set(true);
    if info.location().is_some_and(|location| !location.file().contains("bevy_ecs")) {
        PANICS.with_borrow_mut(|panics| panics.push(info.to_string()));
    }
}

/// Panics if it is time.
fn burn(what: &str) {
    let fuse = FUSE.get();
    FUSE.set(fuse.map(|left| left.wrapping_sub(1)));
    if fuse == Some(0) && !std::thread::panicking() {
        FUSE.set(None);
        BURNT.set(true);
        std::panic::panic_any(format!("{ON_PURPOSE}{what}"));
    }
}

impl Clone for Weighs {
    fn clone(&self) -> Self {
        burn("Clone");
        Self(self.0)
    }
}

impl Default for Weighs {
    fn default() -> Self {
        burn("Default");
        Self(1)
    }
}

impl Drop for Weighs {
    fn drop(&mut self) {
        burn("Drop");
    }
}

/// What the observers of a history do.
#[derive(Resource)]
struct Mischief {
    random: Random,
    entities: Vec<Entity>,
    /// So many things may still be done before the operation at hand ends.
    left: u32,
    /// What was done.
    done: Vec<String>,
}

/// An observer's turn: it may panic, write components in place, or queue an operation of any kind.
fn act(world: &mut DeferredWorld, subject: Entity) {
    burn("an observer");
    let Some(mut mischief) = world.get_resource_mut::<Mischief>() else { return };
    if mischief.left == 0 || mischief.random.below(3) > 0 {
        return;
    }
    mischief.left -= 1;
    let about_subject = mischief.random.below(2) == 0;
    world.commands().queue(move |world: &mut World| {
        let Some(mut mischief) = world.remove_resource::<Mischief>() else { return };
        let mut operation = Operation::new(&mut mischief, about_subject.then_some(subject));
        // In the middle of another operation Bevy's collections may be such that a linked clone does not end.
        if operation.kind == 40 {
            operation.kind = 39;
        }
        mischief.done.push(format!("    {operation:?}"));
        world.insert_resource(mischief);
        operation.run(world);
    });
}

/// One operation, from outside or of an observer.
#[derive(Debug)]
struct Operation {
    kind: usize,
    on: [Entity; 3],
    run_time: Entity,
}

/// Kinds of operations, in [`Operation::run`].
const KINDS: usize = 79;

impl Operation {
    fn new(mischief: &mut Mischief, subject: Option<Entity>) -> Self {
        let Mischief { random, entities, .. } = mischief;
        let mut on = [random.pick(entities), random.pick(entities), random.pick(entities)];
        if let Some(subject) = subject {
            on[random.below(2)] = subject;
        }
        Self { kind: random.below(KINDS), on, run_time: entities[0] }
    }

    fn run(self, world: &mut World) {
        let ([a, b, c], run_time) = (self.on, self.run_time);
        CLONED.set(CLONED.get() || (39..=41).contains(&self.kind));
        let writes_relationship = matches!(self.kind, 15..=18 | 27..=28 | 30 | 39..=42 | 51 | 61);
        match self.kind {
            _ if writes_relationship && LINKED_CLONE.get() => {}
            0..=2 => _ = world.insert_pair(a, Likes, b),
            3..=4 => _ = world.insert_pair(a, Weighs(7), b),
            5..=6 => _ = world.insert_pair(a, DockedTo, b),
            7 => _ = world.insert_pair(a, Holds(3), b),
            8..=9 => _ = world.insert_pair(a, MountedOn, b),
            10 => _ = world.insert_pair(a, MarriedTo, b),
            11 => _ = world.insert_pair(a, BoundTo(1), b),
            12..=13 => _ = world.insert_pair(a, Loves, b),
            14 => _ = world.insert_pair(a, After, b),
            15 => _ = world.insert_pair(a, ChildOf(b), b),
            16 => _ = world.insert_pair(a, CrewOf { ship: b, wage: 1 }, b),
            17 => _ = world.insert_pair_by_id(a, (run_time, b)),
            18 => _ = world.insert_pair_by_id(a, (c, b)),
            19 => _ = world.insert_tag(a, b),
            20 => _ = world.remove_pairs::<Likes>(a),
            21 => _ = world.remove_pairs::<DockedTo>(a),
            22 => _ = world.remove_pairs::<Weighs>(a),
            23 => _ = world.remove_pairs_by_id(a, PairId::ALL),
            24 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
            25 => _ = world.remove_pairs_everywhere(PairId::with_relation(run_time)),
            26 => _ = world.remove_tag(a, b),
            27..=28 => _ = world.get_entity_mut(a).map(|mut e| e.insert(ChildOf(b)).id()),
            29 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<ChildOf>().id()),
            30 => _ = world.get_entity_mut(a).map(|mut e| e.insert(CrewOf { ship: b, wage: 2 }).id()),
            31 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<CrewOf>().id()),
            32 => _ = world.get_entity_mut(a).map(|mut e| e.insert((Plain, Rank)).id()),
            33 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<(Plain, Body)>().id()),
            34 => _ = world.try_despawn(a),
            35 => _ = world.despawn_with_dependents(a),
            36 => world.commands().entity(a).try_despawn(),
            37 => _ = world.get_entity_mut(a).map(|mut e| e.clear().id()),
            38 => {
                _ = world.get_entity_mut(a).map(|mut e| e.retain::<(ChildOf, Children, CrewOf, Crew)>().id());
            }
            39..=41 if BURNT.get() => {}
            // Each doubles what is below: some in turn would fill the memory.
            40 if world.entities().count_spawned() > 600 => {}
            39 => _ = world.get_entity_mut(a).map(|mut e| e.clone_and_spawn()),
            // Nor does Bevy alone end where a collection has an entity whose component names another target, which is so when
            // an observer of `Add` gives an entity another parent before the first one has collected it.
            40 if world.get_entity(a).is_ok() && collections_agree::<ChildOf>(world) => {
                let clone = world.spawn_empty().id();
                LINKED_CLONE.set(true);
                EntityCloner::build_opt_out(world).linked_cloning(true).clone_entity(a, clone);
                LINKED_CLONE.set(false);
            }
            41 if a != b && [a, b].iter().all(|&e| world.get_entity(e).is_ok()) => {
                _ = world.get_entity_mut(a).map(|mut e| e.move_components::<(Plain, ChildOf)>(b).id());
            }
            42 => _ = world.spawn((Plain, Pair(Likes, a), Pair(MountedOn, b), ChildOf(c))),
            43 => _ = world.spawn((pairs![(Loves, a), (MarriedTo, b), (Weighs(1), c)], Plain)),
            44 => _ = world.spawn((sources![MountedOn: Plain, Pair(Likes, a)], Plain)),
            45 => _ = world.spawn_batch_with_pair([(Plain, DockedTo, a), (Plain, DockedTo, b)]),
            46 => {
                let mut commands = world.commands();
                commands.entity(a).insert_pair(MountedOn, b).insert_pair(Likes, c).remove_pair::<Likes>(c);
                commands.entity(b).try_despawn();
                commands.pair_batch::<Likes>().insert(a, Likes, b).insert(a, Likes, c).remove(c, a);
            }
            47 => _ = world.insert_pair_batch([(a, MountedOn, b), (b, MountedOn, c), (c, MountedOn, a)]),
            48 => _ = world.despawn_sources(PairId::with_target(a)),
            49 => {
                let relation = world.entity_of::<Loves>();
                world.despawn(relation);
            }
            50 => world.maintain_pairs(),
            51 if world.get_entity(b).is_ok() => {
                _ = world.get_entity_mut(a).map(|mut e| e.detach_all_children().add_child(b).id());
            }
            52 => _ = world.replace_targets(a, [(Likes, b), (Likes, c)]),
            53 => _ = world.replace_targets(a, [(Weighs(7), b), (Weighs(7), c)]),
            54 => _ = world.replace_targets(a, [(DockedTo, b)]),
            55 => _ = world.replace_targets(a, [(MountedOn, b)]),
            56 => _ = world.replace_targets(a, [(MarriedTo, b)]),
            57 => _ = world.move_sources::<Likes>(a, b),
            58 => _ = world.move_sources::<Weighs>(a, b),
            59 => _ = world.move_sources::<BoundTo>(a, b),
            60 => _ = world.move_sources::<MountedOn>(a, b),
            61 => _ = world.move_sources::<CrewOf>(a, b),
            63..=65 => _ = world.insert_pair(a, BoardedOn, b),
            66..=67 => _ = world.insert_pair(a, Hears, b),
            68 => _ = world.insert_pair(a, DancesWith(1), b),
            69 => _ = world.remove_pairs::<BoardedOn>(a),
            70 => _ = world.remove_pairs::<Hears>(a),
            71 => _ = world.replace_targets(a, [(Hears, b), (Hears, c)]),
            72 => _ = world.move_sources::<BoardedOn>(a, b),
            73 => _ = world.spawn((pairs![(Hears, a), (DancesWith(1), b)], Plain)),
            74 => _ = world.spawn_batch_with_pair([(Plain, BoardedOn, a), (Plain, BoardedOn, b)]),
            75 => {
                let hidden: Vec<_> = world.resource::<Hidden>().0.clone();
                _ = world.get_entity_mut(a).map(|mut e| e.remove_by_ids(&hidden).id());
            }
            76 => _ = world.get_entity_mut(a).map(|mut e| e.take::<Plain>()),
            77 => _ = world.get_entity_mut(a).map(|mut e| e.remove::<Participant>().id()),
            78 => _ = world.get_entity_mut(a).map(|mut e| e.insert(Participant).id()),
            _ => _ = world.get_entity_mut(a).map(|mut e| e.despawn_children().id()),
        }
        world.flush();
    }
}

/// The components of relations that are in tables.
#[derive(Resource)]
struct Hidden(Vec<ComponentId>);

/// [`Hidden`], found among the components of an entity that has a pair of each relation.
fn hidden(world: &mut World) -> Vec<ComponentId> {
    let marker = marker(world);
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(a, Hears, b).unwrap();
    world.insert_pair(a, DancesWith(1), b).unwrap();
    let mut hidden: Vec<_> = world.entity(a).archetype().iter_components().collect();
    hidden.retain(|&component| component != marker);
    assert_eq!(hidden.len(), 5, "a first target of three relations, a target of two");
    world.despawn(a);
    world.despawn(b);
    hidden
}

/// The component that marks participants, the only one of an entity that has nothing but a pair: nothing keeps a program
/// from observing it.
fn marker(world: &mut World) -> ComponentId {
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(a, Likes, b).unwrap();
    let components: Vec<_> = world.entity(a).archetype().iter_components().collect();
    let &[marker] = &components[..] else { panic!("{components:?}") };
    world.despawn(a);
    world.despawn(b);
    marker
}

/// An observer of a lifecycle event of these components.
macro_rules! watch {
    ($world:expr, $event:ident, $components:expr) => {
        $world.spawn(
            Observer::new(|on: On<$event<()>>, mut world: DeferredWorld| act(&mut world, on.entity))
                .with_components($components.iter().copied()),
        )
    };
}

/// Observers of everything that can be observed, or of a part of it.
fn observe(world: &mut World, random: &mut Random) {
    macro_rules! pairs_of {
        ($($relation:ty),*) => {$(
            if random.below(3) == 0 {
                world.add_observer(|on: On<PairInserted<$relation>>, mut world: DeferredWorld| {
                    act(&mut world, on.source);
                });
                world.add_observer(|on: On<PairRemoved<$relation>>, mut world: DeferredWorld| {
                    assert!(world.pairs_by_id(on.relation).has(on.source, on.target), "unreadable");
                    act(&mut world, on.target);
                });
            }
        )*};
    }
    pairs_of!(
        Likes, Weighs, DockedTo, MountedOn, MarriedTo, Loves, ChildOf, CrewOf, BoardedOn, Hears, DancesWith,
        Wildcard
    );
    let hidden = hidden(world);
    world.insert_resource(Hidden(hidden.clone()));
    let components: Vec<ComponentId> = [
        world.register_component::<Plain>(),
        world.register_component::<Body>(),
        world.register_component::<ChildOf>(),
        world.register_component::<Children>(),
        world.register_component::<CrewOf>(),
        world.register_component::<Crew>(),
        marker(world),
    ]
    .into_iter()
    .chain(hidden)
    .filter(|_| random.below(2) == 0)
    .collect();
    if !components.is_empty() {
        watch!(world, Add, components);
        watch!(world, Insert, components);
        watch!(world, Discard, components);
        watch!(world, Remove, components);
        watch!(world, Despawn, components);
    }
}

/// Observers narrowed to an entity, as relation or target.
fn observe_narrowly(world: &mut World, on: Entity, relation: Entity) {
    for pair in [PairId::with_target(on), PairId::with_relation(relation), PairId::new(relation, on)] {
        world.observe_pairs(pair, |on: On<PairInserted<Wildcard>>, mut world: DeferredWorld| {
            act(&mut world, on.target);
        });
        world.observe_pairs(pair, |on: On<PairRemoved<Wildcard>>, mut world: DeferredWorld| {
            act(&mut world, on.source);
        });
    }
}

/// Components and pairs of a relationship say the same.
///
/// A component whose target was not spawned when it was written, as a clone that is made later, is no relationship for
/// Bevy either, whose collection of the target does not have it; and stays when that target dies.
fn check_mirror<C: Relation + Relationship>(world: &mut World) -> Result<(), String> {
    let components: Vec<_> = world.query::<(Entity, &C)>().iter(world).map(|(e, c)| (e, c.get())).collect();
    let mut pairs: Vec<_> = world.pairs::<C>().iter().collect();
    let is_relationship = |pair: &(Entity, Entity)| {
        let &(source, target) = pair;
        let collection = world.get::<C::RelationshipTarget>(target);
        let is_collected = collection.is_some_and(|collection| collection.iter().any(|e| e == source));
        is_collected || pairs.contains(pair) || (!CLONED.get() && world.get_entity(target).is_err())
    };
    let mut components: Vec<_> = components.into_iter().filter(is_relationship).collect();
    components.sort_unstable();
    pairs.sort_unstable();
    if components == pairs { Ok(()) } else { Err(format!("components {components:?}, pairs {pairs:?}")) }
}

/// Whether Bevy's collections have the sources of the pairs, which they decide the order of. After a panic in the middle of
/// its hooks they keep entities whose component is gone.
fn collections_agree<C: Relation + Relationship>(world: &mut World) -> bool {
    let mut collections = world.query::<(Entity, &C::RelationshipTarget)>();
    let mut collected: Vec<_> = collections
        .iter(world)
        .flat_map(|(target, all)| all.iter().map(move |source| (source, target)))
        .collect();
    let mut pairs: Vec<_> = world.pairs::<C>().iter().collect();
    collected.sort_unstable();
    pairs.sort_unstable();
    collected == pairs
}

/// Every pair has a value that was given to one.
fn check_values<R: Relation>(world: &World, is_known: fn(&R) -> bool) -> Result<(), String> {
    let pairs = world.pairs::<R>();
    let known =
        |&(source, target): &(Entity, Entity)| world.pair_value::<R>(source, target).is_some_and(is_known);
    match pairs.iter().find(|pair| !known(pair)) {
        None => Ok(()),
        Some(pair) => Err(format!("{pair:?} of {} has another value, or none", core::any::type_name::<R>())),
    }
}

/// Every entity that may have pairs: all that operations are about, and whatever any way of reading returns.
fn actors(world: &mut World) -> Vec<Entity> {
    let mut all: EntityHashSet =
        world.query_filtered::<Entity, Or<(With<Plain>, With<Actor>)>>().iter(world).collect();
    all.extend(world.any_pairs().iter().flat_map(|(source, _, target)| [source, target]));
    all.extend(world.resource::<Mischief>().entities.iter().copied());
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_unstable();
    all
}

/// One history. Gives what was done up to a fault, with the fault.
pub(super) fn play(seed: u64, steps: usize) -> Result<(), String> {
    BURNT.set(false);
    CLONED.set(false);
    LINKED_CLONE.set(false);
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut world = world_that_records_errors();
    if seed.is_multiple_of(2) {
        world.register_required_components::<Plain, Participant>();
    }
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    let mut readers = Readers::new(&mut world);
    readers.add_exclusive::<ChildOf>(&mut world)?;
    readers.add_exclusive::<CrewOf>(&mut world)?;
    readers.add_exclusive::<DockedTo>(&mut world)?;
    readers.add_exclusive::<Holds>(&mut world)?;
    readers.add_exclusive::<MountedOn>(&mut world)?;
    readers.add_exclusive::<MarriedTo>(&mut world)?;
    readers.add_exclusive::<BoardedOn>(&mut world)?;
    readers.add_exclusive::<DancesWith>(&mut world)?;
    readers.add::<Hears>(&mut world)?;
    readers.add::<Likes>(&mut world)?;
    readers.add::<Weighs>(&mut world)?;
    readers.add::<BoundTo>(&mut world)?;
    readers.add::<Loves>(&mut world)?;
    readers.add::<After>(&mut world)?;
    let entities: Vec<_> = (0..8).map(|_| world.spawn(Plain).id()).collect();
    Readers::dress(&mut world, &entities);
    observe(&mut world, &mut random);
    observe_narrowly(&mut world, entities[1], entities[0]);
    let panics = random.below(3) == 0;
    world.insert_resource(Mischief { random, entities, left: 0, done: Vec::new() });
    // A panic between a component and its observers leaves one without the other: Bevy's own doing.
    let mut torn = false;
    for number in 0..steps {
        let mut mischief = world.remove_resource::<Mischief>().ok_or("nobody is left")?;
        mischief.left = 6;
        let operation = Operation::new(&mut mischief, None);
        mischief.done.push(format!("{number}: {operation:?}"));
        if panics && mischief.random.below(3) == 0 {
            let fuse = mischief.random.below(12) as u32;
            mischief.done.push(format!("    something panics at call {fuse}"));
            FUSE.set(Some(fuse));
        }
        world.insert_resource(mischief);
        let lit = FUSE.get().is_some();
        torn |= guarded(&mut world, |world| operation.run(world));
        // Bevy itself may catch what panics in a command.
        torn |= lit && FUSE.take().is_none();
        let checked = check(&mut world, &mut readers, torn);
        take_errors();
        if matches!(checked, Ok(Checked::TornApart)) {
            return Ok(());
        }
        if let Err(error) = checked {
            let done = world.remove_resource::<Mischief>().map_or_else(Vec::new, |mischief| mischief.done);
            return Err(format!("{error}\n  {}", done.join("\n  ")));
        }
        replenish(&mut world);
    }
    Ok(())
}

/// Does something, and what it has left behind in queues. True if something panicked.
fn guarded(world: &mut World, run: impl FnOnce(&mut World)) -> bool {
    let first = catch_unwind(AssertUnwindSafe(|| run(world)));
    LINKED_CLONE.set(false);
    let mut panicked = first.is_err();
    while catch_unwind(AssertUnwindSafe(|| world.flush())).is_err() {
        panicked = true;
    }
    // Bevy reports a command that panics, and drops what it had queued: maintenance makes up for it.
    while catch_unwind(AssertUnwindSafe(|| world.maintain_pairs())).is_err() {
        panicked = true;
    }
    panicked
}

/// What [`check`] found.
enum Checked {
    Right,
    /// A panic came between a component of a relationship and what follows it, by Bevy or by this crate: what reads the
    /// component or Bevy's collection and what reads pairs differ from then on. Or Bevy's two components differ, see
    /// [`CLONED`].
    TornApart,
}

fn check(world: &mut World, readers: &mut Readers, torn: bool) -> Result<Checked, String> {
    if let Some(panic) = PANICS.take().pop() {
        return Err(panic);
    }
    let torn_apart = |error: &PairInvariantError| torn && error.invariant.to_string() == "Adopted";
    match world.check_pairs() {
        Err(error) if torn_apart(&error) => return Ok(Checked::TornApart),
        Err(error) => return Err(error.to_string()),
        Ok(()) => {}
    }
    if (torn || CLONED.get()) && !(collections_agree::<ChildOf>(world) && collections_agree::<CrewOf>(world))
    {
        return Ok(Checked::TornApart);
    }
    if !torn {
        check_mirror::<ChildOf>(world).map_err(|error| format!("ChildOf: {error}"))?;
        check_mirror::<CrewOf>(world).map_err(|error| format!("CrewOf: {error}"))?;
        check_values::<CrewOf>(world, |crew| crew.wage < 3)?;
    }
    check_values::<Weighs>(world, |weighs| [1, 7].contains(&weighs.0))?;
    check_values::<Holds>(world, |holds| [0, 3].contains(&holds.0))?;
    check_values::<BoundTo>(world, |bound| bound.0 < 2)?;
    check_values::<DancesWith>(world, |dances| dances.0 < 2)?;
    let all = quietly(world, |world| {
        let all = actors(world);
        Readers::dress(world, &all);
        actors(world)
    });
    match readers.compare(world, &all) {
        // An observer that panics keeps those that come after it from running, also those that follow holders.
        Err(error) if torn && error.starts_with("Kept gives") => Ok(Checked::TornApart),
        compared => compared.map(|()| Checked::Right),
    }
}

/// Does something at which observers do nothing.
fn quietly<T>(world: &mut World, run: impl FnOnce(&mut World) -> T) -> T {
    if let Some(mut mischief) = world.get_resource_mut::<Mischief>() {
        mischief.left = 0;
    }
    run(world)
}

/// Keeps the number of entities that operations are about between four and twenty.
fn replenish(world: &mut World) {
    quietly(world, |world| {
        let known = world.resource::<Mischief>().entities.clone();
        let mut alive: Vec<_> =
            known.into_iter().filter(|&entity| world.get_entity(entity).is_ok()).collect();
        let spawned: Vec<_> = world.query_filtered::<Entity, With<Plain>>().iter(world).collect();
        alive.extend(spawned.into_iter().filter(|entity| !alive.contains(entity)).collect::<Vec<_>>());
        for entity in alive.drain(20.min(alive.len())..) {
            world.try_despawn(entity).ok();
        }
        while alive.len() < 6 {
            alive.push(world.spawn((Plain, Body(0), Actor)).id());
        }
        world.resource_mut::<Mischief>().entities = alive;
    });
}
