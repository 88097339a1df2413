//! What is said when two parameters of a system cannot have the same values.

use crate::{
    relation::{Relation, short_name},
    store::PairData,
};
use alloc::string::String;
use bevy_ecs::{
    query::AccessConflicts,
    system::{SystemAccess, SystemMeta},
    world::World,
};
use core::any::type_name;

/// What a parameter does with the values of a relation's pairs.
pub(super) struct ValueAccess {
    /// The parameter without its relation.
    pub(super) parameter: &'static str,
    pub(super) verb: &'static str,
    /// What else the previous parameter may do with them.
    pub(super) previous: &'static str,
    pub(super) hint: &'static str,
}

impl ValueAccess {
    /// Refuses a parameter whose access, `own`, to the values of the pairs of `R` conflicts with that of a previous one.
    /// Bevy would name the resource that they are kept in, which no user has seen.
    ///
    /// # Panics
    /// If there is such a conflict, naming the parameter, the system and the relation.
    pub(super) fn refuse_conflict<R: Relation>(
        &self,
        own: &SystemAccess,
        access: &SystemAccess,
        meta: &SystemMeta,
        world: &World,
    ) {
        let values = world.component_id::<PairData<R>>();
        let conflicts = match access.get_conflicts(own) {
            AccessConflicts::Individual(components) => {
                values.is_some_and(|values| components.contains(values))
            }
            AccessConflicts::All => false,
        };
        if conflicts {
            let Self { parameter, verb, previous, hint } = self;
            let relation: String = short_name(type_name::<R>()).into();
            panic!(
                "error[B0002]: `{parameter}<{relation}>` in system {} {verb} the values of the pairs of `{relation}`, \
                 which a previous parameter {previous}. {hint}, or merge conflicting parameters into a `ParamSet`. \
                 See: https://bevy.org/learn/errors/b0002",
                meta.name(),
            );
        }
    }
}
