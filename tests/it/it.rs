//! Behaviour, seen from outside: one binary, a module per topic.

mod adoption;
mod adoption_despawn;
mod aliasing;
mod any_pairs;
mod bevy_relational_queries;
mod bundles;
mod cascade;
mod cascade_access;
mod cascade_changed;
mod cascade_forest;
mod change_fast_path;
mod cleanup;
mod cleanup_model;
mod clone_observers;
mod common;
mod component_traits;
#[cfg(feature = "bevy_reflect")]
mod component_with;
mod constraint_adopted;
mod constraint_checks;
mod constraint_commands;
mod constraint_model;
mod debug_drawing;
mod deltas;
#[cfg(not(miri))]
mod determinism;
mod disabling;
#[cfg(feature = "bevy_reflect")]
mod early_systems;
mod end_constraints;
mod error_names;
mod errors;
mod event_adopted;
mod event_observers;
mod events;
#[cfg(feature = "serialize")]
mod everyday;
mod expr;
mod expr_data_kinds;
mod expr_dead_constants;
mod expr_fields;
mod expr_fuzz;
mod expr_in_place;
#[cfg(feature = "bevy_reflect")]
mod expr_insert;
#[cfg(feature = "serialize")]
mod expr_json;
mod expr_judged;
mod expr_kept_states;
mod expr_oracle;
mod expr_order;
mod expr_pages;
#[cfg(feature = "bevy_reflect")]
mod expr_param;
#[cfg(feature = "bevy_reflect")]
mod expr_param_access;
#[cfg(feature = "bevy_reflect")]
mod expr_param_order;
mod expr_param_random;
mod expr_param_tables;
mod expr_plans;
mod expr_reaches;
mod expr_refused;
mod expr_rows;
mod expr_run;
mod expr_scans;
mod expr_semantics;
mod expr_semantics_flecs;
mod expr_semantics_hostile;
mod expr_semantics_names;
mod expr_subtypes;
mod expr_tables;
#[cfg(feature = "bevy_reflect")]
mod expr_values;
mod expr_values_random;
#[cfg(feature = "bevy_reflect")]
mod expr_values_refused;
#[cfg(feature = "bevy_reflect")]
mod expr_values_spawned;
mod fast_path_by_rules;
#[cfg(feature = "bevy_reflect")]
mod field_index;
#[cfg(feature = "bevy_reflect")]
mod field_index_observers;
mod idle;
mod inheritance;
mod islands;
mod islands_model;
mod kept_components;
mod keyed;
mod keyed_expr;
mod keyed_model;
mod keyed_observers;
#[cfg(feature = "serialize")]
mod late_types;
mod lifecycle;
mod live;
mod live_hostile;
mod long_lists;
mod many_relations;
mod marker;
#[cfg(feature = "bevy_reflect")]
mod mirror;
#[cfg(feature = "bevy_reflect")]
mod mirror_clones;
#[cfg(feature = "bevy_reflect")]
mod mirror_hostile;
#[cfg(feature = "bevy_reflect")]
mod mirror_model;
#[cfg(feature = "bevy_reflect")]
mod mirror_receive;
#[cfg(feature = "bevy_reflect")]
mod mirror_refused;
#[cfg(feature = "bevy_reflect")]
mod mirror_reloads;
#[cfg(feature = "serialize")]
mod mirror_runtime;
#[cfg(feature = "bevy_reflect")]
mod mirror_runtime_observers;
#[cfg(feature = "serialize")]
mod mirror_scene;
#[cfg(feature = "serialize")]
mod mirror_scene_observers;
mod model;
mod names;
mod names_random;
mod observed;
#[cfg(feature = "serialize")]
mod odd_names;
#[cfg(feature = "serialize")]
mod odd_places;
#[expect(dead_code, reason = "the comparison with Flecs uses more of it")]
mod oracle;
mod order;
mod ours;
mod pair_query;
mod pair_query_access;
mod pair_query_both_ends;
mod pair_query_lists;
mod pair_query_targets;
mod pairs_mut;
mod panics;
#[cfg(feature = "serialize")]
mod panics_reading;
#[cfg(feature = "serialize")]
mod panics_saving;
mod prefab_copies;
mod prefab_observers;
mod prefab_rules;
mod prefabs;
mod prefabs_kept;
mod prefabs_model;
#[cfg(feature = "serialize")]
mod prefabs_restored;
mod propagate;
mod propagated;
mod reads;
#[cfg(feature = "bevy_reflect")]
mod reflected;
mod removal_causes;
mod removed_pairs;
mod replacing;
mod rollups;
mod rollups_model;
mod scale;
mod scopes;
mod search;
mod smoke;
mod snapshots;
mod snapshots_empty;
mod snapshots_filters;
mod snapshots_missing;
mod snapshots_model;
#[cfg(feature = "serialize")]
mod snapshots_prefabs;
#[cfg(feature = "serialize")]
mod snapshots_refused;
mod snapshots_respawned;
#[cfg(feature = "serialize")]
mod snapshots_saves;
#[cfg(feature = "bevy_reflect")]
mod snapshots_types;
mod source_rules;
mod source_rules_model;
mod stale_plans;
mod storage;
mod storage_targets;
mod storage_up;
mod storages;
mod storm;
mod tag_destructors;
mod tags;
mod terms;
mod terms_access;
mod terms_below;
mod terms_change;
mod terms_compose;
mod terms_of_others;
mod terms_seen;
mod terms_up;
mod threads;
mod traits;
mod traits_text;
mod type_entities_random;
mod values;
mod verbs;
mod walks;
mod watched;
mod worlds;
#[cfg(feature = "serialize")]
mod worlds_mixed;
