//! What terms mean.

use super::{
    binder::{BindResult, Binder, is_list},
    member::walks,
    name::Meaning,
    query::{
        Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundTerm, BoundTraversal, CascadeOrder,
        Condition, FieldInfo, IdRule, Item, PairAtom, shared_walk,
    },
    vars::{Var, VarSet},
};
use crate::{
    expr::{
        eval::{ExprNames, WorldAccess, internal_components},
        text::FieldAccess,
    },
    ops::entity_of_type_id,
    relation::{CHILD_OF, IS_A},
    store::PairStore,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{component::ComponentId, entity::Entity, resource::IS_RESOURCE};
use bevy_relations_syntax::{
    ast::{Arg, Comparand, Comparison, Depth, Flag, Has, Id, IdKind, Operator, Span, Term, Test, Traversal},
    error::{Diagnostic, ExprErrorKind},
    path,
};
use core::any::TypeId;

/// The id of a term, before its traits are looked at.
pub(super) struct IdParts {
    pub(super) id: AtomId,
    /// The entity that stands for it, of which there are traits.
    entity: Option<Entity>,
    /// Nothing is a kind of it unless it is declared so.
    final_by_default: bool,
}

impl Binder<'_> {
    pub(super) fn add_field(&mut self, text: String, access: Option<FieldAccess>) -> u16 {
        self.query.fields.push(FieldInfo { text, access });
        self.query.fields.len() as u16 - 1
    }

    /// Adds a term, and what prepares it. `field` is that of the chain it is a branch of.
    pub(super) fn term(&mut self, term: &Term, items: &mut Vec<Item>, field: Option<u16>) -> BindResult<()> {
        let operator = match term.operator {
            Operator::Not => BoundOperator::Not,
            Operator::Optional => BoundOperator::Optional,
            _ => BoundOperator::And,
        };
        let access = match &term.test {
            Test::Has(has) => has.access.map(Into::into),
            Test::Keyed(keyed) => keyed.access.map(Into::into),
            Test::Compare(_) => None,
        };
        let field = field.unwrap_or_else(|| self.add_field(term.to_string(), access));
        // A child that does not exist makes its term false, and a negated one too.
        let prepare =
            if operator == BoundOperator::Optional { BoundOperator::Optional } else { BoundOperator::And };
        let mut prerequisites = Prerequisites { items: Vec::new(), operator: prepare };
        let mut operator = operator;
        let condition = match &term.test {
            Test::Compare(comparison) => self.comparison(comparison, &mut prerequisites)?,
            Test::Keyed(keyed) => Condition::Keyed(self.keyed(keyed, &mut prerequisites)?),
            Test::Has(has) => match is_list(term.operator) {
                Some(mode) => {
                    let source = self.source(has, &mut prerequisites)?;
                    let list = self.element_of(&has.first.id, None, &mut prerequisites)?;
                    match source {
                        Some(source) => Condition::List { source, list, mode },
                        None => Condition::Always,
                    }
                }
                None => self.has(has, &mut operator, &mut prerequisites)?,
            },
        };
        // Only such terms have a value that could be written.
        let is_valued = operator != BoundOperator::Not && self.scopes.len() == 1;
        self.check_access(&condition, access, is_valued.then_some(field), term.span)?;
        for item in &mut prerequisites.items {
            if let Item::Term(BoundTerm { condition: Condition::Child { child, beside, .. }, .. }) = item {
                *beside = condition.vars();
                beside.remove(*child);
            }
        }
        items.append(&mut prerequisites.items);
        let pinned = core::mem::take(&mut self.pinned);
        items.push(Item::Term(BoundTerm { field: Some(field), operator, condition, pinned }));
        Ok(())
    }

    /// `field` is that of a term with a value.
    fn check_access(
        &mut self,
        condition: &Condition,
        access: Option<FieldAccess>,
        field: Option<u16>,
        span: Span,
    ) -> BindResult<()> {
        let is_written = matches!(access, Some(FieldAccess::InOut | FieldAccess::Out));
        match condition {
            Condition::Match(atom) => self.check_component_access(atom, is_written, field, span),
            Condition::Member(_) | Condition::Value(_) if is_written => {
                let message = "a field of a component is only read: write `[in]` or `[none]`";
                Err(Diagnostic::rule(span, message))
            }
            Condition::Keyed(_) if is_written => {
                Err(Diagnostic::rule(span, "a value with a key is only read: write `[in]` or `[none]`"))
            }
            _ => Ok(()),
        }
    }

    fn check_component_access(
        &mut self,
        atom: &Atom,
        is_written: bool,
        field: Option<u16>,
        span: Span,
    ) -> BindResult<()> {
        let AtomId::Component(component) = atom.id else { return Ok(()) };
        if !is_written {
            return Ok(());
        }
        if self.context.access().components().get_info(component).is_some_and(|info| !info.mutable()) {
            return Err(Diagnostic::rule(span, "the component is immutable: write `[in]` or `[none]`"));
        }
        let Some(field) = field else { return Ok(()) };
        if self.written.iter().any(|&(id, other)| id == component && other != field) {
            return Err(Diagnostic::rule(span, "another field of the row writes the component"));
        }
        self.written.push((component, field));
        Ok(())
    }

    /// The source of a term; `None` for `T()`.
    fn source(&mut self, has: &Has, prerequisites: &mut Prerequisites) -> BindResult<Option<BoundElement>> {
        match &has.source {
            Some(source) => self.element_of(&source.id, None, prerequisites).map(Some),
            None => Ok(None),
        }
    }

    /// A term that asks for an id or a member.
    fn has(
        &mut self,
        has: &Has,
        operator: &mut BoundOperator,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<Condition> {
        if let Some(test) = &has.value
            && let Some(condition) = self.value_test(has, test, prerequisites)?
        {
            return Ok(condition);
        }
        if let Some(member) = self.member(has, prerequisites)? {
            return Ok(Condition::Member(member));
        }
        if let Some(singleton) = self.singleton(has)? {
            return Ok(Condition::Match(singleton));
        }
        let parts = match &has.target {
            Some(target) => self.pair(&has.first, target, operator, has.source.as_ref(), prerequisites)?,
            None => self.single_id(&has.first, prerequisites)?,
        };
        let Some(source) = self.source(has, prerequisites)? else { return Ok(Condition::Always) };
        // What no row needs to know is not enumerated.
        let source = match (&has.source, *operator) {
            (Some(Arg { id: Id { kind: IdKind::Wildcard, .. }, .. }), BoundOperator::Not) => {
                BoundElement::Any
            }
            _ => source,
        };
        let written = has.source.as_ref().and_then(|source| source.traversal.as_ref());
        let rule = IdRule {
            entity: parts.entity,
            is_final: parts.final_by_default,
            itself: !self.includes_subtypes(&has.first)?,
            walk: written.is_some(),
        };
        let store = self.context.access().store();
        let shared = store.is_some_and(|store| rule.is_shared(store));
        let subtypes = store.is_some_and(|store| rule.has_subtypes(store));
        let traversal = match written {
            Some(traversal) => self.traversal(traversal, shared, true)?,
            None => store.filter(|_| shared).map(shared_walk),
        };
        let atom = Atom { source, id: parts.id, subtypes, traversal, shared, rule };
        self.note_resource(&atom, has.first.id.span);
        Ok(Condition::Match(atom))
    }

    /// Whether subtypes count: `T`, `T|up IsA`, but not `T|self`. Nothing else can be walked from a component.
    fn includes_subtypes(&mut self, first: &Arg) -> BindResult<bool> {
        let Some(traversal) = &first.traversal else { return Ok(true) };
        if !walks(traversal) {
            return Ok(false);
        }
        let relation = match &traversal.relation {
            Some(relation) => self.fixed(relation)?,
            None => self.relation_entity(IS_A),
        };
        let is_a = relation.is_none() || relation == self.relation_entity(IS_A);
        if !is_a || traversal.depth != Depth::EVERY {
            let message = "a component or relation has only `self` or `up IsA`: whether subtypes count";
            return Err(Diagnostic::rule(traversal.span, message));
        }
        Ok(true)
    }

    /// Notes an entity that is named itself, if it stands for a type.
    pub(super) fn pin(&mut self, entity: Entity) {
        let store = self.context.access().store();
        if store.is_some_and(|store| store.registry().is_type(entity)) {
            self.pinned.push(entity);
        }
    }

    /// A resource is on no entity that `$this` can be, unless those of resources are asked for.
    pub(super) fn note_resource(&mut self, atom: &Atom, span: Span) {
        let AtomId::Component(component) = atom.id else { return };
        let components = self.context.access().components();
        let is_resource = components
            .get_info(component)
            .is_some_and(|info| info.required_components().iter_direct_ids().any(|id| id == IS_RESOURCE));
        if is_resource && atom.source == BoundElement::Var(Var::THIS) && atom.traversal.is_none() {
            self.resources.push(span);
        }
    }

    fn entity_of(&mut self, id: TypeId, span: Span) -> BindResult<Entity> {
        let despawned = || Diagnostic::rule(span, "the entity that stands for this type is not alive");
        self.context.entity_of(id).ok_or_else(despawned)
    }

    fn relation_entity(&self, id: crate::id::RelationId) -> Option<Entity> {
        Some(self.context.access().store()?.registry().get(id)?.entity)
    }

    /// A walk that is written down. `source` says whether it starts at the source of a term, whose id may be
    /// `shared`.
    fn traversal(
        &mut self,
        written: &Traversal,
        shared: bool,
        source: bool,
    ) -> BindResult<Option<BoundTraversal>> {
        let has = |flag| written.flags.has(flag);
        let up = has(Flag::Up) || has(Flag::Cascade);
        if !up && !has(Flag::Down) {
            return Ok(None);
        }
        let (relation, span) = match &written.relation {
            Some(id) => (self.fixed(id)?, id.span),
            None => (self.relation_entity(CHILD_OF), written.span),
        };
        let Some(relation) = relation else { return Ok(None) };
        let store = self.context.access().store();
        let known = store.and_then(|store| store.registry().of_entity(relation));
        let traversable =
            known.zip(store).filter(|(id, store)| store.registry().entry(*id).traits.is_traversable());
        let Some((id, _)) = traversable else {
            let name = written.relation.as_ref().map_or_else(|| "ChildOf".into(), ToString::to_string);
            let message = match known {
                Some(_) => format!("`{name}` is not traversable: declare it `traversable` to follow it"),
                None => format!("`{name}` is no relation, and is not traversable"),
            };
            return Err(Diagnostic::new(ExprErrorKind::NotTraversable, span, message));
        };
        if source && id == IS_A && !shared {
            return Err(Diagnostic::rule(
                span,
                "instances do not share the component: that takes `OnInstantiate::Inherit`",
            ));
        }
        if has(Flag::Cascade) {
            self.cascade(CascadeOrder { relation, descending: has(Flag::Desc) });
        }
        Ok(Some(BoundTraversal {
            relation,
            down: has(Flag::Down),
            all: has(Flag::All),
            own: has(Flag::This),
            min: written.depth.min,
            max: written.depth.max.unwrap_or(u32::MAX),
        }))
    }

    /// Component, tag, or whichever id.
    fn single_id(&mut self, first: &Arg, prerequisites: &mut Prerequisites) -> BindResult<IdParts> {
        if !matches!(first.id.kind, IdKind::Path(_) | IdKind::Type(_)) {
            return Ok(match self.element_of(&first.id, None, prerequisites)? {
                BoundElement::Entity(entity) => self.id_of_entity(entity),
                element if matches!(first.id.kind, IdKind::Variable(_)) => {
                    self.give_components_entities();
                    IdParts { id: AtomId::AnyId(element), entity: None, final_by_default: true }
                }
                element => IdParts { id: AtomId::AnyId(element), entity: None, final_by_default: true },
            });
        }
        let Some(meaning) = self.meaning_of(&first.id, None)? else {
            return Ok(IdParts {
                id: AtomId::AnyId(BoundElement::Awaited),
                entity: None,
                final_by_default: true,
            });
        };
        match meaning {
            Meaning::Entity(entity) => Ok(self.id_of_entity(entity)),
            Meaning::Type(type_id) => match self.context.component_of(type_id) {
                Some(component) => Ok(self.id_of_component(component, type_id)),
                None => {
                    let entity = self.entity_of(type_id, first.id.span)?;
                    Ok(IdParts { id: AtomId::Tag(entity), entity: Some(entity), final_by_default: true })
                }
            },
            Meaning::Member(..) => Err(Diagnostic::rule(first.id.span, "a field has a source and a value")),
        }
    }

    /// A variable holds entities: it can be a component only if one stands for it.
    fn give_components_entities(&mut self) {
        let Some(world) = self.context.world_mut() else { return };
        let internal = internal_components(WorldAccess::World(world));
        let known = world.components().iter_registered();
        let others = known.filter(|(id, _)| !internal.contains(id));
        let types: Vec<TypeId> = others.filter_map(|(_, info)| info.type_id()).collect();
        for type_id in types {
            entity_of_type_id(world, type_id);
        }
    }

    fn id_of_entity(&mut self, entity: Entity) -> IdParts {
        let store = self.context.access().store();
        let type_id = store.and_then(|store| store.registry().type_of(entity));
        let component = type_id.and_then(|type_id| Some((self.context.component_of(type_id)?, type_id)));
        match component {
            Some((component, type_id)) => self.id_of_component(component, type_id),
            None => {
                let final_by_default = type_id.is_some();
                IdParts { id: AtomId::Tag(entity), entity: Some(entity), final_by_default }
            }
        }
    }

    fn id_of_component(&mut self, component: ComponentId, type_id: TypeId) -> IdParts {
        let entity = self.context.access().store().and_then(|store| store.registry().entity_of(type_id));
        IdParts { id: AtomId::Component(component), entity, final_by_default: true }
    }

    pub(super) fn pair(
        &mut self,
        first: &Arg,
        target: &Arg,
        operator: &mut BoundOperator,
        source: Option<&Arg>,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<IdParts> {
        let mut relation = self.element_of(&first.id, None, prerequisites)?;
        let names_tags =
            |store: &PairStore| relation.entity().is_some_and(|id| store.registry().names_tags(id));
        if self.context.access().store().is_some_and(names_tags) {
            let message = "it stands for tags, which have no relation: write the tag alone";
            return Err(Diagnostic::rule(first.id.span, message));
        }
        let scope = relation.entity().and_then(|relation| {
            let registry = &self.context.access().store()?.registry();
            registry.entry(registry.of_entity(relation)?).one_of
        });
        if target.id.kind == IdKind::Bits(0) {
            return self.no_target(relation, first.id.span, operator);
        }
        let mut element = self.element_of(&target.id, scope, prerequisites)?;
        let wildcard = target.id.kind == IdKind::Wildcard;
        let any_source = source.is_some_and(|source| source.id.kind == IdKind::Any);
        if wildcard && (*operator == BoundOperator::Not || relation == BoundElement::Any) {
            element = BoundElement::Any;
        }
        // `_` asks for one pair, whatever stands beside it.
        if first.id.kind == IdKind::Wildcard && element == BoundElement::Any {
            relation = BoundElement::Any;
        }
        let exact = target.traversal.as_ref().is_some_and(|own| !walks(own));
        if let (Some(scope), BoundElement::Entity(entity)) = (scope, element)
            && !target.traversal.as_ref().is_some_and(|traversal| walks(traversal))
        {
            self.check_one_of(scope, entity, target.id.span)?;
        }
        let target_traversal = match &target.traversal {
            Some(written) => self.traversal(written, false, false)?,
            None => None,
        };
        // The target itself counts as well. `*` and `_` are every target already.
        let target_traversal = target_traversal.filter(|_| !wildcard && element != BoundElement::Any);
        let target_traversal = target_traversal.map(|walk| BoundTraversal { own: true, ..walk });
        let closed = relation.entity().is_some() && !exact && element != BoundElement::Any && !any_source;
        let id = AtomId::Pair(PairAtom { relation, target: element, closed, target_traversal });
        let entity = relation.entity();
        Ok(IdParts { id, entity, final_by_default: false })
    }

    /// A pair with a target outside the scope is refused whenever it is inserted.
    fn check_one_of(&self, scope: Entity, target: Entity, span: Span) -> BindResult<()> {
        let access = self.context.access();
        let is_child = |store: &PairStore| store.relation(CHILD_OF).has(target, scope);
        if access.store().is_none_or(is_child) {
            return Ok(());
        }
        Err(Diagnostic::rule(
            span,
            format!("the target is not a child of {}, as the relation requires", self.called(scope)),
        ))
    }

    /// `(ChildOf, #0)`: what has no parent.
    fn no_target(
        &self,
        relation: BoundElement,
        span: Span,
        operator: &mut BoundOperator,
    ) -> BindResult<IdParts> {
        *operator = match *operator {
            BoundOperator::And => BoundOperator::Not,
            BoundOperator::Not => BoundOperator::And,
            BoundOperator::Optional => {
                return Err(Diagnostic::rule(span, "a term with `#0` is not optional"));
            }
        };
        let pair = PairAtom { relation, target: BoundElement::Any, closed: false, target_traversal: None };
        Ok(IdParts { id: AtomId::Pair(pair), entity: relation.entity(), final_by_default: false })
    }

    /// One entity that is written down; `None` if it is [awaited](BoundElement::Awaited).
    fn fixed(&mut self, id: &Id) -> BindResult<Option<Entity>> {
        let mut prerequisites = Prerequisites { items: Vec::new(), operator: BoundOperator::And };
        match self.element_of(id, None, &mut prerequisites)? {
            BoundElement::Entity(entity) => Ok(Some(entity)),
            BoundElement::Awaited => Ok(None),
            _ => Err(Diagnostic::rule(id.span, "a traversal follows one relation")),
        }
    }

    /// An element in a position where entities stand.
    pub(super) fn element_of(
        &mut self,
        id: &Id,
        scope: Option<Entity>,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<BoundElement> {
        Ok(match &id.kind {
            IdKind::Wildcard => self.wildcard(),
            IdKind::Any => BoundElement::Any,
            IdKind::Variable(name) => BoundElement::Var(self.variable(name)),
            IdKind::Bits(bits) => {
                let entity = Entity::try_from_bits(*bits);
                let alive =
                    entity.filter(|&entity| self.context.access().entities().contains_spawned(entity));
                match alive {
                    Some(entity) => {
                        self.pin(entity);
                        BoundElement::Entity(entity)
                    }
                    None if self.context.is_init() => {
                        self.query.awaits_names = true;
                        BoundElement::Awaited
                    }
                    None => {
                        return Err(Diagnostic::rule(id.span, "no entity that is alive has these bits"));
                    }
                }
            }
            IdKind::Lookup(name, path) => {
                let parent = self.variable(name);
                let child = self.unnamed();
                let path = path::join(path.0.iter().map(String::as_str)).into();
                prerequisites.items.push(Item::Term(BoundTerm {
                    field: None,
                    operator: prerequisites.operator,
                    condition: Condition::Child { parent, path, child, beside: VarSet::default() },
                    pinned: Vec::new(),
                }));
                BoundElement::Var(child)
            }
            IdKind::Path(_) | IdKind::Type(_) => match self.meaning_of(id, scope)? {
                None => BoundElement::Awaited,
                Some(Meaning::Entity(entity)) => BoundElement::Entity(entity),
                Some(Meaning::Type(type_id)) => BoundElement::Entity(self.entity_of(type_id, id.span)?),
                Some(Meaning::Member(..)) => return Err(Diagnostic::rule(id.span, "a field is no entity")),
            },
        })
    }

    fn comparison(
        &mut self,
        comparison: &Comparison,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<Condition> {
        let BoundElement::Var(left) = self.element_of(&comparison.left, None, prerequisites)? else {
            return Err(Diagnostic::rule(
                comparison.left.span,
                "the left side of a comparison is a variable or a field, such as `$x` or `Health.hp`",
            ));
        };
        let right = match &comparison.right {
            Comparand::Path(path) => BoundComparand::Path(path.as_str().into()),
            Comparand::NamePart(part) => BoundComparand::Part(part.to_lowercase().into()),
            Comparand::Id(Id { kind: IdKind::Wildcard, .. }) => BoundComparand::Everything,
            Comparand::Id(id) => match self.element_of(id, None, prerequisites)? {
                BoundElement::Entity(entity) => BoundComparand::Entity(entity),
                BoundElement::Awaited => BoundComparand::Awaited,
                BoundElement::Var(var) => {
                    self.compared.push(([left, var], id.span));
                    BoundComparand::Var(var)
                }
                BoundElement::Any => BoundComparand::Everything,
                BoundElement::Singleton(_) => {
                    return Err(Diagnostic::rule(
                        id.span,
                        "a comparison has one entity or a variable on its right side",
                    ));
                }
            },
        };
        Ok(Condition::Equal { left, right, negated: comparison.negated })
    }

    /// `SimTime(SimTime)`: a resource; `SimTime` alone if it is registered as one.
    fn singleton(&mut self, has: &Has) -> BindResult<Option<Atom>> {
        let (IdKind::Path(_) | IdKind::Type(_), None, Some(source)) =
            (&has.first.id.kind, &has.target, &has.source)
        else {
            return Ok(None);
        };
        let names = self.context.access().expr_names();
        let alone = names.is_some_and(ExprNames::has_singletons)
            && source.id.kind.is_this()
            && source.traversal.is_none();
        if !alone && source.id.kind != has.first.id.kind {
            return Ok(None);
        }
        let Some(Meaning::Type(type_id)) = self.meaning_of(&has.first.id, None)? else {
            return Ok(None);
        };
        let names = self.context.access().expr_names();
        if alone && !names.is_some_and(|names| names.is_singleton(type_id)) {
            return Ok(None);
        }
        let Some(component) = self.context.component_of(type_id) else { return Ok(None) };
        if let Some(traversal) = source.traversal.as_ref().filter(|traversal| walks(traversal)) {
            return Err(Diagnostic::rule(traversal.span, "a resource is in one place, and has no traversal"));
        }
        self.add_singleton(component);
        let id = AtomId::Component(component);
        let source = BoundElement::Singleton(component);
        Ok(Some(Atom {
            source,
            id,
            subtypes: false,
            traversal: None,
            shared: false,
            rule: IdRule::default(),
        }))
    }

    pub(super) fn add_singleton(&mut self, component: ComponentId) {
        if !self.query.singletons.contains(&component) {
            self.query.singletons.push(component);
        }
    }
}

/// What has to be found before a term.
pub(super) struct Prerequisites {
    items: Vec<Item>,
    operator: BoundOperator,
}
