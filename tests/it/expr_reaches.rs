//! Whether a transitive relation leads from one entity to another, asked for while both come and go.
//!
//! Classes: chains that break in the middle, entities whose markers were taken away, indices that serve again, ends that have
//! died, and all of that in observers in the middle of an operation.

use crate::common::{Random, fewer};
use bevy_ecs::{prelude::*, world::DeferredWorld};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
};
use std::sync::{Arc, Mutex};

#[derive(Component)]
struct Place;

#[derive(Relation)]
#[relation(exclusive, transitive, acyclic)]
struct Within;

#[derive(Relation)]
#[relation(exclusive, transitive, acyclic, on_target_despawn = Despawn)]
struct PartOf;

/// An expression about each relation, and what it is asked about. Observers share it.
struct Asked {
    within: CompiledExpr,
    part_of: CompiledExpr,
    /// Asked of many entities in one run: which do not lead there, and which lead to one of two.
    outside: CompiledExpr,
    either: CompiledExpr,
    entities: Vec<Entity>,
    top: Entity,
    middle: Entity,
    times: usize,
}

/// Whether some pairs lead from an entity to another.
fn leads<R: Relation>(world: &World, from: Entity, to: Entity) -> bool {
    let pairs = world.pairs::<R>();
    let mut at = pairs.target(from);
    while let Some(target) = at.filter(|&target| target != to) {
        at = pairs.target(target);
    }
    at.is_some()
}

fn check_relation<R: Relation>(world: &World, expr: &mut CompiledExpr, asked: (&[Entity], Entity)) {
    let (entities, top) = asked;
    for &entity in entities {
        if expr.set_var(world, "this", entity).is_err() {
            assert!(world.get_entity(entity).is_err());
            continue;
        }
        assert_eq!(expr.count(world).unwrap() > 0, leads::<R>(world, entity, top), "{entity} in {top}");
    }
    expr.clear_vars();
}

/// Whether the entities of an expression are those, of all places, of which something is so.
fn check_places(world: &World, expr: &mut CompiledExpr, entities: &[Entity], is_so: impl Fn(Entity) -> bool) {
    let mut found = Vec::new();
    expr.for_each(world, |row| found.push(row.this().unwrap())).unwrap();
    // One that is being spawned is not known yet.
    found.retain(|entity| entities.contains(entity));
    let is_place = |entity: &Entity| world.get::<Place>(*entity).is_some();
    let mut wanted: Vec<_> =
        entities.iter().copied().filter(is_place).filter(|&entity| is_so(entity)).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

impl Asked {
    /// Asks about every entity.
    fn check(&mut self, world: &World) {
        let Self { within, part_of, outside, either, entities, top, middle, times } = self;
        check_relation::<Within>(world, within, (entities, *top));
        check_relation::<PartOf>(world, part_of, (entities, *top));
        let is_within = |entity, to| leads::<Within>(world, entity, to);
        check_places(world, outside, entities, |entity| !is_within(entity, *top));
        check_places(world, either, entities, |entity| is_within(entity, *top) || is_within(entity, *middle));
        *times += 1;
    }
}

/// Has everything asked in the middle of operations too.
fn observe(world: &mut World, asked: &Arc<Mutex<Asked>>) {
    macro_rules! observe {
        ($($event:ty),*) => { $(
            let of_observer = asked.clone();
            world.add_observer(move |_: On<$event>, world: DeferredWorld| {
                of_observer.lock().unwrap().check(&world);
            });
        )* };
    }
    observe!(PairInserted<Within>, PairRemoved<Within>, PairInserted<PartOf>, PairRemoved<PartOf>);
    observe!(Add<Place>, Remove<Place>, Despawn<Place>);
}

#[test]
fn what_leads_somewhere_is_what_a_walk_by_hand_finds() {
    for case in 0..fewer(10) as u64 {
        let mut random = Random((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new();
        world.register_relation::<Within>().unwrap();
        world.register_relation::<PartOf>().unwrap();
        world.register_component_name::<Place>("Place");
        let top = world.spawn((Place, Name::new("Top"))).id();
        let mut entities: Vec<_> = (0..24).map(|_| world.spawn(Place).id()).collect();
        let middle = world.spawn((Place, Name::new("Middle"))).id();
        entities.extend([top, middle]);
        let texts = [
            "(Within, Top)",
            "(PartOf, Top)",
            "Place, !(Within, Top)",
            "Place, (Within, Top) || (Within, Middle)",
        ];
        let [within, part_of, outside, either] =
            texts.map(|text| PairExpr::parse(text).unwrap().compile(&mut world).unwrap());
        let times = 0;
        let asked = Asked { within, part_of, outside, either, entities, top, middle, times };
        let asked = Arc::new(Mutex::new(asked));
        if case % 2 == 0 {
            observe(&mut world, &asked);
        }
        for _ in 0..150 {
            let [source, target] = [(); 2].map(|()| random.pick(&asked.lock().unwrap().entities));
            match random.below(12) {
                // What would be a cycle is refused, as is an end that has died.
                0..5 => _ = world.insert_pair(source, Within, target),
                5..8 => _ = world.insert_pair(source, PartOf, target),
                8 => _ = world.remove_pairs::<Within>(source),
                9 if source != top && source != middle => _ = world.try_despawn(source),
                // The marker of participants goes too, until it is put back.
                10 if source != top && source != middle => {
                    _ = world.get_entity_mut(source).map(|mut entity| _ = entity.clear());
                }
                _ => {
                    let entity = world.spawn(Place).id();
                    asked.lock().unwrap().entities.push(entity);
                }
            }
            asked.lock().unwrap().check(&world);
        }
        assert!(asked.lock().unwrap().times > if case % 2 == 0 { 250 } else { 149 });
    }
}
