//! The view of pairs for tools that work by reflection.

use crate::common::spawn;
use bevy_app::prelude::*;
use bevy_ecs::{entity_disabling::Disabled, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{GetPath, Reflect};
use bevy_relations::{prelude::*, system_param::PairsView};

#[derive(Relation)]
struct Likes;

/// What a tool finds on an entity that knows types by their registration only.
fn shown(world: &World, entity: Entity) -> Vec<String> {
    let registry = world.resource::<AppTypeRegistry>().read();
    let registration = registry.get_with_short_type_path("PairsView").unwrap();
    let view: &dyn Reflect =
        registration.data::<ReflectComponent>().unwrap().reflect(world.entity(entity)).unwrap();
    let field = |nth: usize, name: &str| view.reflect_path(format!(".pairs[{nth}].{name}").as_str()).ok();
    let pair = |nth| {
        let relation = field(nth, "relation_name")?.try_downcast_ref::<String>()?;
        let target = field(nth, "target_name")?.try_downcast_ref::<Option<String>>()?.as_deref();
        Some(format!("{relation} {}", target.unwrap_or("?")))
    };
    (0..).map_while(pair).collect()
}

#[test]
fn a_view_shows_the_pairs_and_follows_them_from_frame_to_frame() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let world = app.world_mut();
    let [alice, likes_nobody] = spawn(world);
    let rival = world.spawn_relation("rival of", RelationTraits::new()).unwrap();
    let bob = world.spawn((Name::new("Bob"), Pair(Likes, alice))).id();
    world.entity_mut(bob).insert(PairsView::default());
    assert_eq!(shown(world, bob), ["Likes ?"]);
    world.entity_mut(alice).insert((Name::new("Alice"), Disabled));
    world.entity_mut(likes_nobody).insert(PairsView::default());
    app.update();
    assert_eq!(shown(app.world(), bob), ["Likes Alice"]);
    assert!(shown(app.world(), likes_nobody).is_empty());

    let world = app.world_mut();
    world.insert_pair_by_id(bob, (rival, bob)).unwrap();
    world.remove_pairs::<Likes>(bob);
    assert_eq!(shown(world, bob), ["Likes Alice"], "a copy");
    app.update();
    assert_eq!(shown(app.world(), bob), ["rival of Bob"]);
    app.world_mut().entity_mut(bob).remove::<Name>();
    app.update();
    assert_eq!(shown(app.world(), bob), ["rival of ?"]);

    let before = app.world().entity(bob).get_change_ticks::<PairsView>().unwrap().changed;
    app.world_mut().insert_pair(alice, Likes, bob).unwrap();
    app.update();
    let after = app.world().entity(bob).get_change_ticks::<PairsView>().unwrap().changed;
    assert_eq!(before, after, "what shows the same has not changed");
}
