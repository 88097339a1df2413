use bevy_ecs::prelude::*;
use bevy_relations::query::{Cached, Descendants, Down, SelfDown, Siblings, SourcesWith, TargetsWith, Up};

#[derive(Component, Clone)]
struct Armor;

fn down(_: Query<Down<ChildOf, &mut Armor>>) {}

fn self_down(_: Query<SelfDown<ChildOf, &mut Armor>>) {}

fn descendants(_: Query<Descendants<ChildOf, &mut Armor>>) {}

fn siblings(_: Query<Siblings<ChildOf, &mut Armor>>) {}

fn targets(_: Query<TargetsWith<ChildOf, &mut Armor>>) {}

fn sources(_: Query<SourcesWith<ChildOf, &mut Armor>>) {}

fn cached(_: Query<Cached<Up<ChildOf, &mut Armor>>>) {}

fn inherited(_: Query<bevy_relations::query::Inherited<&mut Armor>>) {}

fn main() {}
