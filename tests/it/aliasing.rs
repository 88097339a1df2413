//! Data is written through everything that hands out several borrows of one world, between operations during which
//! observers insert, remove, despawn and clear. Small, so that Miri can see whether two of the borrows are of one
//! thing.

use crate::common::{Random, all_entities, fewer, size, take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Despawn, prelude::*, system::SystemId};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
    query::{Cached, SelfUp, Up},
    relation::Wildcard,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Clone, Default)]
struct Owes(u64);

#[derive(Relation, Clone, Default)]
#[relation(symmetric, exclusive)]
struct MarriedTo(#[expect(dead_code, reason = "it is moved and copied")] u64);

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Under;

#[derive(Component, Clone)]
struct Fuel(u64);

#[derive(Component, Clone)]
struct Weight(u64);

/// What observers still may do, and what they do next.
#[derive(Resource)]
struct Spite {
    left: usize,
    random: Random,
}

/// Does something to random entities, dead ones among them.
fn act(world: &mut World, random: &mut Random, entities: &[Entity]) {
    let [a, b] = [random.pick(entities), random.pick(entities)];
    match random.below(18) {
        0..=1 => _ = world.insert_pair(a, Likes, b),
        2..=3 => _ = world.insert_pair(a, DockedTo, b),
        4 => _ = world.insert_pair(a, Owes(1), b),
        5 => _ = world.insert_pair(a, MarriedTo(2), b),
        6..=7 => _ = world.insert_pair(a, Under, b),
        8 => _ = world.remove_pairs::<DockedTo>(a),
        9 => _ = world.remove_pairs_by_id(a, PairId::ALL),
        10 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
        11 => _ = world.try_despawn(a),
        12 => _ = world.despawn_with_dependents(a),
        13 => _ = world.get_entity_mut(a).map(|mut entity| entity.clear().id()),
        14 => _ = world.get_entity_mut(a).map(|mut entity| entity.insert((Fuel(3), Weight(1))).id()),
        15 => _ = world.get_entity_mut(a).map(|mut entity| entity.remove::<Fuel>().id()),
        // Not cloned: Bevy panics where an observer despawns the clone.
        16 => _ = world.get_entity_mut(a).map(|mut entity| entity.remove::<Weight>().insert(Fuel(2)).id()),
        _ => _ = world.spawn((Fuel(1), Weight(2), Pair(DockedTo, a), Pair(Likes, b))),
    }
}

/// What every observer does, as long as it may.
fn spite(mut commands: Commands) {
    commands.queue(|world: &mut World| {
        let entities = users(world);
        let Some(mut spite) = world.get_resource_mut::<Spite>() else { return };
        let Some(left) = spite.left.checked_sub(1) else { return };
        spite.left = left;
        if spite.random.below(3) == 0 && !entities.is_empty() {
            let mut random = Random(spite.random.0);
            _ = spite.random.below(2);
            act(world, &mut random, &entities);
        }
    });
}

/// Those entities that are no relations, systems, observers or resources.
fn users(world: &World) -> Vec<Entity> {
    let is_user =
        |&entity: &Entity| world.get::<Fuel>(entity).is_some() || world.get::<Weight>(entity).is_some();
    all_entities(world).into_iter().filter(is_user).collect()
}

/// Every form of `PairQuery` that writes.
fn write_pairs(
    mut docked: ParamSet<(
        PairQuery<DockedTo, &mut Fuel, &Weight>,
        PairQuery<Likes, &mut Fuel, &Fuel>,
        PairQuery<MarriedTo, (&mut Fuel, &mut Weight)>,
    )>,
    mut owes: PairsMut<Owes>,
    entities: Query<Entity>,
) {
    let mut all = docked.p0();
    let mut rows: Vec<_> = all.iter_mut().collect();
    rows.iter_mut().for_each(|(own, _, other)| own.0 += other.0);
    drop(rows);
    let mut lent = all.iter_lending();
    while let Some((mut own, _, other)) = lent.fetch_next() {
        own.0 += other.0;
    }
    all.par_for_each(|mut own, _, other| own.0 += other.0);
    for entity in &entities {
        let mut to = all.of_target(entity);
        let mut rows: Vec<_> = to.iter_mut().collect();
        rows.iter_mut().for_each(|(own, ..)| own.0 += 1);
        drop(rows);
        all.of_source(entity).for_each(|mut own, _, other| own.0 += other.0);
    }
    docked.p1().for_each(|mut own, _, other| own.0 = own.0.wrapping_add(other.0));
    let mut married = docked.p2();
    let mut rows: Vec<_> = married.iter_mut().map(|((own, weight), ..)| (own, weight)).collect();
    rows.iter_mut().for_each(|(own, weight)| (own.0, weight.0) = (weight.0, own.0));
    owes.for_each_mut(|_, _, mut owes| owes.0 += 1);
}

/// Terms beside data that is written.
fn write_terms(
    mut above: Query<(&mut Fuel, Option<Up<Under, &Weight>>, Option<Targets<Likes>>)>,
    kept: Query<(Entity, Cached<SelfUp<Under, &Weight>>, Option<Sources<DockedTo>>)>,
) {
    let mut rows: Vec<_> = above.iter_mut().collect();
    for (fuel, weight, likes) in &mut rows {
        fuel.0 = fuel.0.wrapping_add(weight.map_or(0, |weight| weight.0));
        fuel.0 += likes.as_ref().map_or(0, |likes| likes.clone().count() as u64);
    }
    let seen: u64 =
        kept.iter().map(|(_, weight, sources)| weight.0 + sources.map_or(0, |s| s.count() as u64)).sum();
    assert!(kept.iter().count() as u64 <= seen + 1);
}

/// Every form of `CascadeQuery` that writes.
fn write_cascades(mut tree: CascadeQuery<Under, &mut Fuel, &Fuel>) {
    tree.for_each(|mut own, parent| own.0 += parent.map_or(1, |parent| parent.0 & 7));
    tree.par_for_each(|mut own, parent| own.0 += parent.map_or(1, |parent| parent.0 & 7));
    tree.for_each_with_parents(|mut own, parents| own.0 += parents.count() as u64);
    tree.for_each_desc(|mut own, children| own.0 += children.map(|child| child.0 & 7).sum::<u64>());
    let mut rows: Vec<_> = tree.iter_mut().collect();
    rows.iter_mut().for_each(|own| own.0 += 1);
    drop(rows);
    let mut rows: Vec<_> = tree.iter_desc().collect();
    rows.iter_mut().for_each(|own| own.0 += 1);
}

/// A world in which everything is observed, and all that is kept between operations.
struct Scene {
    world: World,
    systems: [SystemId; 3],
    expr: CompiledExpr,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut world = world_that_records_errors();
        let relations = [
            world.register_relation::<Likes>().unwrap(),
            world.register_relation::<DockedTo>().unwrap(),
            world.register_relation::<Under>().unwrap(),
        ];
        _ = world.register_relation::<Owes>().unwrap();
        let [likes, docked, under] = relations.map(|relation| format!("#{}", relation.to_bits()));
        let [fuel, weight] = [world.entity_of::<Fuel>(), world.entity_of::<Weight>()];
        let (fuel, weight) = (format!("#{}", fuel.to_bits()), format!("#{}", weight.to_bits()));
        let text = format!("{fuel}, ({docked}, $x), ?({likes}, $y), ?{weight}(up {under})");
        let expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        for number in 0..8 {
            world.spawn((Fuel(number), Weight(number + 1)));
        }
        world.insert_resource(Spite { left: 0, random: Random(seed) });
        world.add_observer(|_: On<PairInserted<Wildcard>>, commands: Commands| spite(commands));
        world.add_observer(|_: On<PairRemoved<Wildcard>>, commands: Commands| spite(commands));
        world.add_observer(|_: On<Add<Fuel>>, commands: Commands| spite(commands));
        world.add_observer(|_: On<Remove<Fuel>>, commands: Commands| spite(commands));
        world.add_observer(|_: On<Despawn<Weight>>, commands: Commands| spite(commands));
        let systems = [
            world.register_system(write_pairs),
            world.register_system(write_terms),
            world.register_system(write_cascades),
        ];
        Self { world, systems, expr }
    }

    fn read_and_write(&mut self) {
        for system in self.systems {
            self.world.run_system(system).unwrap();
        }
        let (mut rows, mut in_tables) = (0, 0);
        self.expr
            .for_each_mut(&mut self.world, |mut row| {
                row.get_mut::<Fuel>(0).unwrap().0 += 1;
                rows += 1;
            })
            .unwrap();
        self.expr
            .for_each_table_mut(&mut self.world, |mut table| {
                table.slice_mut::<Fuel>(0).unwrap().iter_mut().for_each(|fuel| fuel.0 += 1);
                in_tables += table.as_table().len();
            })
            .unwrap();
        assert_eq!(rows, in_tables);
    }
}

/// One history, in which everything is read and written after every operation.
fn play(seed: u64, steps: usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut scene = Scene::new(random.0 ^ 1);
    scene.read_and_write();
    for step in 0..steps {
        scene.world.resource_mut::<Spite>().left = 12;
        let entities = users(&scene.world);
        act(&mut scene.world, &mut random, &entities);
        scene.world.flush();
        scene.world.resource_mut::<Spite>().left = 0;
        while users(&scene.world).len() < 5 {
            scene.world.spawn((Fuel(1), Weight(1)));
        }
        scene.world.check_pairs().unwrap_or_else(|error| panic!("{error} at step {step} of seed {seed}"));
        if step % 2 == 0 {
            scene.read_and_write();
        }
        if step % 5 == 4 {
            scene.world.maintain_pairs();
        }
        take_reported_errors();
    }
}

#[test]
fn whatever_observers_do_no_two_borrows_are_of_one_thing() {
    for seed in 1..=fewer(40) as u64 {
        play(seed, size(40, 8));
    }
}
