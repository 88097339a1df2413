//! Numbers that components and pairs carry.

use super::{
    model::{BUILT_IN, Kind, Model, Node, Traits},
    random::Random,
};

/// Gives a world a component with a number, and a relation whose pairs have one.
pub(crate) fn add_values(random: &mut Random, model: &mut Model) {
    let nodes = BUILT_IN..model.nodes.len();
    let entities: Vec<Node> = nodes.filter(|&node| model.nodes[node].kind == Kind::Entity).collect();
    let health = model.spawn("Health", Kind::Component(3), Traits::default());
    let weighs = model.spawn("Weighs", Kind::Relation, Traits::default());
    for &entity in &entities {
        if random.chance(60) {
            model.mark(entity, health);
            model.values.insert((entity, health, None), random.below(5) as i64 - 1);
        }
        // In order of the target, as for other relations.
        for &target in &entities {
            if random.chance(20) {
                model.pair(entity, weighs, target);
                model.values.insert((entity, weighs, Some(target)), random.below(5) as i64 - 1);
            }
        }
    }
}
