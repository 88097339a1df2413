//! This crate, asked for the rows of an expression about a model: what is compared with the evaluation by
//! definition, and with Flecs.

use crate::oracle::{
    expr::{Elem, Expr, Look, Names, Oper, Ref, THIS, Term, Var, var_name},
    model::{BUILT_IN, CHILD_OF, Kind, Model, Node},
    rows::{self, Field, Row},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{CompiledExpr, FieldId, PairExpr},
    id::Slot,
    prelude::*,
    relation::{OnInstantiate, Prefab, RelationStorage},
};
use std::collections::HashMap;

/// The components of a model, by number.
#[derive(Component, Clone, Copy, Default)]
struct First(#[expect(dead_code, reason = "a component with a value")] u32);
#[derive(Component, Clone, Copy, Default)]
struct Second(#[expect(dead_code, reason = "a component with a value")] u32);

/// The component with a field that names an entity.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Movement {
    value: Entity,
}

/// The component with a number.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Health {
    number: i64,
}

/// The relation whose pairs have a number.
#[derive(Relation, Reflect, Clone)]
struct Weighs {
    number: i64,
}

/// The resource of a model.
#[derive(Resource, Reflect)]
#[reflect(Resource)]
struct Clock;

/// What it is called in a model.
const WEIGHS: &str = "Weighs";

/// What relations take turns with: no storage changes what is found.
const STORAGES: [RelationStorage; 3] =
    [RelationStorage::Store, RelationStorage::Table, RelationStorage::Fragmenting];

/// A world made after a model.
pub(crate) struct Ours {
    pub(crate) world: World,
    model: Model,
    entities: Vec<Entity>,
    nodes: HashMap<Entity, Node>,
    components: HashMap<bevy_ecs::component::ComponentId, Node>,
}

impl Ours {
    /// With `named` the entities have names, which are components too.
    pub(crate) fn new(model: &Model, named: bool) -> Self {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<Movement>();
        world.resource::<AppTypeRegistry>().write().register::<Clock>();
        world.resource::<AppTypeRegistry>().write().register::<Health>();
        world.resource::<AppTypeRegistry>().write().register::<Weighs>();
        world.register_singleton::<Clock>();
        let mut entities = vec![
            world.entity_of::<IsA>(),
            world.entity_of::<ChildOf>(),
            world.entity_of::<Prefab>(),
            world.entity_of::<Disabled>(),
        ];
        let mut components = HashMap::from([
            (world.register_component::<Prefab>(), 2),
            (world.register_component::<Disabled>(), 3),
        ]);
        for (node, spec) in model.nodes.iter().enumerate().skip(BUILT_IN) {
            let traits = traits(spec.traits);
            let entity = match spec.kind {
                // The last two are asked for by name, and stand for nothing here.
                Kind::Entity | Kind::Member | Kind::Singleton => world.spawn_empty().id(),
                Kind::Tag => {
                    let tag = world.spawn_empty().id();
                    world.set_traits(tag, traits).expect("traits of a new tag");
                    tag
                }
                Kind::Relation if spec.name == WEIGHS => {
                    world.register_relation::<Weighs>().expect("a relation with values");
                    world.entity_of::<Weighs>()
                }
                Kind::Relation => {
                    let traits = if spec.traits.one_of { traits.one_of() } else { traits };
                    let traits = traits.storage(STORAGES[(node + model.pairs.len()) % 3]);
                    world.spawn_relation("relation", traits).expect("traits of a new relation")
                }
                Kind::Component(number) => {
                    let (entity, id) = match number {
                        0 => (world.entity_of::<First>(), world.register_component::<First>()),
                        2 => (world.entity_of::<Movement>(), world.register_component::<Movement>()),
                        3 => (world.entity_of::<Health>(), world.register_component::<Health>()),
                        _ => (world.entity_of::<Second>(), world.register_component::<Second>()),
                    };
                    world.set_traits(entity, traits).expect("traits of a new component");
                    components.insert(id, node);
                    entity
                }
            };
            if named && !is_by_name(spec.kind) {
                world.entity_mut(entity).insert(Name::new(spec.name.clone()));
            }
            entities.push(entity);
        }
        let is_field = |relation: Node| model.nodes[relation].kind == Kind::Member;
        for &(source, relation, target) in model.pairs.iter().filter(|(_, relation, _)| !is_field(*relation))
        {
            let value = model.values.get(&(source, relation, Some(target)));
            let [source, relation, target] = [source, relation, target].map(|node| entities[node]);
            if let Some(&number) = value {
                world.insert_pair(source, Weighs { number }, target).expect("a pair with a value");
                continue;
            }
            world.insert_pair_by_id(source, (relation, target)).expect("a pair that the traits allow");
        }
        for &(node, mark) in &model.marks {
            let (entity, kind) = (entities[node], model.nodes[mark].kind);
            match (mark, kind) {
                (2, _) => drop(world.entity_mut(entity).insert(Prefab)),
                (3, _) => drop(world.entity_mut(entity).insert(Disabled)),
                (_, Kind::Singleton) => world.insert_resource(Clock),
                (_, Kind::Component(2)) => {
                    let field = model.pairs.iter().find(|&&(source, r, _)| source == node && is_field(r));
                    let &(.., value) = field.expect("the holder of a field has a value");
                    let value = entities[value];
                    world.entity_mut(entity).insert(Movement { value });
                }
                (_, Kind::Component(3)) => {
                    let number = model.values[&(node, mark, None)];
                    world.entity_mut(entity).insert(Health { number });
                }
                (_, Kind::Component(0)) => drop(world.entity_mut(entity).insert(First(1))),
                (_, Kind::Component(_)) => drop(world.entity_mut(entity).insert(Second(1))),
                _ => world.insert_tag(entity, entities[mark]).expect("both are alive"),
            }
        }
        let nodes = model.entities().map(|node| (entities[node], node)).collect();
        Self { world, model: model.clone(), entities, nodes, components }
    }

    /// The entities, by their nodes.
    pub(crate) fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// Gives an entity the component with this number, in place of the one it has.
    pub(crate) fn insert_component(&mut self, entity: Entity, number: usize, other: Entity) {
        let Ok(mut entity) = self.world.get_entity_mut(entity) else { return };
        match number {
            0 => entity.insert(First(1)),
            2 => entity.insert(Movement { value: other }),
            3 => entity.insert(Health { number: i64::from(other.index_u32() % 5) - 1 }),
            _ => entity.insert(Second(1)),
        };
    }

    /// Takes it away.
    pub(crate) fn remove_component(&mut self, entity: Entity, number: usize) {
        let Ok(mut entity) = self.world.get_entity_mut(entity) else { return };
        match number {
            0 => entity.remove::<First>(),
            2 => entity.remove::<Movement>(),
            3 => entity.remove::<Health>(),
            _ => entity.remove::<Second>(),
        };
    }

    /// Writes into components that are there.
    pub(crate) fn write_in_place(&mut self, entity: Entity, other: Entity) {
        if let Some(mut movement) = self.world.get_mut::<Movement>(entity) {
            movement.value = other;
        }
        if let Some(mut health) = self.world.get_mut::<Health>(entity) {
            health.number = -health.number;
        }
    }

    /// Makes the resource, or removes it.
    pub(crate) fn toggle_resource(&mut self) {
        match self.world.contains_resource::<Clock>() {
            true => drop(self.world.remove_resource::<Clock>()),
            false => self.world.insert_resource(Clock),
        }
    }

    /// The text that this world understands.
    pub(crate) fn text(&self, expr: &Expr) -> String {
        expr.text(Names::Numbers(&self.model, &self.numbers()))
    }

    /// What stands for the entities in a text.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let bits = self.entities.iter().zip(&self.model.nodes);
        let bits = bits.map(|(entity, spec)| if is_by_name(spec.kind) { 0 } else { entity.to_bits() });
        bits.collect()
    }

    /// Every row about entities of the model.
    ///
    /// # Errors
    /// Why the expression is refused.
    pub(crate) fn rows(&mut self, expr: &Expr) -> Result<Vec<Row>, String> {
        let text = self.text(expr);
        self.rows_of(&text, expr)
    }

    /// The rows of the expression, written so.
    ///
    /// # Errors
    /// Why the expression is refused.
    pub(crate) fn rows_of(&mut self, text: &str, expr: &Expr) -> Result<Vec<Row>, String> {
        let parsed = PairExpr::parse(text).map_err(|error| error.to_string())?;
        let mut compiled = parsed.compile(&mut self.world).map_err(|error| error.to_string())?;
        let rows = self.run(expr, &mut compiled)?;
        let count = compiled.count(&self.world);
        for batch_size in [1, 3] {
            compiled.set_batch_size(batch_size);
            assert_eq!(compiled.count(&self.world), count, "{expr:?}: in batches of {batch_size}");
        }
        Ok(rows)
    }

    fn run(&self, expr: &Expr, compiled: &mut CompiledExpr) -> Result<Vec<Row>, String> {
        let (shown, mut all) = (expr.shown_vars(), Vec::new());
        let each = |row: bevy_relations::expr::Row<'_>| {
            let value =
                |entity: Option<Entity>| entity.map(|entity| self.nodes.get(&entity).copied()).ok_or(());
            // An entity that the model does not know: no row of the model.
            let known =
                |entity: Option<Entity>| value(entity).map_or(Ok(None), |node| node.map(Some).ok_or(()));
            let vars = shown.iter().filter(|&&var| var != THIS);
            let vars: Result<_, ()> = vars.map(|&var| Ok((var, known(row.var(var_name(var)))?))).collect();
            let numbers = field_numbers(expr).into_iter().zip(field_kinds(&self.model, expr));
            let fields = numbers.map(|(field, by_name)| match row.is_set(field) {
                true if by_name => Ok(Field::Masked),
                _ => self.field(&row, field),
            });
            if let (Ok(this), Ok(vars), Ok(fields)) = (known(row.this()), vars, fields.collect()) {
                all.push(Row { this, vars, fields });
            }
        };
        compiled.for_each(&self.world, each).map_err(|error| error.to_string())?;
        Ok(all)
    }

    fn field(&self, row: &bevy_relations::expr::Row<'_>, field: usize) -> Result<Field, ()> {
        if !row.is_set(field) {
            return Ok(Field::Unset);
        }
        let node = |entity: Entity| self.nodes.get(&entity).copied().map(Some).ok_or(());
        let part = |slot: Slot| slot.entity().map_or(Ok(None), node);
        let (first, second) = match row.id(field) {
            None => (None, None),
            Some(FieldId::Component(id)) => (Some(self.components.get(&id).copied().ok_or(())?), None),
            Some(FieldId::Entity(entity)) => (node(entity)?, None),
            Some(FieldId::Pair(pair)) => (part(pair.relation())?, part(pair.target())?),
        };
        Ok(Field::Set { first, second, source: row.source(field).map_or(Ok(None), node)? })
    }
}

/// Whether a model knows enough to answer the expression. Names are a component that it does not know, and so are
/// others that relations and types have, which count in a scope that asks for whatever an entity has.
pub(crate) fn is_comparable(expr: &Expr) -> bool {
    let scopes = expr.0.iter().filter(|elem| matches!(elem, Elem::Scope { .. }));
    let asks_others = |term: &Term| {
        let known = matches!(term.source.of(), None | Some(Ref::Node(_) | Ref::Var(THIS)));
        !known && term.others().first().is_some_and(|id| id.is_open())
    };
    // Relations have names; some have children, which find them above.
    let finds_relations = |term: &&Term| {
        matches!(term.look(), Look::Up(up) if up.relation == CHILD_OF)
            && term.others().first().is_some_and(|id| id.is_open())
    };
    let plain = |elem: &Elem| matches!(elem, Elem::Term(Term { oper: Oper::And, .. }));
    let others = expr.0.iter().filter(|elem| !plain(elem));
    if others.flat_map(Elem::terms).any(|term| finds_relations(&term)) {
        return false;
    }
    let open = expr.asks_for_names() && expr.has_open_ids();
    !(open || scopes.flat_map(Elem::terms).any(asks_others))
}

/// Brings rows into the form in which two answers are equal if they say the same. Leaves out those about which
/// nothing is promised, or that a model cannot know: those about entities that stand for types; and where a term
/// asks for whatever an entity has, those about relations and tags, which have names and more.
pub(crate) fn settle(model: &Model, expr: &Expr, rows: &mut Vec<Row>) {
    rows::blot_named(model, expr, rows);
    // A test shows a source in its field here, and none by definition: only what shows one by both is looked at below.
    rows::blot_tests(expr, rows);
    let asks = |term: &&Term| term.others().first().is_some_and(|id| id.is_open());
    let asked: Vec<Var> =
        expr.terms().into_iter().filter(asks).filter_map(|term| term.source.of()?.var()).collect();
    let is_type = |node: Node| {
        let spec = &model.nodes[node];
        node < BUILT_IN || spec.name == WEIGHS || matches!(spec.kind, Kind::Component(_))
    };
    let compares = |(var, node): (Var, Node)| {
        let plain = model.nodes[node].kind == Kind::Entity;
        plain || !(is_type(node) || asked.contains(&var))
    };
    let anybody = |term: &&Term| matches!(term.source.of(), Some(Ref::Any | Ref::Wildcard));
    let asks_anybody = expr.terms().iter().any(|term| asks(term) && anybody(term));
    let holds = |node: Node| {
        let plain = model.nodes[node].kind == Kind::Entity;
        plain || !(is_type(node) || asks_anybody)
    };
    rows.retain(|row| {
        let vars = row.vars.iter().filter_map(|&(var, value)| Some((var, value?)));
        let mut sources = row.fields.iter().filter_map(|field| match field {
            Field::Set { source, .. } => *source,
            Field::Unset | Field::Masked => None,
        });
        row.this.map(|this| (THIS, this)).into_iter().chain(vars).all(compares) && sources.all(holds)
    });
    rows::normalize(expr, rows);
    rows.sort_unstable();
}

fn traits(traits: crate::oracle::model::Traits) -> RelationTraits {
    type Declare = fn(RelationTraits) -> RelationTraits;
    let declared: [(bool, Declare); 6] = [
        (traits.exclusive, RelationTraits::exclusive),
        (traits.symmetric, RelationTraits::symmetric),
        (traits.transitive, RelationTraits::transitive),
        (traits.reflexive, RelationTraits::reflexive),
        (traits.traversable, RelationTraits::traversable),
        (traits.inherit, |traits| traits.on_instantiate(OnInstantiate::Inherit)),
    ];
    let set = declared.into_iter().filter(|(set, _)| *set);
    set.fold(RelationTraits::new(), |traits, (_, declare)| declare(traits))
}

/// Whether the world knows it by its name only.
fn is_by_name(kind: Kind) -> bool {
    matches!(kind, Kind::Member | Kind::Singleton)
}

/// Of every term and chain outside of scopes, whether it is about a resource, or a field of a component.
fn field_kinds(model: &Model, expr: &Expr) -> Vec<bool> {
    let outside = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. }));
    let by_name = |term: &Term| {
        let id = term.others().first().and_then(|id| id.node());
        id.is_some_and(|id| is_by_name(model.nodes[id].kind))
    };
    outside.map(|elem| elem.terms().into_iter().any(by_name)).collect()
}

/// The field of every term and chain outside of scopes; those within have fields too.
fn field_numbers(expr: &Expr) -> Vec<usize> {
    fn count(elem: &Elem) -> usize {
        match elem {
            Elem::Term(_) | Elem::Or(_) => 1,
            Elem::Scope { elems, .. } => elems.iter().map(count).sum(),
        }
    }
    let (mut number, mut numbers) = (0, Vec::new());
    for elem in &expr.0 {
        if !matches!(elem, Elem::Scope { .. }) {
            numbers.push(number);
        }
        number += count(elem);
    }
    numbers
}
