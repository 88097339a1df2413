//! Operations that let rows pass or not.

use super::{
    Batch, Run,
    atom::Matcher,
    branch::ArmState,
    climb::Climber,
    view::{Value, View},
};
use crate::{
    expr::{
        bound::ListMode,
        plan::{Comparison, Filter, Position, Special, Stage},
    },
    relation::{CHILD_OF, IS_A, OnInstantiate, TAGGED},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{archetype::Archetype, component::ComponentId, entity::Entity};
use smallvec::{SmallVec, smallvec};

impl Filter {
    /// Removes the rows that do not pass, or writes a column. `own` is what the filter keeps for itself, `rows` a
    /// buffer.
    pub(super) fn apply(
        &self,
        own: &mut Option<Box<ArmState>>,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &mut Batch,
        stage: &Stage,
    ) {
        let view = run.view;
        match self {
            Self::Target { relation, source, out } => {
                let index = view.index(*relation);
                let found =
                    |batch: &Batch, row| index.first_target(batch.entity(*source, row)?).map(Value::new);
                write(batch, rows, stage, *out, found);
            }
            Self::Holder { climb, source, out } => {
                let mut climber = Climber::new(&view, run.masks, *climb);
                let found = |batch: &Batch, row| climber.holder(batch.entity(*source, row)?).map(Value::new);
                write(batch, rows, stage, *out, found);
            }
            Self::Child { parent, path, out } => {
                let found =
                    |batch: &Batch, row| view.child(batch.entity(*parent, row)?, path).map(Value::new);
                write(batch, rows, stage, *out, found);
            }
            Self::Set { column, value } => {
                write(batch, rows, stage, *column, |batch, row| Some(batch.value(*value, row)));
            }
            Self::Note { test, column } => {
                batch.fill(*column, Value::UNSET);
                test.collect(own, rows, run, batch);
                batch.mark(*column, Special::Number(0).into(), rows);
            }
            Self::Choose { tests, column } => {
                batch.fill(*column, Value::UNSET);
                for (number, test) in tests.iter().enumerate().rev() {
                    test.collect(own, rows, run, batch);
                    batch.mark(*column, Special::Number(number as u16).into(), rows);
                }
                select(batch, rows, |batch, row| !batch.columns[*column as usize][row].is_unset());
                batch.keep(&stage.columns, rows);
            }
            _ => {
                self.collect(own, rows, run, batch);
                batch.keep(&stage.columns, rows);
            }
        }
    }

    /// Collects the rows that pass.
    fn collect(
        &self,
        own: &mut Option<Box<ArmState>>,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &Batch,
    ) {
        let view = run.view;
        match self {
            Self::Mask { mask, entity } => {
                let mask = run.masks.get(*mask);
                select(batch, rows, |batch, row| {
                    batch.entity(*entity, row).is_some_and(|entity| mask.fits(&view, entity))
                });
            }
            Self::HasPair { relation, source, target, negated } => {
                let index = view.index(*relation);
                select(batch, rows, |batch, row| {
                    let ends = batch.entity(*source, row).zip(batch.entity(*target, row));
                    ends.is_some_and(|(source, target)| index.has(source, target)) != *negated
                });
            }
            Self::HasAny { relation, source, negated } => {
                let index = view.index(*relation);
                select(batch, rows, |batch, row| {
                    batch.entity(*source, row).is_some_and(|source| index.has_any(source)) != *negated
                });
            }
            Self::Exists { atom, negated } => {
                let (atoms, internal) = (&mut run.shared.atoms, run.internal);
                select(batch, rows, |batch, row| {
                    let value = |operand| batch.value(operand, row);
                    Matcher::new(view, atom, atoms, internal, value).exists() != *negated
                });
            }
            Self::Member { member, negated } => {
                let members = &mut run.shared.members;
                select(batch, rows, |batch, row| {
                    let source = batch.entity(member.source, row);
                    let value = source.and_then(|source| members.value(view.reads, member, source));
                    let wanted = match member.value {
                        Position::Known(operand) => batch.entity(operand, row) == value,
                        Position::Out(_) | Position::Any => true,
                    };
                    (value.is_some() && wanted) != *negated
                });
            }
            Self::Equal { left, right, negated } => {
                let found = match right {
                    Comparison::Path(path) => view.reads.lookup(None, path),
                    _ => None,
                };
                select(batch, rows, |batch, row| {
                    let left = batch.columns[*left as usize][row];
                    let equal = match right {
                        Comparison::Operand(operand) => batch.value(*operand, row) == left,
                        Comparison::Path(_) => found.is_some() && left.entity() == found,
                        Comparison::Part(part) => left
                            .entity()
                            .and_then(|entity| view.reads.name(entity))
                            .is_some_and(|name| contains_part(name, part)),
                    };
                    equal != *negated
                });
            }
            Self::Same { left, right } => {
                select(batch, rows, |batch, row| {
                    batch.columns[*left as usize][row] == batch.columns[*right as usize][row]
                });
            }
            Self::List { source, list, mode, negated } => {
                let unlisted = run.unlisted;
                select(batch, rows, |batch, row| {
                    let ends = batch.entity(*source, row).zip(batch.entity(*list, row));
                    let holds = |(source, list)| view.has_ids_of(source, list, *mode, unlisted);
                    ends.is_some_and(holds) != *negated
                });
            }
            Self::None(arm) => {
                let state = own.get_or_insert_with(|| Box::new(ArmState::new(arm, batch.columns.len())));
                state.find_hits(arm, run, batch);
                select(batch, rows, |_, row| !state.hits[row]);
            }
            Self::Nothing => rows.clear(),
            Self::Target { .. }
            | Self::Holder { .. }
            | Self::Child { .. }
            | Self::Set { .. }
            | Self::Note { .. }
            | Self::Choose { .. } => unreachable!("these write; see `apply`"),
        }
    }
}

/// Collects the rows that pass, without a branch: most filters pass rows at random.
#[inline]
fn select(batch: &Batch, rows: &mut Vec<u32>, mut passes: impl FnMut(&Batch, usize) -> bool) {
    rows.resize(batch.len, 0);
    let mut passed = 0;
    for row in 0..batch.len {
        rows[passed] = row as u32;
        passed += usize::from(passes(batch, row));
    }
    rows.truncate(passed);
}

/// Writes a column, and removes the rows for which there is nothing to write.
fn write(
    batch: &mut Batch,
    rows: &mut Vec<u32>,
    stage: &Stage,
    column: u16,
    mut find: impl FnMut(&Batch, usize) -> Option<Value>,
) {
    let mut values = core::mem::take(batch.column_mut(column));
    values.clear();
    select(batch, rows, |batch, row| {
        let found = find(batch, row);
        values.push(found.unwrap_or(Value::UNSET));
        found.is_some()
    });
    *batch.column_mut(column) = values;
    batch.keep(&stage.columns, rows);
}

impl View<'_> {
    /// Whether `source` has the ids of `list`, and of the lists that it is a kind of, which are not kept to itself.
    fn has_ids_of(&self, source: Entity, list: Entity, mode: ListMode, unlisted: &[ComponentId]) -> bool {
        if !self.is_alive(list) || !self.is_alive(source) {
            return false;
        }
        let (mut all, mut some, mut any) = (true, false, false);
        let mut lists: SmallVec<[Entity; 4]> = smallvec![list];
        let mut at = 0;
        while let Some(&list) = lists.get(at) {
            self.each_listed(source, list, unlisted, &mut |has| {
                any = true;
                all &= has;
                some |= has;
            });
            for base in self.targets(IS_A, list) {
                if !lists.contains(&base) {
                    lists.push(base);
                }
            }
            at += 1;
        }
        match mode {
            ListMode::All => all,
            ListMode::Some => some || !any,
            ListMode::None => !some,
        }
    }

    /// Tells of each id of `list` itself whether `source` has it.
    fn each_listed(&self, source: Entity, list: Entity, unlisted: &[ComponentId], see: &mut dyn FnMut(bool)) {
        let archetype = self.entities.get_spawned(list).ok();
        let archetype = archetype.and_then(|location| self.archetypes.get(location.archetype_id));
        let components = archetype.into_iter().flat_map(Archetype::components);
        for &component in components.filter(|component| !unlisted.contains(component)) {
            if self.is_listed_component(component) {
                see(self.has_component(source, component));
            }
        }
        for relation in self.store.relations_of(list) {
            let is_listed = |id| relation != CHILD_OF && self.is_listed(self.store.registry.entry(id).entity);
            if relation == TAGGED || is_listed(relation) {
                for target in self.targets(relation, list) {
                    if relation != TAGGED || self.is_listed(target) {
                        see(self.index(relation).has(source, target));
                    }
                }
            }
        }
    }

    /// Whether instances get the id, so that it counts as part of what an entity is made of.
    fn is_listed(&self, id: Entity) -> bool {
        let registry = &self.store.registry;
        let rule = registry.of_entity(id).map(|id| registry.entry(id).traits.instantiate_rule());
        rule != Some(OnInstantiate::DontInherit)
    }

    fn is_listed_component(&self, component: ComponentId) -> bool {
        let entity = self.value_of_component(component).entity();
        entity.is_none_or(|entity| self.is_listed(entity))
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
