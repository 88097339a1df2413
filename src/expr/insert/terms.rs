//! What the terms of an insertion mean in a world, before anything is changed.

use super::value::ValueBuilder;
use crate::{
    expr::{
        bind::{
            BindResult, Meaning, fields_of, meaning_of, names_entities, read_key, type_with_unknown_fields,
        },
        eval::{WorldAccess, internal_components},
    },
    fetch,
    ops::{
        InsertPairError, NewPair, TypedValue, ValueType, component_companions, entity_of_type_id,
        relation_id_of,
    },
    relation::{ColumnRef, NamedKey, Prefab},
    store::PairStore,
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    component::{ComponentId, ComponentInfo, RequiredComponents},
    entity::Entity,
    entity_disabling::Disabled,
    reflect::{AppTypeRegistry, ReflectComponent},
    resource::IS_RESOURCE,
    world::{EntityWorldMut, World},
};
use bevy_platform::collections::HashMap;
use bevy_reflect::{Reflect, ReflectFromReflect, TypeRegistry, std_traits::ReflectDefault};
use bevy_relations_syntax::{
    ast::{Id, IdKind, Key, KeyKind, Literal, Path, Span},
    error::{Diagnostic, ExprErrorKind},
    insertion::{NewField, NewPart, NewTerm, NewTermKind, NewValue, NewValueKind},
};
use core::any::TypeId;

/// Why a term is not inserted.
pub(super) enum Refusal {
    Text(Box<Diagnostic>),
    Pair(Span, InsertPairError),
    /// By an observer or hook of what was inserted.
    Despawned,
}

impl From<Box<Diagnostic>> for Refusal {
    fn from(fault: Box<Diagnostic>) -> Self {
        Self::Text(fault)
    }
}

/// An entity that a term names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Element {
    Entity(Entity),
    /// One that is to be spawned at the end of a path below `parent`.
    New {
        path: Vec<String>,
        parent: Option<Entity>,
    },
}

impl Element {
    pub(super) fn entity(&self) -> Option<Entity> {
        match self {
            Self::Entity(entity) => Some(*entity),
            Self::New { .. } => None,
        }
    }
}

/// What a term means.
pub(super) enum Planned<'t> {
    Component(PlannedComponent<'t>),
    Tag(Element),
    Pair(PlannedPair<'t>),
    /// What another term says, too.
    Repeated,
}

/// A component, by its type.
pub(super) struct PlannedComponent<'t> {
    type_id: TypeId,
    value: Option<&'t NewValue>,
    /// Once it is known what to insert.
    pub(super) made: Option<MadeComponent>,
}

/// A component that can be inserted.
pub(super) struct MadeComponent {
    pub(super) id: ComponentId,
    pub(super) how: InsertComponent,
    /// It takes the place of a value that is there.
    pub(super) replaces: bool,
}

/// How a component is inserted.
pub(super) enum InsertComponent {
    /// It is there, or another component brings it.
    IsThere,
    Marker(fn(&mut EntityWorldMut<'_>)),
    /// With a registry of its type alone: hooks may use that of the world.
    Reflected(ReflectComponent, Box<TypeRegistry>, Box<dyn Reflect>),
}

/// A pair, by its elements.
pub(super) struct PlannedPair<'t> {
    pub(super) relation: Element,
    pub(super) target: Element,
    /// Where the target stands.
    at: Span,
    value: Option<&'t NewValue>,
    key: Option<(&'t Key, Span)>,
}

/// A term with what it means.
pub(super) struct PlannedTerm<'t> {
    pub(super) span: Span,
    pub(super) planned: Planned<'t>,
}

/// Looks up what the terms name, up to the first that cannot be inserted.
pub(super) fn resolve<'t>(
    world: &mut World,
    entity: Entity,
    terms: &'t [NewTerm],
    spawns_names: bool,
) -> (Vec<PlannedTerm<'t>>, Option<Refusal>) {
    let mut resolver = Resolver { world, entity, spawns_names, met: HashMap::default() };
    let mut planned: Vec<PlannedTerm<'t>> = Vec::new();
    for term in terms {
        match resolver.term(term, &mut planned) {
            Ok(meaning) => planned.push(PlannedTerm { span: term.span, planned: meaning }),
            Err(refusal) => return (planned, Some(refusal)),
        }
    }
    (planned, None)
}

/// What must not be there twice.
#[derive(PartialEq, Eq, Hash)]
enum NamedItem {
    Component(TypeId),
    Tag(Element),
    Pair(Element, Element),
}

struct Resolver<'w> {
    world: &'w mut World,
    /// Which gets the components and pairs.
    entity: Entity,
    spawns_names: bool,
    /// The numbers of terms.
    met: HashMap<NamedItem, usize>,
}

enum Resolved {
    Type(TypeId),
    Element(Element),
}

impl Resolver<'_> {
    fn term<'t>(
        &mut self,
        term: &'t NewTerm,
        earlier: &mut [PlannedTerm<'t>],
    ) -> Result<Planned<'t>, Refusal> {
        match &term.kind {
            NewTermKind::Id(part) => self.single(part, earlier),
            NewTermKind::Pair { relation, target, key } => self.pair(relation, target, key.as_ref(), earlier),
        }
    }

    /// What an element is, or that there is no such entity yet.
    fn resolve(&self, id: &Id, scope: Option<Entity>) -> BindResult<Resolved> {
        if id.kind.is_this() {
            return Ok(Resolved::Element(Element::Entity(self.entity)));
        }
        match (meaning_of(self.world, id, scope), &id.kind) {
            (Ok(Meaning::Type(type_id)), _) => Ok(Resolved::Type(type_id)),
            (Ok(Meaning::Entity(entity)), _) => {
                let store = fetch::store(self.world);
                let type_id = store.and_then(|store| store.registry().type_of(entity));
                Ok(type_id.map_or(Resolved::Element(Element::Entity(entity)), Resolved::Type))
            }
            (Ok(Meaning::Member(..)), _) => {
                let message = "a field is inserted with its component: `Health { hp: 10 }`";
                Err(Diagnostic::rule(id.span, message))
            }
            (Err(fault), IdKind::Path(path)) if self.may_spawn(&fault, path) => {
                Ok(Resolved::Element(Element::New { path: path.0.clone(), parent: scope }))
            }
            (Err(fault), _) => Err(fault),
        }
    }

    fn may_spawn(&self, fault: &Diagnostic, path: &Path) -> bool {
        self.spawns_names && fault.kind() == ExprErrorKind::UnknownName && names_entities(self.world, path)
    }

    /// The entity that an element is, made if it stands for a type.
    fn element(&mut self, id: &Id, scope: Option<Entity>) -> BindResult<Element> {
        Ok(match self.resolve(id, scope)? {
            Resolved::Element(element) => element,
            Resolved::Type(type_id) => Element::Entity(entity_of_type_id(self.world, type_id)),
        })
    }

    fn single<'t>(
        &mut self,
        part: &'t NewPart,
        earlier: &mut [PlannedTerm<'t>],
    ) -> Result<Planned<'t>, Refusal> {
        let element = match self.resolve(&part.id, None)? {
            Resolved::Type(type_id) if self.is_component(type_id) => {
                if self.repeats(NamedItem::Component(type_id), part.value.as_ref(), earlier)? {
                    return Ok(Planned::Repeated);
                }
                let value = part.value.as_ref();
                return Ok(Planned::Component(PlannedComponent { type_id, value, made: None }));
            }
            Resolved::Type(type_id) => Element::Entity(entity_of_type_id(self.world, type_id)),
            Resolved::Element(element) => element,
        };
        if let Some(value) = &part.value {
            return Err(Diagnostic::rule(value.span, "this is a tag, which has no value").into());
        }
        match self.repeats(NamedItem::Tag(element.clone()), None, earlier)? {
            true => Ok(Planned::Repeated),
            false => Ok(Planned::Tag(element)),
        }
    }

    fn is_component(&self, type_id: TypeId) -> bool {
        let types = self.world.get_resource::<AppTypeRegistry>();
        self.world.components().get_id(type_id).is_some()
            || types.is_some_and(|types| types.read().get_type_data::<ReflectComponent>(type_id).is_some())
    }

    fn pair<'t>(
        &mut self,
        relation: &'t NewPart,
        target: &'t NewPart,
        key: Option<&'t Key>,
        earlier: &mut [PlannedTerm<'t>],
    ) -> Result<Planned<'t>, Refusal> {
        let value = match (&relation.value, &target.value) {
            (Some(_), Some(second)) => {
                return Err(Diagnostic::rule(second.span, "a pair has one value").into());
            }
            (value, other) => value.as_ref().or(other.as_ref()),
        };
        let first = self.element(&relation.id, None)?;
        let mut scope = None;
        if let Some(entity) = first.entity() {
            if fetch::store(self.world).is_some_and(|store| store.registry().names_tags(entity)) {
                let message = "it stands for tags, which have no relation: write the tag alone";
                return Err(Diagnostic::rule(relation.id.span, message).into());
            }
            let id = relation_id_of(self.world, entity);
            let id = id.map_err(|error| Refusal::Pair(relation.id.span, error.into()))?;
            scope = fetch::store(self.world).and_then(|store| store.registry().entry(id).one_of);
        }
        let second = self.element(&target.id, scope)?;
        let key_and_place = key.map(|key| (key, relation.id.span));
        let at = target.id.span;
        let pair = PlannedPair { relation: first, target: second, at, value, key: key_and_place };
        // The value is made again when everything is known to be right.
        pair.to_insert(self.world)?;
        let named = NamedItem::Pair(pair.relation.clone(), pair.target.clone());
        if let Some(key) = key
            && self.met.contains_key(&named)
        {
            return Err(Diagnostic::rule(key.span, "a pair has one key: it stands here before").into());
        }
        match self.repeats(named, value, earlier)? {
            true => Ok(Planned::Repeated),
            false => Ok(Planned::Pair(pair)),
        }
    }

    /// Whether an earlier term names the same, which gets the value then.
    fn repeats<'t>(
        &mut self,
        named: NamedItem,
        value: Option<&'t NewValue>,
        earlier: &mut [PlannedTerm<'t>],
    ) -> BindResult<bool> {
        let Some(&number) = self.met.get(&named) else {
            self.met.insert(named, earlier.len());
            return Ok(false);
        };
        let (Planned::Component(PlannedComponent { value: known, .. })
        | Planned::Pair(PlannedPair { value: known, .. })) = &mut earlier[number].planned
        else {
            return Ok(true);
        };
        match (&known, value) {
            (Some(_), Some(value)) => Err(Diagnostic::rule(value.span, "it has a value already")),
            (None, Some(_)) => {
                *known = value;
                Ok(true)
            }
            (_, None) => Ok(true),
        }
    }
}

impl PlannedPair<'_> {
    /// The pair, if both entities are there, with its value.
    pub(super) fn to_insert(&self, world: &World) -> BindResult<Option<NewPair>> {
        let Some(store) = fetch::store(world) else { return self.without_value(None) };
        let relation = self.relation.entity();
        let Some((relation, id)) = relation.and_then(|of| Some((of, store.registry().of_entity(of)?))) else {
            self.check_fields_are_known(world, store, None)?;
            return self.without_value(relation);
        };
        let entry = store.registry().entry(id);
        // A target that is to be spawned stands for no type.
        let column = match self.target.entity() {
            Some(target) => store.column_of(id, target, target),
            None => entry.data.filter(|_| entry.adopted.is_none()),
        };
        self.check_fields_are_known(world, store, Some(relation))?;
        let value = match (self.value, self.key) {
            (None, None) => None,
            (Some(written), _) => {
                let column = column.ok_or_else(|| {
                    let message = match entry.adopted {
                        Some(_) => "the values of Bevy's relationships cannot be written in an expression",
                        None => "the pair carries no value",
                    };
                    Diagnostic::rule(written.span, message)
                })?;
                Some(value_of_pair(world, column, written)?)
            }
            (None, Some((key, span))) => {
                let Some(rule) = entry.traits.key_rule() else {
                    let message =
                        "its pairs have no keys: that takes a relation with `#[relation(key = ..)]`";
                    return Err(Diagnostic::rule(span, message));
                };
                Some(value_with_key(world, &read_key(rule, key)?, key)?)
            }
        };
        let Some(target) = self.target.entity() else { return Ok(None) };
        Ok(Some(NewPair { relation, target, value }))
    }

    /// [`to_insert`](Self::to_insert) for what is no relation yet.
    fn without_value(&self, relation: Option<Entity>) -> BindResult<Option<NewPair>> {
        let span = self.value.map(|value| value.span).or(self.key.map(|(key, _)| key.span));
        if let Some(span) = span {
            return Err(Diagnostic::rule(span, "the relation does not exist yet: its pairs carry no value"));
        }
        let ends = relation.zip(self.target.entity());
        Ok(ends.map(|(relation, target)| NewPair { relation, target, value: None }))
    }

    /// A pair with a type as its relation or target may carry values of that type; the store finds a type with fields only by its
    /// use.
    fn check_fields_are_known(
        &self,
        world: &World,
        store: &PairStore,
        relation: Option<Entity>,
    ) -> BindResult<()> {
        // A target that is to be spawned stands for no type.
        let ends = [None, self.target.entity()];
        let Some((_, name)) = type_with_unknown_fields(world, store, relation, ends) else { return Ok(()) };
        let message = format!("pairs with {name} carry its values, which the world must know first");
        Err(Diagnostic::rule(self.at, message).help("call `world.entity_of` with the type once"))
    }
}

/// A value of the type that a pair carries.
fn value_of_pair(world: &World, column: ColumnRef, written: &NewValue) -> BindResult<TypedValue> {
    let value_type = ValueType::of_column(column);
    Ok(TypedValue { value_type, value: build(world, value_type, written)? })
}

/// A value of a registered type.
fn build(world: &World, value_type: ValueType, written: &NewValue) -> BindResult<Box<dyn Reflect>> {
    let types = world.get_resource::<AppTypeRegistry>();
    let registered = types.and_then(|types| types.read().get(value_type.type_id).cloned());
    let Some((types, registered)) = types.zip(registered) else {
        let message = format!("the value is a `{}`, which is not registered for reflection", value_type.name);
        return Err(Diagnostic::rule(written.span, message).help("register it with `App::register_type`"));
    };
    ValueBuilder { types, world }.build(&registered, Some(written), written.span)
}

/// A value that has a key, and is the default for the rest.
fn value_with_key(world: &World, named: &NamedKey, key: &Key) -> BindResult<TypedValue> {
    let value_type = ValueType { type_id: named.rule.value_type(), name: named.rule.value_name() };
    let mut fault = None;
    for written in keys_as_values(world, value_type.type_id, key) {
        match build(world, value_type, &written) {
            Ok(value) if named.is_of(value.as_any()) => return Ok(TypedValue { value_type, value }),
            Ok(_) => {}
            Err(other) => fault = fault.or(Some(other)),
        }
    }
    Err(fault.unwrap_or_else(|| {
        let message = "no value with this key can be made: write the value behind the relation, in parentheses or braces";
        Diagnostic::rule(key.span, message)
    }))
}

/// The values that a key can be part of: it alone, or as one of the fields.
fn keys_as_values(world: &World, type_id: TypeId, key: &Key) -> Vec<NewValue> {
    let at = |kind| NewValue { kind, span: key.span };
    let spellings = match &key.kind {
        KeyKind::Number(number) => {
            alloc::vec![at(NewValueKind::Literal(Literal::Number(number.to_string())))]
        }
        KeyKind::Name(path) => {
            let id = Id { kind: IdKind::Path(path.clone()), span: key.span };
            let text = Literal::Text(path.0.join("."));
            alloc::vec![at(NewValueKind::Id(id)), at(NewValueKind::Literal(text))]
        }
    };
    let types = world.get_resource::<AppTypeRegistry>().map(|types| types.read());
    let registered = types.as_ref().and_then(|types| types.get(type_id));
    let fields = registered.map(|registered| fields_of(registered.type_info()));
    let mut values = Vec::new();
    for spelling in spellings {
        for field in fields.iter().flatten() {
            let field = NewField { name: field.name().to_string(), span: key.span, value: spelling.clone() };
            values.push(at(NewValueKind::Struct(alloc::vec![field])));
        }
        values.push(spelling);
    }
    values
}

/// Finds out how the components are inserted, up to the first that cannot be. Returns the ids of all that the entity
/// will have got by then.
pub(super) fn make_components(
    world: &mut World,
    entity: Entity,
    terms: &mut Vec<PlannedTerm<'_>>,
) -> (Vec<ComponentId>, Option<Refusal>) {
    let mut promised = Vec::new();
    for number in 0..terms.len() {
        let PlannedTerm { span, planned: Planned::Component(component) } = &mut terms[number] else {
            continue;
        };
        match make_component(world, entity, component, *span, &promised) {
            Ok(made) => {
                let is_new = world.get_entity(entity).is_ok_and(|entity| !entity.contains_id(made.id));
                promise(world, made.id, is_new, &mut promised);
                component.made = Some(made);
            }
            Err(fault) => {
                terms.truncate(number);
                return (promised, Some(fault.into()));
            }
        }
    }
    (promised, None)
}

/// Adds a component to those that an entity will have, with what is inserted along with it.
fn promise(world: &World, component: ComponentId, is_new: bool, promised: &mut Vec<ComponentId>) {
    promised.push(component);
    let required = world.components().get_info(component).map(ComponentInfo::required_components);
    promised.extend(required.into_iter().flat_map(RequiredComponents::iter_ids));
    // Companions come with a component that is added, and not with a new value.
    for companion in component_companions(world, component).filter(|_| is_new) {
        if !promised.contains(&companion) {
            promise(world, companion, true, promised);
        }
    }
}

fn make_component(
    world: &mut World,
    entity: Entity,
    component: &PlannedComponent<'_>,
    span: Span,
    promised: &[ComponentId],
) -> BindResult<MadeComponent> {
    let PlannedComponent { type_id, value, .. } = *component;
    if let Some(made) = marker(world, type_id) {
        return match value {
            Some(value) if value.kind != NewValueKind::Struct(Vec::new()) => {
                Err(Diagnostic::rule(value.span, "this component has no fields"))
            }
            _ => Ok(made),
        };
    }
    let types = world.get_resource::<AppTypeRegistry>().cloned();
    let registered = types.as_ref().and_then(|types| types.read().get(type_id).cloned());
    let reflect = registered.as_ref().and_then(|known| known.data::<ReflectComponent>()).cloned();
    let (Some(types), Some(registered), Some(reflect)) = (types, registered, reflect) else {
        let message =
            "no value of this component can be made: its type is not registered with `#[reflect(Component)]`";
        return Err(Diagnostic::rule(span, message).help("register it with `App::register_type`"));
    };
    let id = reflect.register_component(world);
    check_kind(world, id, span)?;
    let world: &World = world;
    let is_there = promised.contains(&id) || world.get_entity(entity).is_ok_and(|own| own.contains_id(id));
    let built = ValueBuilder { types: &types, world }.build(&registered, value, span);
    let how = match built {
        Ok(value) => {
            let can_be_copied = registered.contains::<ReflectDefault>()
                || registered
                    .data::<ReflectFromReflect>()
                    .is_some_and(|from| from.from_reflect(value.as_partial_reflect()).is_some());
            if !can_be_copied {
                return Err(Diagnostic::rule(
                    span,
                    "the component can be made neither by `FromReflect` nor by `Default`",
                ));
            }
            let mut own = TypeRegistry::empty();
            own.add_registration(registered);
            InsertComponent::Reflected(reflect, Box::new(own), value)
        }
        Err(_) if is_there && value.is_none() => InsertComponent::IsThere,
        Err(fault) => return Err(fault),
    };
    Ok(MadeComponent { id, how, replaces: value.is_some() })
}

/// The markers that have a name in every world.
fn marker(world: &mut World, type_id: TypeId) -> Option<MadeComponent> {
    let (id, insert): (_, fn(&mut EntityWorldMut<'_>)) = if type_id == TypeId::of::<Prefab>() {
        (world.register_component::<Prefab>(), |entity| {
            entity.insert(Prefab);
        })
    } else if type_id == TypeId::of::<Disabled>() {
        (world.register_component::<Disabled>(), |entity| {
            entity.insert(Disabled);
        })
    } else {
        return None;
    };
    Some(MadeComponent { id, how: InsertComponent::Marker(insert), replaces: false })
}

/// Components that are kept by something else cannot be inserted.
fn check_kind(world: &World, id: ComponentId, span: Span) -> BindResult<()> {
    let Some(info) = world.components().get_info(id) else { return Ok(()) };
    if info.relationship_accessor().is_some() {
        let message = "a Bevy relationship is a pair: write it as `(ChildOf, parent)`";
        return Err(Diagnostic::rule(span, message));
    }
    if info.required_components().iter_direct_ids().any(|required| required == IS_RESOURCE) {
        return Err(Diagnostic::rule(
            span,
            "a resource cannot be inserted by an expression: call `insert_resource`",
        ));
    }
    if internal_components(WorldAccess::World(world)).contains(&id) {
        return Err(Diagnostic::rule(span, "this component is kept by relations themselves"));
    }
    Ok(())
}
