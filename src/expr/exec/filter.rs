//! Operations that let rows pass or not.

use super::{
    Batch, Run,
    atom::Matcher,
    branch::{ArmState, lacks_any},
    climb::{Climber, Holders, Test},
    mask::Fit,
};
use crate::{
    expr::{
        bind::ListMode,
        eval::{Special, Value, View},
        plan::{Arm, Column, Comparison, Filter, HolderTest, Operand, Position, Stage},
    },
    id::RelationId,
    relation::{CHILD_OF, IS_A, OnInstantiate, TAGGED},
    store::Reader,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{archetype::Archetype, component::ComponentId, entity::Entity};
use smallvec::{SmallVec, smallvec};

/// What a filter keeps for itself.
#[derive(Default)]
pub(crate) enum Own {
    #[default]
    Nothing,
    Arm(Box<ArmState>),
    Holders(Box<Holders>),
}

impl Own {
    fn arm(&mut self, arm: &Arm, columns: usize) -> &mut ArmState {
        if !matches!(self, Self::Arm(_)) {
            *self = Self::Arm(Box::new(ArmState::new(arm, columns)));
        }
        let Self::Arm(state) = self else { unreachable!("made above") };
        state
    }

    fn holders(&mut self) -> &mut Holders {
        if !matches!(self, Self::Holders(_)) {
            *self = Self::Holders(Box::default());
        }
        let Self::Holders(holders) = self else { unreachable!("made above") };
        holders
    }
}

impl Filter {
    /// Removes the rows that do not pass, or writes a column. `rows` is a buffer.
    pub(super) fn apply(
        &self,
        own: &mut Own,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &mut Batch,
        stage: &Stage,
    ) {
        let view = run.view;
        match self {
            Self::Target { relation, source, out } => {
                let index = view.index(*relation);
                match index.exclusive_reader() {
                    Some(mut reader) => {
                        write_of(batch, rows, stage, *source, *out, |source| reader.target(source));
                    }
                    None => write_of(batch, rows, stage, *source, *out, |source| index.first_target(source)),
                }
            }
            Self::TargetIfAny { relation, source, out, none, set } => {
                let Some(mut reader) = view.index(*relation).exclusive_reader() else { return };
                batch.fill(*out, (*none).into());
                batch.fill(*set, Value::UNSET);
                // Half of them may have none, in any order: so they are sorted out first.
                select_by(batch, rows, *source, false, |source| reader.has_any(source));
                for &row in &*rows {
                    let source = batch.entity(*source, row as usize);
                    if let Some(target) = source.and_then(|source| reader.target(source)) {
                        batch.column_mut(*out)[row as usize] = Value::new(target);
                    }
                }
                batch.mark(*set, Special::Number(0).into(), rows);
            }
            Self::Holder { climb, source, out } => {
                let (round, left) = (run.shared.round, run.shared.steps_left);
                let test = match climb.test {
                    HolderTest::Mask(mask) => Test::Fit(run.fit(mask, batch.len, stage)),
                    HolderTest::Tag(tag) => Test::Tag(view.index(TAGGED), tag),
                };
                match Climber::new(view, *climb, test, own.holders(), round, left) {
                    Some(mut climber) => {
                        write_of(batch, rows, stage, *source, *out, |source| climber.holder(source));
                        run.shared.atoms.steps += climber.steps;
                    }
                    // The plan is made anew if the relation becomes another.
                    None => batch.keep(&stage.columns, &[]),
                }
            }
            Self::Child { parent, path, out } => {
                write_of(batch, rows, stage, *parent, *out, |parent| view.child(parent, path));
            }
            Self::Set { column, value } => {
                let mut values = core::mem::take(batch.column_mut(*column));
                values.clear();
                values.extend((0..batch.len).map(|row| batch.value(*value, row)));
                *batch.column_mut(*column) = values;
                let exists = match value {
                    Operand::Entity(entity) => view.is_alive(*entity),
                    Operand::Column(_) => true,
                    Operand::Nothing => false,
                };
                if !exists {
                    batch.keep(&stage.columns, &[]);
                }
            }
            Self::Note { test, column } => {
                batch.fill(*column, Value::UNSET);
                test.collect(own, rows, run, batch, stage);
                batch.mark(*column, Special::Number(0).into(), rows);
            }
            Self::Choose { tests, column } => {
                batch.fill(*column, Value::UNSET);
                for (number, test) in tests.iter().enumerate().rev() {
                    test.collect(own, rows, run, batch, stage);
                    batch.mark(*column, Special::Number(number as u16).into(), rows);
                }
                select(batch.len, rows, |row| !batch.columns[*column as usize][row].is_unset());
                batch.keep(&stage.columns, rows);
            }
            _ => {
                self.collect(own, rows, run, batch, stage);
                batch.keep(&stage.columns, rows);
            }
        }
    }

    /// Collects the rows that pass.
    fn collect(
        &self,
        own: &mut Own,
        rows: &mut Vec<u32>,
        run: &mut Run<'_, '_>,
        batch: &Batch,
        stage: &Stage,
    ) {
        let view = run.view;
        match self {
            Self::Mask { mask, entity } => match run.fit(*mask, batch.len, stage) {
                Fit::All => select_by(batch, rows, *entity, false, |_| true),
                Fit::In(set) => select_by(batch, rows, *entity, false, |entity| set.contains(entity)),
                Fit::NotIn(set) => select_by(batch, rows, *entity, false, |entity| !set.contains(entity)),
                Fit::Archetype(mask) => {
                    select_by(batch, rows, *entity, false, |entity| mask.fits(&view, entity));
                }
            },
            Self::HasPair { relation, source, target, negated } => {
                has_pair(view, batch, rows, (*relation, *source, *target), *negated);
            }
            Self::HasAny { relation, source, negated } => match view.index(*relation).reader() {
                Reader::Exclusive(mut reader) => {
                    select_by(batch, rows, *source, *negated, |source| reader.has_any(source));
                }
                Reader::Many(mut reader) => {
                    select_by(batch, rows, *source, *negated, |source| reader.has_any(source));
                }
            },
            Self::Exists { atom, negated } => {
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
            Self::None { arm, skipped } => {
                let is_empty =
                    |row| !skipped.is_empty() && skipped.iter().all(|columns| lacks_any(batch, columns, row));
                let state = own.arm(arm, batch.columns.len());
                state.find_hits(arm, run, batch, |row| !is_empty(row));
                select(batch.len, rows, |row| !state.hits[row]);
            }
            Self::Nothing => rows.clear(),
            Self::Target { .. }
            | Self::TargetIfAny { .. }
            | Self::Holder { .. }
            | Self::Child { .. }
            | Self::Set { .. }
            | Self::Note { .. }
            | Self::Choose { .. } => unreachable!("these write; see `apply`"),
        }
    }
}

impl<'a> Run<'a, '_> {
    /// How to tell who fits a mask, to be asked for so many rows of a stage.
    fn fit(&mut self, mask: usize, rows: usize, stage: &Stage) -> Fit<'_> {
        let few = self.shared.batch_size / 16;
        self.shared.fits.get(self.masks, mask, &self.view, rows, stage.estimate, few)
    }
}

/// Collects the rows that pass, without a branch: most filters pass rows at random.
#[inline]
fn select(len: usize, rows: &mut Vec<u32>, mut passes: impl FnMut(usize) -> bool) {
    rows.resize(len, 0);
    let mut passed = 0;
    for row in 0..len {
        rows[passed] = row as u32;
        passed += usize::from(passes(row));
    }
    rows.truncate(passed);
}

/// Collects the rows of which one entity is as asked, or those of which it is not.
#[inline]
fn select_by(
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

/// Collects the rows in which two entities have a pair, or have not.
fn has_pair(
    view: View<'_>,
    batch: &Batch,
    rows: &mut Vec<u32>,
    (relation, source, target): (RelationId, Operand, Operand),
    negated: bool,
) {
    let reader = view.index(relation).reader();
    match (reader, target) {
        (Reader::Exclusive(mut reader), Operand::Entity(target)) => {
            select_by(batch, rows, source, negated, |source| reader.has(source, target));
        }
        (Reader::Many(mut reader), Operand::Entity(target)) => {
            select_by(batch, rows, source, negated, |source| reader.has(source, target));
        }
        (_, Operand::Column(_) | Operand::Nothing) => {
            let index = view.index(relation);
            select(batch.len, rows, |row| {
                let ends = batch.entity(source, row).zip(batch.entity(target, row));
                ends.is_some_and(|(source, target)| index.has(source, target)) != negated
            });
        }
    }
}

/// Writes a column with what is found for another, and removes the rows for which nothing is found.
#[inline]
fn write_of(
    batch: &mut Batch,
    rows: &mut Vec<u32>,
    stage: &Stage,
    of: Operand,
    column: Column,
    mut find: impl FnMut(Entity) -> Option<Entity>,
) {
    let mut values = core::mem::take(batch.column_mut(column));
    values.clear();
    values.resize(batch.len, Value::UNSET);
    let constant;
    // One loop for both: then what is looked for becomes a part of it.
    let (entities, step) = match of {
        Operand::Entity(entity) => {
            constant = [Value::new(entity)];
            (&constant[..], 0)
        }
        Operand::Nothing => (&[Value::UNSET][..], 0),
        Operand::Column(of) => (&batch.columns[of as usize][..batch.len], 1),
    };
    select(batch.len, rows, |row| {
        let found = entities[row * step].entity().and_then(&mut find);
        values[row] = found.map_or(Value::UNSET, Value::new);
        found.is_some()
    });
    *batch.column_mut(column) = values;
    batch.keep(&stage.columns, rows);
}

/// An id of a list.
#[derive(Clone, Copy)]
enum Listed {
    Component(ComponentId),
    Tag(Entity),
    Pair(RelationId, Entity),
}

impl View<'_> {
    /// Whether `source` has the ids of `list`, and of the lists that it is a kind of, which are not kept to itself. An
    /// entry that has such ids is a list itself: to have all of them is as good as to have it.
    fn has_ids_of(
        &self,
        source: Entity,
        list: Entity,
        mode: ListMode,
        unlisted: &[ComponentId],
        steps: &mut u64,
    ) -> bool {
        if !self.is_alive(list) || !self.is_alive(source) {
            return false;
        }
        let (mut all, mut some, mut any) = (true, false, false);
        let mut lists: SmallVec<[Entity; 4]> = smallvec![list];
        let mut inner: SmallVec<[Entity; 4]> = SmallVec::new();
        let mut at = 0;
        while let Some(&list) = lists.get(at) {
            *steps += 1;
            self.each_listed(list, unlisted, &mut |id| {
                *steps += 1;
                let has = self.has_listed(source, id);
                let nested = match id {
                    Listed::Tag(tag) if mode != ListMode::All || !has => Some(tag),
                    _ => None,
                };
                let nested = nested.filter(|&tag| self.is_nested_list(tag, unlisted));
                any = true;
                all &= has || nested.is_some();
                some |= has;
                if let Some(nested) = nested.filter(|nested| !inner.contains(nested)) {
                    inner.push(nested);
                }
            });
            for nested in inner.drain(..) {
                if !lists.contains(&nested) {
                    lists.push(nested);
                }
            }
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

    fn has_listed(&self, source: Entity, id: Listed) -> bool {
        match id {
            Listed::Component(component) => self.has_component(source, component),
            Listed::Tag(tag) => self.has_tag(source, tag),
            Listed::Pair(relation, target) => self.index(relation).has(source, target),
        }
    }

    /// Whether an entry is a list: neither a type nor anything with traits, and with ids of its own.
    fn is_nested_list(&self, tag: Entity, unlisted: &[ComponentId]) -> bool {
        let registry = &self.store.registry;
        if registry.type_entities.contains_key(&tag) || registry.of_entity(tag).is_some() {
            return false;
        }
        let mut any = false;
        self.each_listed(tag, unlisted, &mut |_| any = true);
        any
    }

    /// Tells each id of `list` itself.
    fn each_listed(&self, list: Entity, unlisted: &[ComponentId], see: &mut dyn FnMut(Listed)) {
        let archetype = self.entities.get_spawned(list).ok();
        let archetype = archetype.and_then(|location| self.archetypes.get(location.archetype_id));
        let components = archetype.into_iter().flat_map(Archetype::components);
        for &component in components.filter(|component| !unlisted.contains(component)) {
            if self.is_listed_component(component) {
                see(Listed::Component(component));
            }
        }
        for relation in self.store.relations_of(list) {
            let is_listed = |id| relation != CHILD_OF && self.is_listed(self.store.registry.entry(id).entity);
            if relation == TAGGED || is_listed(relation) {
                for target in self.targets(relation, list) {
                    if relation != TAGGED {
                        see(Listed::Pair(relation, target));
                    } else if self.is_listed(target) {
                        see(Listed::Tag(target));
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
