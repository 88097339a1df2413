use bevy_relations::pair_expr;

fn main() {
    let _ = pair_expr!("SpaceShip (DockedTo, Earth)");
    let _ = pair_expr!(SpaceShip);
}
