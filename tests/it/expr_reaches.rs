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
    entities: Vec<Entity>,
    top: Entity,
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

impl Asked {
    /// Asks about every entity.
    fn check(&mut self, world: &World) {
        let Self { within, part_of, entities, top, times } = self;
        check_relation::<Within>(world, within, (entities, *top));
        check_relation::<PartOf>(world, part_of, (entities, *top));
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
    for case in 0..fewer(30) as u64 {
        let mut random = Random((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = World::new();
        world.register_relation::<Within>().unwrap();
        world.register_relation::<PartOf>().unwrap();
        let top = world.spawn((Place, Name::new("Top"))).id();
        let mut entities: Vec<_> = (0..24).map(|_| world.spawn(Place).id()).collect();
        entities.push(top);
        let [within, part_of] = ["(Within, Top)", "(PartOf, Top)"]
            .map(|text| PairExpr::parse(text).unwrap().compile(&mut world).unwrap());
        let asked = Arc::new(Mutex::new(Asked { within, part_of, entities, top, times: 0 }));
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
                9 if source != top => _ = world.try_despawn(source),
                // The marker of participants goes too, until it is put back.
                10 if source != top => _ = world.get_entity_mut(source).map(|mut entity| _ = entity.clear()),
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
