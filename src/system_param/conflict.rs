//! What is said when two parameters of a system cannot have the same values.

use crate::{
    relation::{Relation, short_name},
    store::PairData,
};
use bevy_ecs::{
    query::AccessConflicts,
    system::{SystemAccess, SystemMeta},
    world::World,
};
use core::any::type_name;

/// Refuses the parameter `name<R>` whose access, `own`, to the values of the pairs of `R` conflicts with what was
/// declared before. Bevy would name the resource that they are kept in, which no user has seen. `verb` is what the
/// parameter does with the values, `previous` what one before it does.
///
/// # Panics
/// If there is such a conflict, naming the parameter, the system and the relation.
pub(super) fn refuse_conflict<R: Relation>(
    [name, verb, previous]: [&str; 3],
    own: &SystemAccess,
    declared: &SystemAccess,
    meta: &SystemMeta,
    world: &World,
) {
    let AccessConflicts::Individual(components) = declared.get_conflicts(own) else { return };
    if world.component_id::<PairData<R>>().is_some_and(|values| components.contains(values)) {
        let relation = short_name(type_name::<R>());
        panic!(
            "error[B0002]: `{name}<{relation}>` in system {} {verb} the values of the pairs of `{relation}`, which a previous \
             parameter {previous}. Consider reading through `PairsMut`, which reads all that `Pairs` does, or merging \
             conflicting parameters into a `ParamSet`. See: https://bevy.org/learn/errors/b0002",
            meta.name(),
        );
    }
}
