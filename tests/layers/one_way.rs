//! One way into the store: pairs are changed by `PairWriter` alone.

use super::{Complaint, Source, assert_none, lines};

/// The module of `PairWriter`.
const WRITER: &str = "ops/mutate/writer";

/// What gives a mutable index, outside of the store, and what changes the pairs in one, or the values of a column.
const WRITES: &[&str] = &[
    "write_access",
    "fast_access",
    "tags_access",
    "fast_tags_access",
    "unlink_target",
    "retarget",
    "set_row",
    "stamp",
    "insert_value",
    "replace_value",
    "remove_value",
];

/// Changes of the store that pass `PairWriter` by.
fn check_writes(source: &Source) -> Vec<Complaint> {
    let part = source.module.strip_prefix(WRITER);
    if ["store", "relation"].contains(&source.top())
        || part.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    {
        return Vec::new();
    }
    let writes = WRITES.iter().flat_map(|word| source.words(word).map(move |end| (end, word)));
    writes.map(|(end, word)| source.complaint(end, format!("`{word}` is for `{WRITER}`"))).collect()
}

/// Changes of what is known of relations and entities outside of `ops`.
fn check_roles(source: &Source) -> Vec<Complaint> {
    if ["store", "relation", "ops"].contains(&source.top()) {
        return Vec::new();
    }
    let writes = ["registry_mut", "participants_mut"].into_iter();
    let writes = writes.flat_map(|word| source.words(word).map(move |end| (end, word)));
    writes.map(|(end, word)| source.complaint(end, format!("`{word}` is for `ops`"))).collect()
}

#[test]
fn there_is_one_way_into_the_store() {
    assert_none(check_writes);
}

#[test]
fn what_is_known_of_relations_and_participants_is_changed_by_ops_alone() {
    assert_none(check_roles);
    let text = "store.participants_mut().remove(entity);";
    assert_eq!(lines(check_roles, "expr/bind/mod", text), [1]);
    assert_eq!(lines(check_roles, "ops/lifecycle/cleanup", text), []);
}

#[test]
fn the_checker_finds_what_passes_the_writer_by() {
    let text = "
let (index, _) = store.write_access(id);
column.insert_value(world, value);
// store.write_access(id)
writer.insert(pair, None, tick); rewrite_access(id);
index.set_row(source, target, row);
";
    assert_eq!(lines(check_writes, "ops/lifecycle/cleanup", text), [2, 6, 3]);
    assert_eq!(lines(check_writes, "store/index", text), []);
    assert_eq!(lines(check_writes, WRITER, text), []);
    assert_eq!(lines(check_writes, "ops/mutate/writer/together", text), []);
    assert_eq!(lines(check_writes, "ops/mutate/writers", text), [2, 6, 3]);
}
