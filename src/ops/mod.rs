//! Changing pairs: the only way into the store.
//!
//! Four floors, of which each imports only those before it: [`register`](mod@register) has the relations of a world, [`mutate`]
//! plans, inserts and removes pairs, [`lifecycle`] follows what becomes of entities and of Bevy's own relationship
//! components, and [`api`] is what users call. Whatever they call, an insertion goes through [`mutate::insert`], which
//! executes the plan that [`mutate::plan`] makes from the relation's traits, and a removal goes through
//! [`mutate::remove`].

mod api;
mod lifecycle;
mod mutate;
mod register;

pub use api::bundle::{BundleList, Pair, PairList, PairTarget, PairsBundle, SourcesBundle, TypeTarget};
pub use api::propagate::{InsertedAbove, RemovedAbove};
pub use api::trigger::{NotTraversableError, PropagatedEvent, Propagation};
pub use mutate::error::{
    AttemptedPair, BrokenConstraint, ConstraintError, DespawnError, InsertPairError, InsertPairsError,
    ObservePairsError, PairRole, ReorderError,
};
pub use register::keys::{
    PairInserted, PairInsertedEvent, PairPattern, PairRemoved, PairRemovedEvent, RemovalCause,
};
pub use register::relation::register;

#[cfg(feature = "scene")]
pub(crate) use api::bundle::insert_to_type;
pub(crate) use api::{
    bundle::{insert_to, refused, spawn_batch},
    follow::{Followed, Followers},
    propagate::propagate_changes,
    trigger::{trigger_along, trigger_by_id},
};
pub(crate) use lifecycle::adopt::adopt;
pub(crate) use lifecycle::cleanup::{clear_pairs, despawn_sources, despawn_with_dependents, would_despawn};
pub(crate) use lifecycle::clone::copy_pairs;
#[cfg(feature = "bevy_reflect")]
pub(crate) use lifecycle::clone::prepare_clones;
pub(crate) use lifecycle::companions::{component_companions, set_traits};
pub(crate) use lifecycle::constraints::check_constraints;
pub(crate) use mutate::{
    bare::is_bare_base,
    batch::insert_batch,
    change::{move_sources, replace_targets},
    ends::EndCheck,
    event::{ObserveEntity, Removal, observe, observe_entity},
    insert::{insert_bare_base, insert_by_id, insert_typed, insert_value_by_id},
    keyed::has_key_of,
    operation::Operation,
    order::order_sources,
    remove::{remove_batch, remove_by_id, remove_selected, remove_source, remove_tag, remove_typed, select},
    restore::{Restoration, Restored, WantedPairs, WantedSource, WantedValue},
    tag::insert_tag,
    writer::arranged,
};
#[cfg(feature = "bevy_reflect")]
pub(crate) use mutate::{
    error::store_removed,
    insert::resolve_pair,
    several::{NewPair, check_several, insert_several},
};
pub(crate) use register::constraints::has_constraints;
#[cfg(feature = "remote")]
pub(crate) use register::entity::despawn_unused_type_entity;
pub(crate) use register::entity::{
    InternalEntity, TypeEntity, entity_of_type, entity_of_type_id, internal_markers, relation_id_of,
    unlisted_markers,
};
pub use register::participant::Participant;
pub(crate) use register::relation::{make_relation, relation_id, unregister_relation};
#[cfg(feature = "bevy_reflect")]
pub(crate) use register::report::report_warning;
pub(crate) use register::store::{ensure_store, index_children_for, use_all_relations, use_relation};
pub(crate) use register::upkeep::{check, despawn_after, maintain, needs_repair};
pub(crate) use register::watch::install as install_observers;
pub(crate) use register::{
    entity::entity_of,
    relation::{register_relation, spawn_relation, track_pair_changes},
    report::{report, to_bevy},
};
#[cfg(feature = "bevy_reflect")]
pub(crate) use {
    mutate::{
        change::{WantedPair, set_pairs},
        operation::ScenePart,
        value::{TypedValue, ValueType},
    },
    register::{relation::set_mirror, watch::announce_relations},
};
