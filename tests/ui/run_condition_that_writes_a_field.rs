use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Expression)]
#[expr("[inout] Fuel")]
struct Fuelled;

fn condition(_: ExprQuery<Fuelled>) -> bool {
    true
}

fn main() {
    let _ = (|| ()).run_if(condition);
}
