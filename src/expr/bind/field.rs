//! Comparisons of fields with literals: `Health.hp < 10`, `(Eats.grams, $food) >= 3`.

use super::{
    binder::{BindResult, Binder},
    member::refuse_walks,
    name::Meaning,
    query::{Atom, AtomId, BoundElement, BoundOperator, Condition, IdRule, PairAtom, ValueAtom, ValueHolder},
    term::Prerequisites,
    value::BoundValueTest,
};
use crate::{expr::eval::ExprNames, id::RelationId};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use bevy_ecs::entity::Entity;
use bevy_relations_syntax::{
    ast::{Arg, Has, Id, IdKind, Path, Span, TypeRef, ValueTest},
    error::Diagnostic,
};
use core::any::TypeId;

/// The path of a field, as it is written.
#[derive(Clone, Copy)]
struct FieldPath<'a> {
    path: &'a Path,
    type_name: &'a str,
    #[cfg_attr(not(feature = "bevy_reflect"), expect(dead_code, reason = "fields are found by reflection"))]
    fields: &'a [String],
    span: Span,
}

impl Binder<'_> {
    /// A term that compares a field. `None` if the type of the field is still to come.
    pub(super) fn value_test(
        &mut self,
        has: &Has,
        test: &ValueTest,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<Option<Condition>> {
        let span = has.first.id.span;
        let no_field = || Diagnostic::rule(span, "only a field of a component or of a pair is compared");
        let IdKind::Path(path) = &has.first.id.kind else { return Err(no_field()) };
        let Some((type_name, fields @ [_, ..])) = path.0.split_first() else { return Err(no_field()) };
        let Some(source) = &has.source else {
            return Err(Diagnostic::rule(span, "a field that is compared has a source"));
        };
        refuse_walks([&has.first, source].into_iter().chain(&has.target))?;
        if let Some(relation) = self.spawned_relation(path) {
            let name = relation.to_string();
            let field = FieldPath { path, type_name: &name, fields: &path.0[relation.0.len()..], span };
            let Some(Meaning::Entity(entity)) = self.meaning(&relation, span, None)? else { return Ok(None) };
            let Some(target) = &has.target else { return Err(needs_target(field, source)) };
            let id = self.context.access().store().and_then(|store| store.registry().of_entity(entity));
            let relation = Id { kind: IdKind::Path(relation), span };
            let value = self.pair_field((relation, id), field, (source, target), test, prerequisites)?;
            return Ok(Some(Condition::Value(value)));
        }
        let field = FieldPath { path, type_name, fields, span };
        let Some(type_id) = self.type_of_field(field)? else { return Ok(None) };
        let value = match &has.target {
            None => self.component_field(type_id, field, source, test, prerequisites)?,
            Some(target) => {
                let id = self.relation_of_type(type_id);
                let relation = Id { kind: IdKind::Type(TypeRef { id: type_id, name: "" }), span };
                self.pair_field((relation, id), field, (source, target), test, prerequisites)?
            }
        };
        Ok(Some(Condition::Value(value)))
    }

    /// The name of a relation created at run time that a path starts with, if its first name is not that of a type.
    fn spawned_relation(&self, path: &Path) -> Option<Path> {
        let registry = self.context.access().store()?.registry();
        let start = |len: usize| Path(path.0[..len].into());
        if !self.types(&start(1)).is_empty() {
            return None;
        }
        let is_relation = |entity: Entity| registry.of_entity(entity).is_some();
        (1..path.0.len()).map(start).find(|start| self.at_path(None, &start.0).into_iter().any(is_relation))
    }

    fn type_of_field(&mut self, field: FieldPath<'_>) -> BindResult<Option<TypeId>> {
        let name = Path([field.type_name.into()].into());
        let types = self.types(&name);
        if types.is_empty() && !self.context.is_init() {
            return Err(self.unknown_type(field.path, field.span));
        }
        match self.single(types.into_iter().map(Meaning::Type).collect(), &name, field.span)? {
            Some(Meaning::Type(type_id)) => Ok(Some(type_id)),
            _ => Ok(None),
        }
    }

    fn component_field(
        &mut self,
        type_id: TypeId,
        field: FieldPath<'_>,
        source: &Arg,
        test: &ValueTest,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<ValueAtom> {
        let FieldPath { path: written, type_name, span, .. } = field;
        let component = self.context.component_of(type_id);
        if component.is_none() && self.relation_of_type(type_id).is_some() {
            return Err(needs_target(field, source));
        }
        let (path, test) = self.bound_test(type_id, field, test, true)?;
        let component =
            component.ok_or_else(|| Diagnostic::rule(span, "the type of this field is no component"))?;
        let is_singleton = |names: &ExprNames| names.has_singletons() && names.is_singleton(type_id);
        let source =
            if source.id.kind.is_this() && self.context.access().expr_names().is_some_and(is_singleton) {
                self.add_singleton(component);
                BoundElement::Singleton(component)
            } else {
                self.member_source(source, type_name, written, component, prerequisites)?
            };
        let atom = plain_atom(source, AtomId::Component(component));
        self.note_resource(&atom, span);
        Ok(ValueAtom {
            atom,
            holder: ValueHolder::Component(component),
            path: path.into(),
            test: Box::new(test),
        })
    }

    fn pair_field(
        &mut self,
        (relation, id): (Id, Option<RelationId>),
        field: FieldPath<'_>,
        (source, target): (&Arg, &Arg),
        test: &ValueTest,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<ValueAtom> {
        let FieldPath { type_name, span, .. } = field;
        let (holder, value_type) = self.holder_of_pairs(id, type_name, span)?;
        let is_component = matches!(holder, ValueHolder::Component(_));
        let (path, test) = self.bound_test(value_type, field, test, is_component)?;
        for (arg, what) in [(source, "source"), (target, "target")] {
            if matches!(arg.id.kind, IdKind::Any | IdKind::Bits(0)) {
                let message =
                    format!("a pair whose value is compared has a {what}: an entity, a variable or `*`");
                return Err(Diagnostic::rule(arg.id.span, message));
            }
        }
        let mut operator = BoundOperator::And;
        let parts = self.pair(&Arg::new(relation), target, &mut operator, Some(source), prerequisites)?;
        // The value is that of the pair that is stored.
        let id = match parts.id {
            AtomId::Pair(pair) => AtomId::Pair(PairAtom { closed: false, target_traversal: None, ..pair }),
            id => id,
        };
        let source = self.element_of(&source.id, None, prerequisites)?;
        Ok(ValueAtom { atom: plain_atom(source, id), holder, path: path.into(), test: Box::new(test) })
    }

    fn relation_of_type(&self, type_id: TypeId) -> Option<RelationId> {
        self.context.access().store()?.registry().of_type_id(type_id)
    }

    /// Where the values of a relation's pairs are, and their type.
    fn holder_of_pairs(
        &mut self,
        relation: Option<RelationId>,
        name: &str,
        span: Span,
    ) -> BindResult<(ValueHolder, TypeId)> {
        let store = self.context.access().store();
        let Some(entry) = store.zip(relation).map(|(store, relation)| store.registry().entry(relation))
        else {
            let message =
                format!("`{name}` is no relation: a field of a component has a source and no target");
            return Err(Diagnostic::rule(span, message));
        };
        if let (Some(_), Some(type_id)) = (&entry.adopted, entry.type_id) {
            let component = self.context.component_of(type_id);
            let holder = component.map(|component| (ValueHolder::Component(component), type_id));
            return holder.ok_or_else(|| Diagnostic::rule(span, "the type of this field is no component"));
        }
        match entry.data {
            Some(data) => Ok((ValueHolder::Pair(data.value_type()), data.value_type())),
            None => Err(Diagnostic::rule(span, format!("the pairs of `{name}` have no values"))),
        }
    }

    /// The reflected path of a field, and what it is compared with.
    #[cfg(not(feature = "bevy_reflect"))]
    fn bound_test(
        &self,
        _: TypeId,
        field: FieldPath<'_>,
        _: &ValueTest,
        _: bool,
    ) -> BindResult<(String, BoundValueTest)> {
        let message = "fields are compared with the feature `bevy_reflect` alone";
        Err(Diagnostic::rule(field.span, message))
    }

    /// The reflected path of a field, and what it is compared with.
    #[cfg(feature = "bevy_reflect")]
    fn bound_test(
        &self,
        type_id: TypeId,
        field: FieldPath<'_>,
        test: &ValueTest,
        is_component: bool,
    ) -> BindResult<(String, BoundValueTest)> {
        use super::{member::missing_field, reflected::fields_at, scalar};
        use bevy_ecs::reflect::ReflectComponent;
        let FieldPath { type_name: name, fields, span, .. } = field;
        let access = self.context.access();
        let types = access.types().map(|types| types.read());
        let Some(registration) = types.as_ref().and_then(|types| types.get(type_id)) else {
            let message = format!("`{name}` has no fields: it is not in the type registry");
            return Err(Diagnostic::rule(span, message));
        };
        let found = fields_at(registration.type_info(), fields)
            .map_err(|missing| missing_field(name, fields, missing.at, &missing.known, span))?;
        if is_component && !registration.contains::<ReflectComponent>() {
            let message = format!("`{name}` has no fields: it is not reflected with `#[reflect(Component)]`");
            return Err(Diagnostic::rule(span, message));
        }
        let scalar = scalar::of_fields(&found).ok_or_else(|| no_scalar(field, &found))?;
        let path = scalar.path(fields);
        let bound = scalar.test(test).map_err(|expected| {
            let field = super::member::path_text(name, fields);
            let message = format!("{expected}: `{field}` is of type `{}`", scalar.type_name);
            Diagnostic::rule(test.span, message)
        })?;
        Ok((path, bound))
    }
}

/// That the field is one of the value of a pair.
fn needs_target(field: FieldPath<'_>, source: &Arg) -> Box<Diagnostic> {
    let FieldPath { path: written, type_name, span, .. } = field;
    let message = format!(
        "`{type_name}` is a relation: a field of the value of its pairs is compared together with a target"
    );
    let fault = Diagnostic::rule(span, message);
    // The place of a source that is not written is that of the field.
    let has_source = source.id.span.range() != span.range();
    if has_source { fault } else { fault.suggest(format!("({written}, $x)")) }
}

fn plain_atom(source: BoundElement, id: AtomId) -> Atom {
    Atom { source, id, subtypes: false, traversal: None, shared: false, rule: IdRule::default() }
}

/// That a field is nothing that can be compared.
#[cfg(feature = "bevy_reflect")]
fn no_scalar(field: FieldPath<'_>, found: &[super::reflected::Field]) -> Box<Diagnostic> {
    let written = super::member::path_text(field.type_name, field.fields);
    if found.iter().any(|field| field.is_entity) {
        let message = format!("the field holds an entity: ask for it with `({written}, $x)`");
        return Diagnostic::rule(field.span, message);
    }
    let types: alloc::vec::Vec<String> = found.iter().map(|field| format!("`{}`", field.type_name)).collect();
    let message = format!(
        "numbers, `bool`, `char`, text and enums are compared: `{written}` is of type {}",
        types.join(" or ")
    );
    Diagnostic::rule(field.span, message)
}
