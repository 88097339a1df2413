//! What the workloads are called, and what they do.

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Memory.
    Bytes,
}

impl Unit {
    /// Its sign.
    pub fn per_element(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
        }
    }
}

/// What there is to say about a workload.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// [`Workload::id`](crate::Workload::id).
    pub id: &'static str,
    /// Workloads of one family stand together, and share a plot.
    pub family: &'static str,
    /// The work per element.
    pub work: &'static str,
    /// Whether the summary shows it.
    pub headline: bool,
    /// What is compared.
    pub unit: Unit,
}

impl Entry {
    const fn new(family: &'static str, id: &'static str, work: &'static str) -> Self {
        Self { id, family, work, headline: false, unit: Unit::Nanoseconds }
    }

    const fn headline(mut self) -> Self {
        self.headline = true;
        self
    }

    const fn bytes(mut self) -> Self {
        self.unit = Unit::Bytes;
        self
    }
}

/// Every workload, in the order of the report.
pub const CATALOG: &[Entry] = &[
    Entry::new("add", "insert_remove", "insert a tag pair and remove it, all with one target").headline(),
    Entry::new("add", "insert_remove_spread", "insert a tag pair and remove it, 1,000 targets"),
    Entry::new(
        "add",
        "insert_remove_fresh",
        "insert a tag pair and remove it, each with a new target of its own",
    )
    .headline(),
    Entry::new("add", "insert_remove_value", "insert a pair with a value and remove it, all with one target"),
    Entry::new(
        "add",
        "insert_remove_symmetric",
        "insert a tag pair with its other direction and remove both, 1,000 targets",
    )
    .headline(),
    Entry::new("add", "insert_remove_with", "insert a tag pair that another one comes with, and remove it")
        .headline(),
    Entry::new("add", "insert_remove_ends", "insert a tag pair whose source must have a component, and remove it")
        .headline(),
    Entry::new("add", "insert_remove_70", "insert a tag pair of the 70th relation of a world and remove it"),
    Entry::new("add", "insert_remove_ticks", "insert a tag pair and remove it, while the time of insertion is kept"),
    Entry::new(
        "add",
        "insert_remove_observed_other",
        "insert a tag pair and remove it, while insertions of another relation are observed",
    ),
    Entry::new(
        "add",
        "insert_remove_observed",
        "insert a tag pair, which is observed by one, and remove it",
    ),
    Entry::new("add", "insert_remove_observed_10", "insert a tag pair, which is observed by ten, and remove it"),
    Entry::new("add", "commands", "insert a tag pair and remove it, through commands").headline(),
    Entry::new("retarget", "retarget", "give an exclusive pair another one of 1,000 targets").headline(),
    Entry::new("retarget", "exclusive_values", "the same, each pair with a value").headline(),
    Entry::new("retarget", "move_sources", "give all 100 sources of a target to another target").headline(),
    Entry::new("read", "has_pair", "has (R, T), entities in random order").headline(),
    Entry::new("read", "has_any", "has (R, *), entities in random order"),
    Entry::new("read", "first_target", "the first target, entities in random order").headline(),
    Entry::new("read", "all_targets", "all 8 targets, entities in random order").headline(),
    Entry::new("read", "value_get", "the value of a pair, entities in random order").headline(),
    Entry::new("read", "value_read", "`&mut A` of each source with the value of its pair, 1,000 targets").headline(),
    Entry::new("read", "value_write", "the value of each pair, written in place, 1,000 targets").headline(),
    Entry::new("spawn", "spawn", "spawn with two components and a pair").headline(),
    Entry::new("spawn", "spawn_commands", "spawn with two components and a pair, through commands"),
    Entry::new(
        "spawn",
        "spawn_batch",
        "spawn with two components and a pair, in one call where there is one",
    )
    .headline(),
    Entry::new("despawn", "despawn_tree", "despawn a tree, five children per node, from its root").headline(),
    Entry::new("despawn", "despawn_child_of", "despawn a tree of `ChildOf` with Bevy's verb"),
    Entry::new("despawn", "despawn_target", "despawn the target of all pairs; the sources stay").headline(),
    Entry::new("despawn", "despawn_former", "despawn entities that had a pair once").headline(),
    Entry::new("despawn", "despawn_hub", "despawn random sources of one target").headline(),
    Entry::new("despawn", "unlink_hub", "remove the pair of random sources of one target"),
    Entry::new("children", "children_10", "visit the sources of each target, 10 per target").headline(),
    Entry::new(
        "children",
        "children_10_shuffled",
        "visit the sources of each target, 10 per target, at random places",
    )
    .headline(),
    Entry::new("children", "children_1000", "visit the sources of each target, 1,000 per target"),
    Entry::new(
        "children",
        "children_1000_shuffled",
        "visit the sources of each target, 1,000 per target, at random places",
    ),
    Entry::new("children", "children_100000", "visit the sources of each target, 100,000 per target"),
    Entry::new(
        "children",
        "children_100000_shuffled",
        "visit the sources of each target, 100,000 per target, at random places",
    )
    .headline(),
    Entry::new("wildcard", "wildcard_1", "(R, *) with a position that is written: 1 target").headline(),
    Entry::new("wildcard", "wildcard_10", "(R, *) with a position that is written: 10 targets"),
    Entry::new("wildcard", "wildcard_1000", "(R, *) with a position that is written: 1,000 targets")
        .headline(),
    Entry::new("wildcard", "wildcard_tenth", "(R, *) with a position that is written: 10 sources per target")
        .headline(),
    Entry::new("filter", "related", "entities that have a pair, in runs of 100").headline(),
    Entry::new("filter", "related_mixed", "entities that have a pair, at random"),
    Entry::new("up", "up_4", "a leaf with data of its root, 4 levels, 10 leaves per parent"),
    Entry::new("up", "up_16", "a leaf with data of its root, 16 levels, 10 leaves per parent").headline(),
    Entry::new("up", "up_64", "a leaf with data of its root, 64 levels, 10 leaves per parent"),
    Entry::new("up", "up_16_lone", "a leaf with data of its root, 16 levels, a parent for each leaf")
        .headline(),
    Entry::new("up", "up_16_wide", "a leaf with data of its root, 16 levels, 1,000 leaves per parent"),
    Entry::new("up", "up_moved", "a leaf with data of its root, 16 levels, after 100 parents moved")
        .headline(),
    Entry::new(
        "up",
        "up_moved_wide",
        "a leaf with data of its root, 1,000 leaves per parent, after 100 parents moved",
    ),
    Entry::new("up", "up_chains", "a leaf with data of its root, chains of 4, half of them have it")
        .headline(),
    Entry::new("up", "up_plain", "the same, without anything kept from run to run").headline(),
    Entry::new("cascade", "cascade", "the matrix of a node times its parent's, roots first").headline(),
    Entry::new(
        "cascade",
        "cascade_shuffled",
        "the matrix of a node times its parent's, nodes at random places",
    )
    .headline(),
    Entry::new(
        "cascade",
        "cascade_churn",
        "the matrix of a node times its parent's; a hundredth despawned, moved and spawned first",
    ),
    Entry::new(
        "cascade",
        "cascade_parallel",
        "the matrix of a node times its parent's, on several threads, by the clock",
    ),
    Entry::new("cascade", "transforms", "Bevy's `GlobalTransform` of moving nodes, by the clock").headline(),
    Entry::new(
        "cascade",
        "transforms_few",
        "Bevy's `GlobalTransform` when a hundredth of the nodes moves, by the clock",
    )
    .headline(),
    Entry::new("inherit", "inherit_1", "an instance with data of its prefab").headline(),
    Entry::new("inherit", "inherit_2", "an instance with data of its prefab's prefab"),
    Entry::new("inherit", "inherit_16", "an instance with data of a prefab 16 steps away").headline(),
    Entry::new("inherit", "inherit_get_1", "get data of its prefab through an instance, instances in random order")
        .headline(),
    Entry::new("inherit", "inherit_get_2", "get data of its prefab's prefab through an instance"),
    Entry::new("inherit", "inherit_get_16", "get data of a prefab 16 steps away through an instance"),
    Entry::new(
        "prefabs",
        "instantiate",
        "an instance of a prefab with 10 children, two components each; a component of its own and a shared one",
    )
    .headline(),
    Entry::new("snapshots", "snapshot_take", "copy all pairs, two per entity, per pair").headline(),
    Entry::new("snapshots", "snapshot_again", "copy all pairs again, when nothing has changed, per pair"),
    Entry::new(
        "snapshots",
        "snapshot_apply",
        "make all pairs what they were, when a hundredth of the entities has other ones, per pair",
    )
    .headline(),
    Entry::new("snapshots", "snapshot_load", "give all pairs back to entities that have none, per pair")
        .headline(),
    Entry::new("snapshots", "snapshot_load_values", "the same, each pair with a value"),
    Entry::new(
        "mirror",
        "mirrored",
        "insert a tag pair, the first of its source, that a component of the source shows",
    ),
    Entry::new(
        "mirror",
        "mirrored_second",
        "insert a tag pair, the second of its source, that a component of the source shows",
    ),
    Entry::new("names", "names_1", "find an entity without a parent by its name").headline(),
    Entry::new("names", "names_10", "find an entity by a path of 10 names"),
    Entry::new("names", "names_100", "find an entity by a path of 100 names").headline(),
    Entry::new("names", "names_renamed", "give an entity another name, and find it by a path of 10 names"),
    Entry::new("expressions", "expr_vars", "`Ship, (DockedTo, $p), Planet($p)`, 10 ships per place")
        .headline(),
    Entry::new("expressions", "expr_vars_tagged", "the same, a tag of its own on each ship"),
    Entry::new("expressions", "expr_ships", "`Ship, (DockedTo, $p), Planet($p)`, 100 ships per place")
        .headline(),
    Entry::new("expressions", "expr_triangle", "`(Likes, $x), Likes($x, $y), Likes($y, $this)`, per pair")
        .headline(),
    Entry::new(
        "expressions",
        "expr_triangle_skewed",
        "`(Likes, $x), Likes($x, $y), Likes($y, $this)`, most pairs with few entities",
    )
    .headline(),
    Entry::new("expressions", "expr_closure", "`City, (LocatedIn, earth)`, transitive, four levels")
        .headline(),
    Entry::new(
        "expressions",
        "expr_closure_edited",
        "`City, (LocatedIn, earth)`, transitive, a place moved before each run",
    )
    .headline(),
    Entry::new("expressions", "expr_chains", "`Planet(up R)`, one above the other, half match"),
    Entry::new("expressions", "expr_up_4", "`A, B(up R)`, 4 levels up"),
    Entry::new("expressions", "expr_up_16", "`A, B(up R)`, 16 levels up"),
    Entry::new("expressions", "expr_not", "`A, !(R, *)`, 10 targets").headline(),
    Entry::new("expressions", "expr_not_spread", "the same, 10,000 targets"),
    Entry::new("expressions", "expr_optional", "`A, ?(R, *)`, 10 targets"),
    Entry::new("expressions", "expr_optional_spread", "the same, 10,000 targets"),
    Entry::new("expressions", "expr_or", "`A, B || (R, x)`, 10 targets"),
    Entry::new("expressions", "expr_or_spread", "the same, 10,000 targets"),
    Entry::new("expressions", "expr_any_relation", "`A, (*, x)`, three relations, 10 targets, per `A`"),
    Entry::new("expressions", "expr_each_pair", "`A, (*, $t)`, the same"),
    Entry::new("expressions", "expr_no_pair", "`A, !(*, *)`, the same"),
    Entry::new("expressions", "expr_plain", "`A, B`, two components").headline(),
    Entry::new("expressions", "expr_value", "`Health.hp < 10`, 100 hits, nothing written since").headline(),
    Entry::new("expressions", "expr_value_written", "the same, one in a hundred written since"),
    Entry::new("expressions", "expr_plain_unrelated", "`A, B`, two components of entities without pairs"),
    Entry::new("expressions", "expr_compile", "reading and compiling five terms, per expression"),
    Entry::new("live", "live_iterate", "`A, (R, $p), B($p)`, kept, nothing has changed").headline(),
    Entry::new("live", "live_changed", "the same, after a hundredth of the pairs has changed").headline(),
    Entry::new("live", "live_not", "`A, !(R, x)`, kept, a hundredth of the pairs changed"),
    Entry::new("live", "live_optional", "`A, ?(R, $p)`, kept, a hundredth of the pairs changed"),
    Entry::new("live", "live_or", "`A, B || (R, x)`, kept, a hundredth of the pairs changed"),
    Entry::new("live", "live_scope", "`A, !{ (R, $p), B($p) }`, kept, a hundredth of the pairs changed"),
    Entry::new("live", "live_up", "`A, B(up R)`, 16 levels up, kept, a hundredth of the leaves moved").headline(),
    Entry::new("live", "live_cascade", "`A, B(cascade R)`, 16 levels up, kept, a hundredth of the leaves moved"),
    Entry::new("live", "live_transitive", "`A, (R, x)`, transitive, kept, a hundredth of the leaves moved"),
    Entry::new("live", "live_is_a", "`A, B(up IsA)`, kept, a hundredth of the instances has another base"),
    Entry::new("live", "live_few", "`A, (R, $p), B($p)`, found anew after 100 pairs have changed, per update"),
    Entry::new("live", "live_monitor", "a pair that comes or goes, and a function that is told of the row").headline(),
    Entry::new(
        "live",
        "live_idle",
        "insert a pair and remove it, while 1,000 expressions about other relations are kept",
    ),
    Entry::new(
        "live",
        "rollup_leaf",
        "the sums of a tree, 16 levels, after a leaf has another value, per update",
    )
    .headline(),
    Entry::new("live", "rollup_in_place", "the same, the value written in place: all ticks are looked at"),
    Entry::new("joins", "pair_query", "`&mut A` of each source with `&B` of its target; targets in four tables")
        .headline(),
    Entry::new("joins", "pair_query_parallel", "the same on several threads, by the clock"),
    Entry::new(
        "joins",
        "pair_query_both",
        "`&mut A` of each source with `&mut B` of its target; targets in four tables",
    ),
    Entry::new(
        "joins",
        "pair_query_several",
        "`&mut A` of each source with `&B` of each of its three targets, per pair; targets in four tables",
    ),
    Entry::new("joins", "expr_read", "`A, (R, $t)`, `A` read through each row").headline(),
    Entry::new("joins", "expr_write", "`A, (R, $t)`, `A` written through each row").headline(),
    Entry::new("joins", "expr_write_lacking", "`A, !(R, *)`, `A` written, half match").headline(),
    Entry::new("typed", "related_with", "a source whose target has a component").headline(),
    Entry::new("typed", "added_pair", "a source, of which a hundredth got another target since the last run").headline(),
    Entry::new("typed", "changed_below", "a root below which something was written, a hundredth of the nodes, per node")
        .headline(),
    Entry::new("typed", "islands", "insert a pair while islands are tracked, ten entities each").headline(),
    Entry::new(
        "game",
        "game_frame",
        "a frame of 50k ships and 50k nodes, of which a hundredth changes; one system for each of the next rows",
    )
    .headline(),
    Entry::new("game", "game_churn", "despawn, spawn, link anew and move nodes, per change"),
    Entry::new("game", "game_targets", "a ship with its target"),
    Entry::new("game", "game_pair_query", "a ship with data of its target"),
    Entry::new("game", "game_cascade", "the place of a node with its parent's, roots first"),
    Entry::new("game", "game_up", "a node with data of the nearest node above that has it"),
    Entry::new("game", "game_expression", "`Ship, (DockedTo, $d), Depot($d), !Closed($d)` with a number written"),
    Entry::new("plugin", "plugin_spawn", "spawn a node of a tree of `ChildOf`, with our plugin and without")
        .headline(),
    Entry::new("plugin", "plugin_move", "give a node of `ChildOf` another parent, with our plugin and without")
        .headline(),
    Entry::new("plugin", "plugin_despawn", "despawn a tree of `ChildOf`, per node, with our plugin and without")
        .headline(),
    Entry::new("plugin", "plugin_frame", "an empty frame, with our plugin and without").headline(),
    Entry::new("memory", "memory", "bytes of a pair, 1,000 targets").bytes().headline(),
    Entry::new("memory", "memory_lone", "bytes of a pair, a target each").bytes().headline(),
    Entry::new("memory", "memory_second", "bytes of a pair, where entities have pairs of another relation")
        .bytes(),
    Entry::new("memory", "memory_spawn", "bytes of an entity with two components and a pair").bytes(),
    Entry::new("memory", "memory_churn", "bytes left of a pair, a target each, when all are gone").bytes().headline(),
    Entry::new("huge", "huge_insert", "insert a tag pair, 1,000 targets; run once").headline(),
    Entry::new(
        "huge",
        "huge_peak",
        "bytes at the peak of a process, for an entity with two components and a pair; run once",
    )
    .bytes()
    .headline(),
];

/// What there is to say about a workload; one that is not listed is a family of its own.
pub fn entry(id: &str) -> &'static Entry {
    const UNKNOWN: Entry = Entry::new("other", "", "");
    CATALOG.iter().find(|entry| entry.id == id).unwrap_or(&UNKNOWN)
}
