//! What terms mean.

use super::{Meaning, Resolved, Resolver, internal_components, is_list, member::walks, name::as_text};
use crate::{
    expr::{
        ast::{
            Arg, Comparand as AstComparand, Comparison, Depth, Flag, Has, Id, IdKind,
            Operator as AstOperator, Span, Term as AstTerm, Test, Traversal as AstTraversal,
        },
        bound::{
            Atom, AtomId, Cascade, Comparand, Condition, Element, FieldAccess, FieldInfo, IdRule, Item,
            Operator, PairAtom, Term, Traversal, VarSet, shared_walk,
        },
        error::Diagnostic,
        reads::Reads,
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
use bevy_ecs::{component::ComponentId, entity::Entity};
use core::any::TypeId;

/// The id of a term, before its traits are looked at.
struct IdParts {
    id: AtomId,
    /// The entity that stands for it, of which there are traits.
    entity: Option<Entity>,
    /// Nothing is a kind of it unless it is declared so.
    final_by_default: bool,
}

impl Resolver<'_> {
    pub(super) fn add_field(&mut self, text: String, access: Option<FieldAccess>) -> u16 {
        self.query.fields.push(FieldInfo { text, access });
        self.query.fields.len() as u16 - 1
    }

    /// Adds a term, and what prepares it. `field` is that of the chain it is a branch of.
    pub(super) fn term(&mut self, term: &AstTerm, items: &mut Vec<Item>, field: Option<u16>) -> Resolved<()> {
        let operator = match term.operator {
            AstOperator::Not => Operator::Not,
            AstOperator::Optional => Operator::Optional,
            _ => Operator::And,
        };
        let access = match &term.test {
            Test::Has(has) => has.access.map(Into::into),
            Test::Compare(_) => None,
        };
        let field = field.unwrap_or_else(|| self.add_field(term.to_string(), access));
        // A child that does not exist makes its term false, and a negated one too.
        let prepare = if operator == Operator::Optional { Operator::Optional } else { Operator::And };
        let mut prepared = Prepared { items: Vec::new(), operator: prepare };
        let mut operator = operator;
        let condition = match &term.test {
            Test::Compare(comparison) => self.comparison(comparison, &mut prepared)?,
            Test::Has(has) => match is_list(term.operator) {
                Some(mode) => {
                    let source = self.source(has, &mut prepared)?;
                    let list = self.element_of(&has.first.id, None, &mut prepared)?;
                    match source {
                        Some(source) => Condition::List { source, list, mode },
                        None => Condition::Always,
                    }
                }
                None => self.has(has, &mut operator, &mut prepared)?,
            },
        };
        match &condition {
            Condition::Match(atom) => self.check_access(atom, access, field, term.span)?,
            Condition::Member(_) if matches!(access, Some(FieldAccess::InOut | FieldAccess::Out)) => {
                return Err(Diagnostic::rule(
                    term.span,
                    "`[in]` or `[none]`: a field of a component is only read",
                ));
            }
            _ => {}
        }
        for item in &mut prepared.items {
            if let Item::Term(Term { condition: Condition::Child { child, beside, .. }, .. }) = item {
                *beside = condition.vars();
                beside.remove(*child);
            }
        }
        items.append(&mut prepared.items);
        items.push(Item::Term(Term { field: Some(field), operator, condition }));
        Ok(())
    }

    fn check_access(
        &mut self,
        atom: &Atom,
        access: Option<FieldAccess>,
        field: u16,
        span: Span,
    ) -> Resolved<()> {
        let AtomId::Component(component) = atom.id else { return Ok(()) };
        if !matches!(access, Some(FieldAccess::InOut | FieldAccess::Out)) {
            return Ok(());
        }
        if self.site.reads().components().get_info(component).is_some_and(|info| !info.mutable()) {
            return Err(Diagnostic::rule(span, "`[in]` or `[none]`: the component is immutable"));
        }
        if self.written.iter().any(|&(id, other)| id == component && other != field) {
            return Err(Diagnostic::rule(span, "one field of a row that writes the component"));
        }
        self.written.push((component, field));
        Ok(())
    }

    /// The source of a term; `None` for `T()`.
    fn source(&mut self, has: &Has, prepared: &mut Prepared) -> Resolved<Option<Element>> {
        match &has.source {
            Some(source) => self.element_of(&source.id, None, prepared).map(Some),
            None => Ok(None),
        }
    }

    /// A term that asks for an id or a member.
    fn has(&mut self, has: &Has, operator: &mut Operator, prepared: &mut Prepared) -> Resolved<Condition> {
        if let Some(member) = self.member(has, prepared)? {
            return Ok(Condition::Member(member));
        }
        if let Some(singleton) = self.singleton(has)? {
            return Ok(Condition::Match(singleton));
        }
        let parts = match &has.target {
            Some(target) => self.pair(&has.first, target, operator, has.source.as_ref(), prepared)?,
            None => self.single_id(&has.first, prepared)?,
        };
        let Some(source) = self.source(has, prepared)? else { return Ok(Condition::Always) };
        // What no row needs to know is not enumerated.
        let source = match (&has.source, *operator) {
            (Some(Arg { id: Id { kind: IdKind::Wildcard, .. }, .. }), Operator::Not) => Element::Any,
            _ => source,
        };
        let written = has.source.as_ref().and_then(|source| source.traversal.as_ref());
        let rule = IdRule {
            entity: parts.entity,
            is_final: parts.final_by_default,
            itself: !self.wants_subtypes(&has.first)?,
            walk: written.is_some(),
        };
        let store = self.site.reads().store();
        let shared = store.is_some_and(|store| rule.is_shared(store));
        let subtypes = store.is_some_and(|store| rule.has_subtypes(store));
        let traversal = match written {
            Some(traversal) => self.traversal(traversal, shared, true)?,
            None => store.filter(|_| shared).map(shared_walk),
        };
        Ok(Condition::Match(Atom { source, id: parts.id, subtypes, traversal, shared, rule }))
    }

    /// Whether subtypes count: `T`, `T|up IsA`, but not `T|self`. Nothing else can be walked from a component.
    fn wants_subtypes(&mut self, first: &Arg) -> Resolved<bool> {
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
            let expected = "`self` or `up IsA` on a component or relation: whether subtypes count";
            return Err(Diagnostic::rule(traversal.span, expected));
        }
        Ok(true)
    }

    fn entity_of(&mut self, id: TypeId, span: Span) -> Resolved<Entity> {
        let despawned = || Diagnostic::rule(span, "a type of which the entity that stands for it is alive");
        self.site.entity_of(id).ok_or_else(despawned)
    }

    fn relation_entity(&self, id: crate::id::RelationId) -> Option<Entity> {
        Some(self.site.reads().store()?.registry.get(id)?.entity)
    }

    /// A walk that is written down. `source` tells whether it starts at the source of a term, whose id may be
    /// `shared`.
    fn traversal(
        &mut self,
        written: &AstTraversal,
        shared: bool,
        source: bool,
    ) -> Resolved<Option<Traversal>> {
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
        let store = self.site.reads().store();
        let known = store.and_then(|store| store.registry.of_entity(relation));
        let traversable =
            known.zip(store).filter(|(id, store)| store.registry.entry(*id).traits.is_traversable());
        let Some((id, _)) = traversable else {
            return Err(Diagnostic::rule(span, "a traversable relation"));
        };
        if source && id == IS_A && !shared {
            return Err(Diagnostic::rule(
                span,
                "a component that instances share, with `OnInstantiate::Inherit`",
            ));
        }
        if has(Flag::Cascade) {
            self.cascade(Cascade { relation, descending: has(Flag::Desc) });
        }
        Ok(Some(Traversal {
            relation,
            down: has(Flag::Down),
            all: has(Flag::All),
            own: has(Flag::This),
            min: written.depth.min,
            max: written.depth.max.unwrap_or(u32::MAX),
        }))
    }

    /// Component, tag, or whichever id.
    fn single_id(&mut self, first: &Arg, prepared: &mut Prepared) -> Resolved<IdParts> {
        let IdKind::Path(path) = &first.id.kind else {
            return Ok(match self.element_of(&first.id, None, prepared)? {
                Element::Entity(entity) => self.id_of_entity(entity),
                element if matches!(first.id.kind, IdKind::Variable(_)) => {
                    self.give_components_entities();
                    IdParts { id: AtomId::AnyId(element), entity: None, final_by_default: true }
                }
                element => IdParts { id: AtomId::AnyId(element), entity: None, final_by_default: true },
            });
        };
        let Some(meaning) = self.meaning(path, first.id.span, None)? else {
            return Ok(IdParts { id: AtomId::AnyId(Element::Awaited), entity: None, final_by_default: true });
        };
        match meaning {
            Meaning::Entity(entity) => Ok(self.id_of_entity(entity)),
            Meaning::Type(type_id) => match self.site.component_of(type_id) {
                Some(component) => Ok(self.id_of_component(component, type_id)),
                None => {
                    let entity = self.entity_of(type_id, first.id.span)?;
                    Ok(IdParts { id: AtomId::Tag(entity), entity: Some(entity), final_by_default: true })
                }
            },
            Meaning::Member(..) => Err(Diagnostic::rule(first.id.span, "a field with a source and a value")),
        }
    }

    /// A variable holds entities: it can be a component only if one stands for it.
    fn give_components_entities(&mut self) {
        let Some(world) = self.site.world_mut() else { return };
        let internal = internal_components(Reads::World(world));
        let known = world.components().iter_registered();
        let others = known.filter(|(id, _)| !internal.contains(id));
        let types: Vec<TypeId> = others.filter_map(|(_, info)| info.type_id()).collect();
        for type_id in types {
            entity_of_type_id(world, type_id);
        }
    }

    fn id_of_entity(&mut self, entity: Entity) -> IdParts {
        let store = self.site.reads().store();
        let type_id = store.and_then(|store| store.registry.type_entities.get(&entity)).copied();
        let component = type_id.and_then(|type_id| Some((self.site.component_of(type_id)?, type_id)));
        match component {
            Some((component, type_id)) => self.id_of_component(component, type_id),
            None => {
                let final_by_default = type_id.is_some();
                IdParts { id: AtomId::Tag(entity), entity: Some(entity), final_by_default }
            }
        }
    }

    fn id_of_component(&mut self, component: ComponentId, type_id: TypeId) -> IdParts {
        let entity = self.site.reads().store().and_then(|store| store.registry.entity_of(type_id));
        IdParts { id: AtomId::Component(component), entity, final_by_default: true }
    }

    fn pair(
        &mut self,
        first: &Arg,
        target: &Arg,
        operator: &mut Operator,
        source: Option<&Arg>,
        prepared: &mut Prepared,
    ) -> Resolved<IdParts> {
        let mut relation = self.element_of(&first.id, None, prepared)?;
        let scope = relation.entity().and_then(|relation| {
            let registry = &self.site.reads().store()?.registry;
            registry.entry(registry.of_entity(relation)?).one_of
        });
        if target.id.kind == IdKind::Bits(0) {
            return self.no_target(relation, first.id.span, operator);
        }
        let mut element = self.element_of(&target.id, scope, prepared)?;
        let wildcard = target.id.kind == IdKind::Wildcard;
        let any_source = source.is_some_and(|source| source.id.kind == IdKind::Any);
        if wildcard && (*operator == Operator::Not || relation == Element::Any) {
            element = Element::Any;
        }
        // `_` asks for one pair, whatever stands beside it.
        if first.id.kind == IdKind::Wildcard && element == Element::Any {
            relation = Element::Any;
        }
        let exact = target.traversal.as_ref().is_some_and(|own| !walks(own));
        if let (Some(scope), Element::Entity(entity)) = (scope, element)
            && !target.traversal.as_ref().is_some_and(|traversal| walks(traversal))
        {
            self.check_one_of(scope, entity, target.id.span)?;
        }
        let target_traversal = match &target.traversal {
            Some(written) => self.traversal(written, false, false)?,
            None => None,
        };
        // The target itself counts as well. `*` and `_` are every target already.
        let target_traversal = target_traversal.filter(|_| !wildcard && element != Element::Any);
        let target_traversal = target_traversal.map(|walk| Traversal { own: true, ..walk });
        let closed = relation.entity().is_some() && !exact && element != Element::Any && !any_source;
        let id = AtomId::Pair(PairAtom { relation, target: element, closed, target_traversal });
        let entity = relation.entity();
        Ok(IdParts { id, entity, final_by_default: false })
    }

    /// A pair with a target outside the scope is refused whenever it is inserted.
    fn check_one_of(&self, scope: Entity, target: Entity, span: Span) -> Resolved<()> {
        let reads = self.site.reads();
        let is_child = |store: &PairStore| store.relation(CHILD_OF).has(target, scope);
        if reads.store().is_none_or(is_child) {
            return Ok(());
        }
        Err(Diagnostic::rule(
            span,
            format!("a child of {}, as the relation wants its targets", self.called(scope)),
        ))
    }

    /// `(ChildOf, #0)`: what is a child of nobody.
    fn no_target(&self, relation: Element, span: Span, operator: &mut Operator) -> Resolved<IdParts> {
        *operator = match *operator {
            Operator::And => Operator::Not,
            Operator::Not => Operator::And,
            Operator::Optional => return Err(Diagnostic::rule(span, "a term that must hold, with `#0`")),
        };
        let pair = PairAtom { relation, target: Element::Any, closed: false, target_traversal: None };
        Ok(IdParts { id: AtomId::Pair(pair), entity: relation.entity(), final_by_default: false })
    }

    /// One entity that is written down; `None` if it is [awaited](Element::Awaited).
    fn fixed(&mut self, id: &Id) -> Resolved<Option<Entity>> {
        let mut prepared = Prepared { items: Vec::new(), operator: Operator::And };
        match self.element_of(id, None, &mut prepared)? {
            Element::Entity(entity) => Ok(Some(entity)),
            Element::Awaited => Ok(None),
            _ => Err(Diagnostic::rule(id.span, "one relation")),
        }
    }

    /// An element in a position where entities stand.
    pub(super) fn element_of(
        &mut self,
        id: &Id,
        scope: Option<Entity>,
        prepared: &mut Prepared,
    ) -> Resolved<Element> {
        Ok(match &id.kind {
            IdKind::Wildcard => self.wildcard(),
            IdKind::Any => Element::Any,
            IdKind::Variable(name) => Element::Var(self.variable(name)),
            IdKind::Bits(bits) => {
                let entity = Entity::try_from_bits(*bits);
                let alive = entity.filter(|&entity| self.site.reads().entities().contains_spawned(entity));
                match alive {
                    Some(entity) => Element::Entity(entity),
                    None if self.site.is_ahead() => {
                        self.query.awaits_names = true;
                        Element::Awaited
                    }
                    None => {
                        return Err(Diagnostic::rule(id.span, "the bits of an entity that is alive"));
                    }
                }
            }
            IdKind::Lookup(name, path) => {
                let parent = self.variable(name);
                let child = self.unnamed();
                let path = as_text(&path.0).into();
                prepared.items.push(Item::Term(Term {
                    field: None,
                    operator: prepared.operator,
                    condition: Condition::Child { parent, path, child, beside: VarSet::default() },
                }));
                Element::Var(child)
            }
            IdKind::Path(path) => match self.meaning(path, id.span, scope)? {
                None => Element::Awaited,
                Some(Meaning::Entity(entity)) => Element::Entity(entity),
                Some(Meaning::Type(type_id)) => Element::Entity(self.entity_of(type_id, id.span)?),
                Some(Meaning::Member(..)) => return Err(Diagnostic::rule(id.span, "an entity, not a field")),
            },
        })
    }

    fn comparison(&mut self, comparison: &Comparison, prepared: &mut Prepared) -> Resolved<Condition> {
        let Element::Var(left) = self.element_of(&comparison.left, None, prepared)? else {
            return Err(Diagnostic::rule(comparison.left.span, "a variable"));
        };
        let right = match &comparison.right {
            AstComparand::Path(path) => Comparand::Path(path.as_str().into()),
            AstComparand::NamePart(part) => Comparand::Part(part.to_lowercase().into()),
            AstComparand::Id(Id { kind: IdKind::Wildcard, .. }) => Comparand::Everything,
            AstComparand::Id(id) => match self.element_of(id, None, prepared)? {
                Element::Entity(entity) => Comparand::Entity(entity),
                Element::Awaited => Comparand::Awaited,
                Element::Var(var) => {
                    self.compared.push(([left, var], id.span));
                    Comparand::Var(var)
                }
                Element::Any => Comparand::Everything,
                Element::Singleton(_) => return Err(Diagnostic::rule(id.span, "one entity or a variable")),
            },
        };
        Ok(Condition::Equal { left, right, negated: comparison.negated })
    }

    /// `SimTime(SimTime)`: a resource; `SimTime` alone if it is registered as one.
    fn singleton(&mut self, has: &Has) -> Resolved<Option<Atom>> {
        let (IdKind::Path(first), None, Some(source)) = (&has.first.id.kind, &has.target, &has.source) else {
            return Ok(None);
        };
        let store = self.site.reads().store();
        let alone = store.is_some_and(|store| !store.registry.singletons.is_empty())
            && source.id.kind.is_this()
            && source.traversal.is_none();
        if !alone && source.id.kind != has.first.id.kind {
            return Ok(None);
        }
        let Some(Meaning::Type(type_id)) = self.meaning(first, has.first.id.span, None)? else {
            return Ok(None);
        };
        let registered =
            self.site.reads().store().is_some_and(|store| store.registry.singletons.contains(&type_id));
        if alone && !registered {
            return Ok(None);
        }
        let Some(component) = self.site.component_of(type_id) else { return Ok(None) };
        if let Some(traversal) = source.traversal.as_ref().filter(|traversal| walks(traversal)) {
            return Err(Diagnostic::rule(traversal.span, "no traversal: a resource is in one place"));
        }
        self.add_singleton(component);
        let id = AtomId::Component(component);
        let source = Element::Singleton(component);
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
pub(super) struct Prepared {
    items: Vec<Item>,
    operator: Operator,
}
