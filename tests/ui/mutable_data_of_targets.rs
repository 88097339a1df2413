use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Mood;

fn in_parallel(mut query: PairQuery<Likes, (), &mut Mood>) {
    query.par_for_each(|(), _, _| {});
}

fn iterator(query: PairQuery<Likes, (), &mut Mood>) {
    query.iter().count();
}

fn sources(mut query: PairQuery<Likes, &mut Mood>) {
    query.for_each_target(|(), _| {});
}

fn main() {}
