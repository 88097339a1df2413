//! Answers as text.

use crate::graph::{Answers, Graph, Summary};
use bevy_ecs::entity::Entity;
use std::path::Path;

/// A heading, and what there is to say of all packages.
pub(crate) fn summary(graph: &Graph, path: &Path, summary: &Summary) -> String {
    let Summary { packages, dependencies, origins, chain, several_versions } = summary;
    let mut text = format!("{}: {packages} packages, {dependencies} dependencies\n", path.display());
    for &(origin, count) in origins {
        text += &format!("  {count} from {}\n", graph.name(origin));
    }
    text += &format!("  in several versions: {}\n", or_none(&several_versions.join(", ")));
    text += &format!("  the longest chain has {} packages\n", chain.len());
    text += &format!("    {}\n", path_text(graph, chain));
    text += &format!("  dependencies left out, since they close a cycle: {}\n", graph.cycles.len());
    for cycle in &graph.cycles {
        text += &format!("    {}\n", path_text(graph, cycle.entities()));
    }
    text
}

/// What there is to say of one package; no more than `limit` names per list.
pub(crate) fn package(
    graph: &Graph,
    package: Entity,
    answers: &Answers,
    gone: &[Entity],
    limit: usize,
) -> String {
    let mut text = format!("{}, level {}\n", graph.name(package), answers.level);
    // What is despawned goes last.
    let lists = [
        ("depends directly on", &*answers.needs_directly, ""),
        ("depends in all on", &answers.needs, ""),
        ("is needed directly by", &answers.direct_dependents, ""),
        ("is needed in all by", &answers.dependents, ""),
        ("despawned, it takes along", &gone[..gone.len() - 1], ", in this order"),
    ];
    for (heading, entities, tail) in lists {
        text += &format!("  {heading} {}{tail}\n", entities.len());
        for &entity in entities.iter().take(limit) {
            text += &format!("    {}\n", graph.name(entity));
        }
        if entities.len() > limit {
            text += &format!("    ... and {} more\n", entities.len() - limit);
        }
    }
    text
}

fn path_text(graph: &Graph, path: &[Entity]) -> String {
    let names: Vec<_> = path.iter().map(|&entity| graph.name(entity)).collect();
    names.join(" -> ")
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
