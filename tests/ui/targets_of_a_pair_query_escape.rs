use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Mood(u32);

fn targets(mut query: PairQuery<Likes, (), &mut Mood>) {
    let mut moods = Vec::new();
    query.for_each_target(|mood, _| moods.push(mood));
}

fn sources(mut query: PairQuery<Likes, &Mood, &mut Mood>) {
    let mut moods = Vec::new();
    query.for_each_target(|_, sources| moods.extend(sources));
}

fn lending(mut query: PairQuery<Likes, &Mood, &mut Mood>) {
    let mut targets = query.iter_targets_lending();
    let first = targets.fetch_next();
    let second = targets.fetch_next();
    drop((first, second));
}

fn main() {}
