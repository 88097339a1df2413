use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(key = u8)]
struct Equips {
    from: u8,
    to: u8,
}

#[derive(Relation)]
#[relation(key = u16)]
struct Wears(u8);

#[derive(Relation)]
#[relation(key = u8, exclusive)]
struct Holds(u8);

#[derive(Relation)]
#[relation(key)]
struct Carries(u8);

struct NotEq;

#[derive(Relation)]
#[relation(key = NotEq)]
struct Keeps(NotEq);

fn main() {}
