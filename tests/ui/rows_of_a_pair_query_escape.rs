use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Mood;

fn for_each(mut query: PairQuery<Likes, &mut Mood>) {
    let mut kept = Vec::new();
    query.for_each(|mood, _, ()| kept.push(mood));
}

fn targets(mut query: PairQuery<Likes, (), &mut Mood>) {
    let mut kept = Vec::new();
    query.for_each(|(), _, mood| kept.push(mood));
}

fn iter_lending(mut query: PairQuery<Likes, &mut Mood>) {
    let mut lending = query.iter_lending();
    let first = lending.fetch_next();
    let second = lending.fetch_next();
    drop((first, second));
}

fn targets_one_at_a_time(mut query: PairQuery<Likes, (), &mut Mood>) {
    let mut lending = query.iter_lending();
    let first = lending.fetch_next();
    let second = lending.fetch_next();
    drop((first, second));
}

fn main() {}
