use bevy_relations::pair_expr;

fn main() {
    let _ = pair_expr!("SpaceShip (DockedTo, Earth) Planet");
    let _ = pair_expr!(SpaceShip);
}
