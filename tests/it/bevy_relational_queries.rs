//! The relational queries that Bevy plans (bevy #23018): a test for each line of the table in the book.

use bevy_ecs::{
    prelude::*,
    query::{QueryFilter, ReadOnlyQueryData},
    system::RunSystemOnce,
};
use bevy_relations::{
    prelude::*,
    query::{
        Ancestors, ChangedAbove, ChangedBelow, Descendants, Down, LeafOf, RootOf, SelfUp, Siblings,
        SourcesWith, TargetOf, TargetsWith, Unrelated, Up, WithAncestor, WithDescendant,
    },
};

#[derive(Component, PartialEq, Debug)]
struct Size(u32);

#[derive(Component)]
struct Visible;

/// A root with two children, the first with a child of its own; all but the first child have a size.
struct Tree {
    world: World,
    root: Entity,
    first: Entity,
    second: Entity,
    leaf: Entity,
}

fn tree() -> Tree {
    let mut world = World::new();
    let root = world.spawn(Size(1)).id();
    let first = world.spawn(ChildOf(root)).id();
    let second = world.spawn((Size(20), ChildOf(root))).id();
    let leaf = world.spawn((Size(300), Visible, ChildOf(first))).id();
    Tree { world, root, first, second, leaf }
}

impl Tree {
    /// The entities that match, in order.
    fn matches<D: ReadOnlyQueryData + 'static, F: QueryFilter + 'static>(&mut self) -> Vec<Entity> {
        let run = |query: Query<(Entity, D), F>| -> Vec<Entity> {
            let mut found: Vec<Entity> = query.iter().map(|(entity, _)| entity).collect();
            found.sort_by_key(|entity| entity.index_u32());
            found
        };
        self.world.run_system_cached(run).unwrap()
    }
}

#[test]
fn data_of_the_parent_and_of_its_parent() {
    let Tree { mut world, first, second, leaf, .. } = tree();
    let parents = |query: Query<(Entity, TargetsWith<ChildOf, &Size>)>| -> Vec<(Entity, u32)> {
        query.iter().flat_map(|(entity, sizes)| sizes.map(move |size| (entity, size.0))).collect()
    };
    let mut found = world.run_system_cached(parents).unwrap();
    found.sort_by_key(|(entity, _)| entity.index_u32());
    assert_eq!(found, [(first, 1), (second, 1)]);
    let grandparents = |query: Query<(Entity, Up<ChildOf, &Size, 2, 2>)>| -> Vec<(Entity, u32)> {
        query.iter().map(|(entity, size)| (entity, size.0)).collect()
    };
    assert_eq!(world.run_system_cached(grandparents).unwrap(), [(leaf, 1)]);
}

#[test]
fn data_of_the_children() {
    let Tree { mut world, root, first, .. } = tree();
    let children = |query: Query<(Entity, SourcesWith<ChildOf, &Size>)>| -> Vec<(Entity, Vec<u32>)> {
        query.iter().map(|(entity, sizes)| (entity, sizes.map(|size| size.0).collect())).collect()
    };
    assert_eq!(world.run_system_cached(children).unwrap(), [(root, vec![20]), (first, vec![300])]);
}

#[test]
fn data_of_the_nearest_ancestor_that_has_it() {
    let Tree { mut world, leaf, .. } = tree();
    let nearest = move |query: Query<(Up<ChildOf, &Size>, SelfUp<ChildOf, &Size>)>| {
        let (above, own) = query.get(leaf).unwrap();
        (above.0, own.0)
    };
    assert_eq!(world.run_system_once(nearest).unwrap(), (1, 300));
}

#[test]
fn data_of_all_ancestors_and_of_the_root() {
    let Tree { mut world, root, first, leaf, .. } = tree();
    let above = move |query: Query<Ancestors<ChildOf>>, sizes: Query<&Size>| {
        let ancestors: Vec<Entity> = query.get(leaf).unwrap().collect();
        let root = sizes.get(*ancestors.last().unwrap()).unwrap().0;
        (ancestors, root)
    };
    assert_eq!(world.run_system_once(above).unwrap(), (vec![first, root], 1));
}

#[test]
fn data_of_the_nearest_descendant_and_of_all() {
    let Tree { mut world, root, .. } = tree();
    let below = move |query: Query<(Down<ChildOf, &Size>, Descendants<ChildOf, &Size>)>| {
        let (nearest, all) = query.get(root).unwrap();
        (nearest.0, all.map(|size| size.0).collect::<Vec<_>>())
    };
    assert_eq!(world.run_system_once(below).unwrap(), (20, vec![300, 20]));
}

#[test]
fn descendants_where_a_filter_lets_the_walk_in() {
    let Tree { mut world, root, first, .. } = tree();
    world.entity_mut(first).insert(Size(4));
    let sized =
        move |query: Query<Descendants<ChildOf, Entity, Without<Visible>>>| query.get(root).unwrap().count();
    assert_eq!(world.run_system_once(sized).unwrap(), 2);
}

#[test]
fn data_of_siblings() {
    let Tree { mut world, first, .. } = tree();
    let siblings = move |query: Query<Siblings<ChildOf, &Size>>| {
        query.get(first).unwrap().map(|size| size.0).collect::<Vec<_>>()
    };
    assert_eq!(world.run_system_once(siblings).unwrap(), [20]);
}

#[test]
fn is_related_to_what_a_filter_matches() {
    let mut tree = tree();
    let (first, second) = (tree.first, tree.second);
    assert_eq!(tree.matches::<(), Related<ChildOf, With<Size>>>(), [first, second]);
    assert_eq!(tree.matches::<(), TargetOf<ChildOf, With<Visible>>>(), [first]);
}

#[test]
fn has_an_ancestor_or_a_descendant_that_a_filter_matches() {
    let mut tree = tree();
    let (root, first, second, leaf) = (tree.root, tree.first, tree.second, tree.leaf);
    assert_eq!(tree.matches::<(), WithDescendant<ChildOf, With<Visible>>>(), [root, first]);
    assert_eq!(tree.matches::<(), WithAncestor<ChildOf, With<Size>>>(), [first, second, leaf]);
}

#[test]
fn is_a_root_or_a_leaf_or_neither() {
    let mut tree = tree();
    let (root, second, leaf) = (tree.root, tree.second, tree.leaf);
    let alone = tree.world.spawn(Size(7)).id();
    assert_eq!(tree.matches::<(), RootOf<ChildOf>>(), [root]);
    assert_eq!(tree.matches::<(), LeafOf<ChildOf>>(), [second, leaf]);
    assert_eq!(tree.matches::<&Size, (Unrelated<ChildOf>, Without<Children>)>(), [alone]);
}

#[test]
fn terms_are_optional_and_combine_with_bevys_filters() {
    let mut tree = tree();
    let (first, second, leaf) = (tree.first, tree.second, tree.leaf);
    type Either = Or<(With<Visible>, Related<ChildOf, With<Size>>)>;
    assert_eq!(tree.matches::<Option<Up<ChildOf, &'static Visible>>, Either>(), [first, second, leaf]);
}

#[test]
fn ones_own_component_is_written_while_the_parents_is_read() {
    let Tree { mut world, root, second, leaf, first } = tree();
    world.entity_mut(first).insert(Size(4));
    fn add_parents(mut tree: CascadeQuery<ChildOf, &mut Size, &Size>) {
        tree.for_each(|mut size, parent| size.0 += parent.map_or(0, |parent| parent.0));
    }
    Schedule::default().add_systems(add_parents).run(&mut world);
    let sizes = [root, first, second, leaf].map(|entity| world.get::<Size>(entity).unwrap().0);
    assert_eq!(sizes, [1, 5, 21, 305]);
}

#[test]
fn a_parent_and_its_child_are_written_in_one_step() {
    let Tree { mut world, root, first, second, leaf } = tree();
    world.entity_mut(first).insert(Size(4));
    fn give(mut pairs: PairQuery<ChildOf, &mut Size, &mut Size>) {
        pairs.for_each(|mut child, _, mut parent| {
            child.0 += 1;
            parent.0 += 10;
        });
    }
    Schedule::default().add_systems(give).run(&mut world);
    let sizes = [root, first, second, leaf].map(|entity| world.get::<Size>(entity).unwrap().0);
    assert_eq!(sizes, [21, 15, 21, 301]);
}

#[test]
fn a_target_is_written_with_its_sources_at_hand() {
    let Tree { mut world, root, first, .. } = tree();
    world.entity_mut(first).insert(Size(4));
    fn sum(mut pairs: PairQuery<ChildOf, &Visible, &mut Size>) {
        pairs.for_each_target(|mut size, sources| size.0 += sources.count() as u32);
    }
    Schedule::default().add_systems(sum).run(&mut world);
    assert_eq!([root, first].map(|entity| world.get::<Size>(entity).unwrap().0), [1, 5]);
}

#[test]
fn something_above_or_below_was_written() {
    let Tree { mut world, root, first, second, leaf } = tree();
    let changed = |below: Query<Entity, ChangedBelow<ChildOf, Size>>,
                   above: Query<Entity, ChangedAbove<ChildOf, Size>>| {
        (below.iter().collect::<Vec<_>>(), above.iter().collect::<Vec<_>>())
    };
    let changed = world.register_system(changed);
    world.run_system(changed).unwrap();
    world.get_mut::<Size>(leaf).unwrap().0 += 1;
    let (mut below, above) = world.run_system(changed).unwrap();
    below.sort_by_key(|entity| entity.index_u32());
    assert_eq!((below, above), (vec![root, first], vec![]));
    world.get_mut::<Size>(root).unwrap().0 += 1;
    let (below, mut above) = world.run_system(changed).unwrap();
    above.sort_by_key(|entity| entity.index_u32());
    assert_eq!((below, above), (vec![], vec![first, second, leaf]));
}
