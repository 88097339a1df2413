//! Several worlds, and a world whose pairs are cleared, under what is kept of one: expressions, rows, snapshots, components.

use crate::common::{spawn, take_reported_errors, world_that_records_errors};
use bevy_app::{AppLabel, MainSchedulePlugin, prelude::*};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, schedule::ScheduleLabel};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{ExprRunError, PairExpr},
    live::*,
    mirror::*,
    prelude::*,
    snapshot::*,
};
use std::sync::Arc;

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone)]
struct Weighs(
    #[reflect(ignore)]
    #[expect(dead_code, reason = "counts the values")]
    Arc<()>,
);

#[derive(Component)]
struct Load;

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.register_relation::<Weighs>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world
}

#[test]
fn what_belongs_to_one_world_is_refused_by_another() {
    let mut one = world();
    let mut two = world();
    spawn::<7>(&mut two);
    let [a, b] = spawn(&mut one);
    one.insert_pair(a, Likes, b).unwrap();
    let [c, d, e] = spawn(&mut two);
    two.insert_pair(c, Likes, d).unwrap();
    two.insert_pair(e, Likes, d).unwrap();

    let expr = PairExpr::parse("(Likes, $x)").unwrap();
    let mut live = expr.live(&mut one).unwrap();
    live.track_moves();
    live.update(&mut one).unwrap();
    assert_eq!(live.len(), 1);
    assert!(matches!(live.rows(&two).err(), Some(ExprRunError::OtherWorld)));
    assert!(matches!(live.entered(&two).err(), Some(ExprRunError::OtherWorld)));
    assert!(matches!(live.update(&mut two), Err(ExprRunError::OtherWorld)));
    assert!(live.is_empty());
    live.update(&mut one).unwrap();
    assert_eq!(live.len(), 1);

    let mut compiled = expr.compile(&mut one).unwrap();
    assert!(matches!(compiled.count(&two), Err(ExprRunError::OtherWorld)));
    assert!(compiled.set_var(&two, "x", d).is_err());
    assert_eq!(compiled.count(&one), Ok(1));

    let mut snapshot = PairSnapshot::take(&mut one, PairFilter::none().relation::<Likes>()).unwrap();
    assert!(matches!(snapshot.apply(&mut two), Err(SnapshotError::OtherWorld)));
    snapshot.update(&mut two).unwrap();
    assert_eq!(snapshot.len(), 2);
    assert!(matches!(snapshot.apply(&mut one), Err(SnapshotError::OtherWorld)));
    two.remove_pairs::<Likes>(c);
    snapshot.apply(&mut two).unwrap();
    assert!(two.has_pair::<Likes>(c, d));

    // A named expression of another world.
    let kept = NamedExpr::from(expr.live(&mut one).unwrap());
    let named = one.spawn(kept).id();
    let taken = one.entity_mut(named).take::<NamedExpr>().unwrap();
    let there = two.spawn(taken).id();
    assert!(two.update_expr_of(there).is_err());

    // A mirror of another world.
    one.mirror_pairs::<Likes>().unwrap();
    two.mirror_pairs::<Likes>().unwrap();
    let component = two.get::<MirroredPairs<Likes>>(c).unwrap().clone();
    one.entity_mut(a).insert(component);
    take_reported_errors();
    one.check_pairs().unwrap();

    // Everything that is named may be of nowhere.
    let huge = Entity::from_raw_u32(u32::MAX - 2).unwrap();
    let likes = one.entity_of::<Likes>();
    for (source, relation, target) in [(huge, likes, b), (a, huge, b), (a, likes, huge), (huge, huge, huge)] {
        assert!(one.insert_pair_by_id(source, (relation, target)).is_err());
        assert!(!one.has_pair_by_id(source, (relation, target)));
        assert_eq!(one.remove_pairs_by_id(source, PairId::new(relation, target)), 0);
        assert_eq!(one.remove_pairs_everywhere(PairId::new(relation, target)), 0);
        assert!(one.pairs_of(source).is_empty() || source == a);
        assert!(one.set_traits(huge, RelationTraits::new()).is_err());
        assert!(one.insert_tag(source, huge).is_err());
        assert_eq!(one.pairs_by_id(relation).targets(huge).count(), 0);
        assert_eq!(one.pairs_by_id(huge).sources(target).count(), 0);
    }
    let alloc = one.entity_allocator().alloc();
    assert!(one.insert_pair(a, Likes, alloc).is_err());
    one.check_pairs().unwrap();

    core::mem::swap(&mut one, &mut two);
    one.check_pairs().unwrap();
    two.check_pairs().unwrap();
    assert!(matches!(live.update(&mut one).err(), Some(ExprRunError::OtherWorld)));
    live.update(&mut two).unwrap();
    let emptied = core::mem::take(&mut two);
    assert!(live.update(&mut two).is_err());
    two.insert_pair(Entity::PLACEHOLDER, Likes, Entity::PLACEHOLDER).unwrap_err();
    two.check_pairs().unwrap();
    emptied.check_pairs().unwrap();
}

#[test]
fn what_is_kept_outlives_the_pairs_of_its_world() {
    for how in 0..2 {
        let count = Arc::new(());
        let mut world = world();
        world.register_component_name::<Load>("Load");
        let [a, b] = spawn(&mut world);
        world.entity_mut(a).insert(Load);
        world.insert_pair(a, Likes, b).unwrap();
        world.insert_pair(a, Weighs(count.clone()), b).unwrap();
        world.mirror_pairs::<Weighs>().unwrap();
        let expr = PairExpr::parse("(Likes, $x), Load").unwrap();
        let mut live = expr.live(&mut world).unwrap();
        live.update(&mut world).unwrap();
        let mut compiled = expr.compile(&mut world).unwrap();
        let mut snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
        match how {
            0 => world.clear_pairs(),
            _ => world.clear_resources(),
        }
        world.check_pairs().unwrap();
        _ = live.update(&mut world);
        _ = compiled.count(&world);
        assert_eq!(live.len(), 0);
        snapshot.apply(&mut world).unwrap();
        world.check_pairs().unwrap();
        snapshot.update(&mut world).unwrap();
        world.register_relation::<Likes>().unwrap();
        _ = world.insert_pair(a, Likes, b);
        _ = live.update(&mut world);
        world.maintain_pairs();
        world.check_pairs().unwrap();
        drop((world, snapshot, live, compiled));
        assert_eq!(Arc::strong_count(&count), 1, "{how}");
    }
}

#[test]
fn an_app_and_its_sub_app_have_relations_of_their_own() {
    #[derive(AppLabel, Clone, Copy, Hash, PartialEq, Eq, Debug)]
    struct Render;
    #[derive(Resource, Default)]
    struct Seen(Vec<usize>);
    let mut app = App::new();
    app.init_resource::<Seen>();
    app.add_systems(Update, |pairs: Pairs<Likes>, mut seen: ResMut<Seen>| seen.0.push(pairs.len()));
    app.add_plugins(RelationsPlugin).add_plugins(RelationsPlugin);
    let mut sub = SubApp::new();
    sub.add_plugins(RelationsPlugin).add_plugins(RelationsPlugin);
    sub.update_schedule = Some(Main.intern());
    sub.init_resource::<Seen>();
    sub.add_plugins(MainSchedulePlugin);
    sub.add_systems(Update, |pairs: Pairs<Likes>, mut seen: ResMut<Seen>| seen.0.push(pairs.len()));
    sub.set_extract(|main, sub| {
        let count = main.pairs::<Likes>().len();
        while sub.pairs::<Likes>().len() < count {
            let [a, b] = spawn(sub);
            sub.insert_pair(a, Likes, b).unwrap();
        }
    });
    app.insert_sub_app(Render, sub);
    let [a, b] = spawn(app.world_mut());
    app.world_mut().insert_pair(a, Likes, b).unwrap();
    app.update();
    app.update();
    assert_eq!(app.world().resource::<Seen>().0, [1, 1]);
    let sub = app.sub_app(Render).world();
    sub.check_pairs().unwrap();
    assert_eq!(sub.pairs::<Likes>().len(), 1);
    assert_eq!(sub.resource::<Seen>().0.len(), 2);
    assert_eq!(sub.resource::<Seen>().0, [1, 1]);
}
