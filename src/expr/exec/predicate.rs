//! Letting rows pass or not.

use super::{Batch, Own, Run, atom::Matcher, branch::lacks_any, buffers::AtomBuffers, mask::Fit};
use crate::{
    expr::plan::{Comparison, Operand, Position, Predicate, Stage},
    store::{Reader, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

impl Predicate {
    /// Removes the rows that do not pass. `rows` is a buffer.
    pub(super) fn apply(
        &self,
        own: &mut Own,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &mut Batch,
        stage: &Stage,
    ) {
        self.collect(own, rows, run, batch, stage);
        batch.keep(&stage.columns, rows);
    }

    /// Collects the rows that pass.
    pub(super) fn collect(
        &self,
        own: &mut Own,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &Batch,
        stage: &Stage,
    ) {
        let view = run.view;
        match self {
            &Self::Mask { mask, entity: Operand::Entity(constant) } => {
                let fits = run.masks.get(mask).fits_constant(&view, constant);
                select(batch.len, rows, |_| fits);
            }
            Self::Mask { mask, entity } => match run.fit(*mask, batch.len, stage) {
                Fit::All => select_by(batch, rows, *entity, false, |_| true),
                Fit::In(set) => select_by(batch, rows, *entity, false, |entity| set.contains(entity)),
                Fit::NotIn(set) => select_by(batch, rows, *entity, false, |entity| !set.contains(entity)),
                Fit::Archetype(mask) => {
                    select_by(batch, rows, *entity, false, |entity| mask.fits(&view, entity));
                }
            },
            Self::HasPair { relation, source, target, negated } => {
                has(view.index(*relation), batch, rows, (*source, *target), *negated);
            }
            Self::HasTag { source, tag, negated } => {
                let tags = view.tags();
                has(tags, batch, rows, (*source, Operand::Entity(*tag)), *negated);
            }
            Self::HasAny { relation, source, negated } => {
                match view.index(*relation).reader(stage.compares(run, *relation, *source)) {
                    Reader::Exclusive(mut reader) => {
                        select_by(batch, rows, *source, *negated, |source| reader.has_any(source));
                    }
                    Reader::Many(mut reader) => {
                        select_by(batch, rows, *source, *negated, |source| reader.has_any(source));
                    }
                }
            }
            Self::HasAnyRelation { source, target, negated } => {
                let has = |source| view.is_alive(source) && view.has_any_relation(source, *target);
                select_by(batch, rows, *source, *negated, has);
            }
            Self::Reaches { relation, source, target, negated } => {
                let (atoms, index) = (&mut run.shared.atoms, view.index(relation.id));
                let AtomBuffers { leads, steps, limit, .. } = &mut *atoms;
                if let (true, false, &Operand::Entity(to)) = (relation.transitive, relation.reflexive, target)
                    && let Some(mut toward) = leads.toward(&view, relation.id, to)
                {
                    *steps += batch.len as u64;
                    let follows = |source| *steps <= *limit && toward.is_reached(source, steps);
                    return select_by(batch, rows, *source, *negated, follows);
                }
                select(batch.len, rows, |row| {
                    if atoms.is_over() {
                        return false;
                    }
                    let ends = batch.entity(*source, row).zip(batch.entity(*target, row));
                    let mut follows = |source, target| {
                        let (found, steps) = atoms.leads.reaches(&view, relation.id, source, target);
                        atoms.steps += steps;
                        found
                    };
                    let holds = |(source, target)| {
                        view.is_alive(source)
                            && ((relation.reflexive && source == target)
                                || index.has(source, target)
                                || (relation.transitive && follows(source, target)))
                    };
                    ends.is_some_and(holds) != *negated
                });
            }
            Self::SemiJoin { atom, negated } => {
                let (atoms, internal) = (&mut run.shared.atoms, run.internal);
                select(batch.len, rows, |row| {
                    if atoms.is_over() {
                        return false;
                    }
                    let value = |operand| batch.value(operand, row);
                    Matcher::new(view, atom, atoms, internal, value).exists() != *negated
                });
            }
            Self::Member { member, negated } => {
                let members = &mut run.shared.members;
                select(batch.len, rows, |row| {
                    let source = batch.entity(member.source, row);
                    let value = source.and_then(|source| members.value(view.access, member, source));
                    let wanted = match member.value {
                        Position::Known(operand) => batch.entity(operand, row) == value,
                        Position::Out(_) | Position::Any => true,
                    };
                    (value.is_some() && wanted) != *negated
                });
            }
            Self::Keyed { keyed, negated } => {
                let pairs = keyed.of.as_ref().and_then(|(relation, key)| view.keyed_pairs(*relation, key));
                let atoms = &mut run.shared.atoms;
                select(batch.len, rows, |row| {
                    let Some(pairs) = &pairs else { return *negated };
                    let Some(source) = batch.entity(keyed.source, row) else { return *negated };
                    let found = match keyed.target {
                        Some(target) => {
                            let target = batch.entity(target, row);
                            target.is_some_and(|target| pairs.has(source, target))
                        }
                        None => pairs.has_any(source, &mut atoms.steps),
                    };
                    found != *negated
                });
            }
            Self::Value { value, negated } => {
                let mut reader = run.shared.values.reader(view.access, value);
                select(batch.len, rows, |row| {
                    let target = value.pair.map(|(_, target)| batch.entity(target, row));
                    let mut holds =
                        |source| reader.as_mut().is_some_and(|reader| reader.holds(source, target));
                    batch.entity(value.source, row).is_some_and(&mut holds) != *negated
                });
            }
            Self::Equal { left, right, negated } => {
                let found = match right {
                    Comparison::Path(path) => view.access.lookup(None, path),
                    _ => None,
                };
                select(batch.len, rows, |row| {
                    let left = batch.columns[*left as usize][row];
                    let equal = match right {
                        Comparison::Everything => left.entity().is_some(),
                        Comparison::Operand(operand) => batch.value(*operand, row) == left,
                        Comparison::Path(_) => found.is_some() && left.entity() == found,
                        Comparison::Part(part) => left
                            .entity()
                            .and_then(|entity| view.access.name(entity))
                            .is_some_and(|name| contains_part(name, part)),
                    };
                    equal != *negated
                });
            }
            Self::Same { left, right } => {
                select(batch.len, rows, |row| {
                    batch.columns[*left as usize][row] == batch.columns[*right as usize][row]
                });
            }
            Self::List { source, list, mode, negated } => {
                let (unlisted, atoms) = (run.unlisted, &mut run.shared.atoms);
                select(batch.len, rows, |row| {
                    let ends = batch.entity(*source, row).zip(batch.entity(*list, row));
                    let steps = &mut atoms.steps;
                    let holds = |(source, list)| view.has_ids_of(source, list, *mode, unlisted, steps);
                    ends.is_some_and(holds) != *negated
                });
            }
            Self::AreSet { set, unset } => select(batch.len, rows, |row| {
                !lacks_any(batch, set, row) && unset.iter().all(|&column| lacks_any(batch, &[column], row))
            }),
            Self::AntiJoin { sub_plan, skipped } => {
                let is_empty =
                    |row| !skipped.is_empty() && skipped.iter().all(|columns| lacks_any(batch, columns, row));
                let state = own.sub_plan(sub_plan, batch.columns.len());
                state.find_hits(sub_plan, run, batch, |row| !is_empty(row));
                select(batch.len, rows, |row| !state.hits[row]);
            }
            Self::Never => rows.clear(),
        }
    }
}

/// Collects the rows that pass, without a branch: most filters pass rows at random.
#[inline]
pub(super) fn select(len: usize, rows: &mut Vec<u32>, mut passes: impl FnMut(usize) -> bool) {
    rows.resize(len, 0);
    // A slice, since a vector's pointer would be read for each row.
    let (numbers, mut passed) = (&mut rows[..len], 0);
    for row in 0..len {
        numbers[passed] = row as u32;
        passed += usize::from(passes(row));
    }
    rows.truncate(passed);
}

/// Collects the rows of which one entity passes a test, or those of which it does not.
#[inline]
pub(super) fn select_by(
    batch: &Batch,
    rows: &mut Vec<u32>,
    operand: Operand,
    negated: bool,
    mut holds: impl FnMut(Entity) -> bool,
) {
    let constant = match operand {
        Operand::Entity(entity) => holds(entity),
        Operand::Nothing => false,
        Operand::Column(column) => {
            let values = &batch.columns[column as usize][..batch.len];
            select(values.len(), rows, |row| values[row].entity().is_some_and(&mut holds) != negated);
            return;
        }
    };
    let all = if constant != negated { batch.len } else { 0 };
    rows.clear();
    rows.extend(0..all as u32);
}

/// Collects the rows in which two entities have a pair in an index, or have not.
fn has(
    index: &RelationIndex,
    batch: &Batch,
    rows: &mut Vec<u32>,
    (source, target): (Operand, Operand),
    negated: bool,
) {
    match (index.reader(true), target) {
        (Reader::Exclusive(mut reader), Operand::Entity(target)) => {
            select_by(batch, rows, source, negated, |source| reader.has(source, target));
        }
        (Reader::Many(mut reader), Operand::Entity(target)) => {
            select_by(batch, rows, source, negated, |source| reader.has(source, target));
        }
        (_, Operand::Column(_) | Operand::Nothing) => {
            select(batch.len, rows, |row| {
                let ends = batch.entity(source, row).zip(batch.entity(target, row));
                ends.is_some_and(|(source, target)| index.has(source, target)) != negated
            });
        }
    }
}

/// Whether the name contains a part that is in lower case; one that starts with `!` must not be contained.
fn contains_part(name: &str, part: &str) -> bool {
    let (negated, part) = match part.strip_prefix('!') {
        Some(part) => (true, part),
        None => (false, part),
    };
    let contains = part.is_empty()
        || name.char_indices().any(|(start, _)| {
            let mut rest = name[start..].chars().flat_map(char::to_lowercase);
            part.chars().all(|c| rest.next() == Some(c))
        });
    contains != negated
}
