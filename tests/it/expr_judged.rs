//! Random expressions about random worlds, against the evaluation by definition.

use crate::oracle::{
    eval,
    expr::{Body, Elem, Expr, Names, Ref, THIS, Term, var_name},
    model::{BUILT_IN, CHILD_OF, DISABLED, IS_A, Kind, Model, Node, PREFAB},
    random::{self, Random},
    rows::{self, Field, Row},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{CompiledExpr, FieldId, PairExpr, prelude::*};
use std::collections::BTreeMap;

#[derive(Component, Default)]
struct Numbered<const N: usize>;

/// A world like the model, and the entities of its nodes.
struct Built {
    world: World,
    entities: Vec<Entity>,
    nodes: BTreeMap<Entity, Node>,
}

/// Calls a function for the component with a number.
macro_rules! with_component {
    ($number:expr, $c:ident => $do:expr) => {
        match $number {
            0 => {
                type $c = Numbered<0>;
                $do
            }
            1 => {
                type $c = Numbered<1>;
                $do
            }
            2 => {
                type $c = Numbered<2>;
                $do
            }
            3 => {
                type $c = Numbered<3>;
                $do
            }
            4 => {
                type $c = Numbered<4>;
                $do
            }
            number => panic!("component {number}: add it here"),
        }
    };
}

/// `names`: whether entities have their names, which are a component that `*` would find.
fn build(model: &Model, names: bool) -> Built {
    let mut world = World::new();
    world.register_component::<Prefab>();
    let mut entities = Vec::new();
    for (node, spec) in model.nodes.iter().enumerate() {
        let rule = if spec.traits.inherit { OnInstantiate::Inherit } else { OnInstantiate::Override };
        let entity = match (node, spec.kind) {
            (IS_A, _) => world.entity_of::<IsA>(),
            (CHILD_OF, _) => world.entity_of::<ChildOf>(),
            (PREFAB, _) => world.entity_of::<Prefab>(),
            (DISABLED, _) => world.entity_of::<Disabled>(),
            (_, Kind::Component(number)) => with_component!(number, C => {
                world.register_component::<C>();
                let entity = world.entity_of::<C>();
                world.set_traits(entity, RelationTraits::new().inheritable().on_instantiate(rule)).unwrap();
                entity
            }),
            _ => {
                let entity = world.spawn_empty().id();
                if names {
                    world.entity_mut(entity).insert(Name::new(spec.name.clone()));
                }
                let mut traits = RelationTraits::new().on_instantiate(rule);
                let t = spec.traits;
                for (is, with) in [
                    (t.exclusive, RelationTraits::exclusive as fn(_) -> _),
                    (t.symmetric, RelationTraits::symmetric),
                    (t.transitive, RelationTraits::transitive),
                    (t.reflexive, RelationTraits::reflexive),
                    (t.traversable, RelationTraits::traversable),
                ] {
                    if is {
                        traits = with(traits);
                    }
                }
                world.set_traits(entity, traits).unwrap();
                entity
            }
        };
        entities.push(entity);
    }
    for &(source, mark) in &model.marks {
        let mut entity = world.entity_mut(entities[source]);
        match (mark, model.nodes[mark].kind) {
            (PREFAB, _) => {
                entity.insert(Prefab);
            }
            (DISABLED, _) => {
                entity.insert(Disabled);
            }
            (_, Kind::Component(number)) => {
                with_component!(number, C => { entity.insert(C::default()); });
            }
            _ => world.insert_tag(entities[source], entities[mark]).unwrap(),
        }
    }
    for &(source, relation, target) in &model.pairs {
        world.insert_pair_by_id(entities[source], entities[relation], entities[target]).unwrap();
    }
    let nodes = entities.iter().enumerate().map(|(node, &entity)| (entity, node)).collect();
    Built { world, entities, nodes }
}

/// The rows that the crate finds.
fn found(built: &mut Built, model: &Model, expr: &Expr, text: &str) -> Result<Vec<Row>, String> {
    let parsed = PairExpr::parse(text).map_err(|error| error.to_string())?;
    let mut compiled = parsed.compile(&mut built.world).map_err(|error| error.to_string())?;
    let fields = top_fields(&expr.0, &compiled);
    let node = |entity: Entity| built.nodes.get(&entity).copied();
    let component = |id| {
        let type_id = built.world.components().get_info(id)?.type_id()?;
        (0..model.nodes.len()).find(|&node| match model.nodes[node].kind {
            Kind::Component(number) => with_component!(number, C => type_id == core::any::TypeId::of::<C>()),
            _ => false,
        })
    };
    let shown = expr.shown_vars();
    let mut rows = Vec::new();
    compiled
        .for_each(&built.world, |row| {
            let fields = fields.iter().map(|&field| {
                if !row.is_set(field) {
                    return Field::Unset;
                }
                let (first, second) = match row.id(field) {
                    Some(FieldId::Component(id)) => (component(id), None),
                    Some(FieldId::Entity(entity)) => (node(entity), None),
                    Some(FieldId::Pair(pair)) => {
                        (pair.relation().entity().and_then(node), pair.target().entity().and_then(node))
                    }
                    None => (None, None),
                };
                Field::Set { first, second, source: row.source(field).and_then(node) }
            });
            rows.push(Row {
                this: row.this().and_then(node),
                fields: fields.collect(),
                vars: shown
                    .iter()
                    .filter(|&&var| var != THIS)
                    .map(|&var| (var, row.var(var_name(var)).and_then(node)))
                    .collect(),
            });
        })
        .map_err(|error| error.to_string())?;
    for batch_size in [1, 3] {
        compiled.set_batch_size(batch_size);
        assert_eq!(compiled.count(&built.world), Ok(rows.len()), "{text}: in batches of {batch_size}");
    }
    Ok(rows)
}

/// The numbers of the fields outside of scopes.
fn top_fields(elems: &[Elem], compiled: &CompiledExpr) -> Vec<usize> {
    fn size(elems: &[Elem]) -> usize {
        elems.iter().map(|elem| if let Elem::Scope { elems, .. } = elem { size(elems) } else { 1 }).sum()
    }
    let mut fields = Vec::new();
    let mut next = 0;
    for elem in elems {
        if let Elem::Scope { elems, .. } = elem {
            next += size(elems);
        } else {
            fields.push(next);
            next += 1;
        }
    }
    assert_eq!(next, compiled.field_count());
    fields
}

#[test]
fn random_expressions_find_what_they_mean_by_definition() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let cases: u64 = std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let (mut compared, mut refused, mut failures) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for case in 0..cases {
        let mut random = Random::new(seed, case);
        let model = random::world(&mut random);
        let mut worlds = [false, true].map(|names| build(&model, names));
        let is_type = |node: Node| node < BUILT_IN || matches!(model.nodes[node].kind, Kind::Component(_));
        // Entities that stand for types are kept out of sight.
        let is_seen = |row: &Row| {
            let vars = row.vars.iter().filter_map(|&(_, value)| value);
            !row.this.into_iter().chain(vars).any(is_type)
        };
        for _ in 0..10 {
            let expr = random::expr(&mut random, &model);
            let Some(mut expected) = eval::rows(&model, &expr) else { continue };
            // In which order ids of different kinds come is nobody's promise.
            let chains = expr.0.iter().any(|elem| matches!(elem, Elem::Or(_) | Elem::Scope { .. }));
            let anybody = |term: &Term| matches!(term.source.of(), Some(Ref::Any | Ref::Wildcard));
            let open = expr.has_open_ids() || expr.terms().into_iter().any(anybody);
            // Which of several ways comes first, neither.
            let follows = |term: &Term| match &term.body {
                Body::Pair { relation: Ref::Node(relation), target, .. } if target.is_open() => {
                    let traits = model.nodes[*relation].traits;
                    traits.transitive || traits.reflexive
                }
                _ => false,
            };
            let open = open || expr.terms().into_iter().any(follows);
            if (chains && open) || (expr.asks_for_names() && expr.has_open_ids()) {
                continue;
            }
            let built = &mut worlds[usize::from(expr.asks_for_names())];
            let numbers: Vec<u64> = built.entities.iter().map(|entity| entity.to_bits()).collect();
            let text = expr.text(Names::Numbers(&numbers));
            let readable = expr.text(Names::Paths(&model));
            match found(built, &model, &expr, &text) {
                Err(error) => {
                    let kind =
                        error.lines().next().unwrap_or_default().split("found").next().unwrap_or_default();
                    *refused
                        .entry(kind.split_once(": ").map_or(kind, |(_, kind)| kind).to_owned())
                        .or_default() += 1;
                }
                Ok(mut rows) => {
                    compared += 1;
                    for rows in [&mut expected, &mut rows] {
                        rows::normalize(&model, &expr, rows);
                        rows.retain(is_seen);
                        rows.sort_unstable();
                        rows.dedup();
                    }
                    if rows != expected {
                        let show = |rows: &[Row]| {
                            rows.iter()
                                .map(|row| rows::describe(&model, row))
                                .collect::<Vec<_>>()
                                .join("\n    ")
                        };
                        failures.push(format!(
                            "case {case}: {readable}\n  found:\n    {}\n  expected:\n    {}\n{model}",
                            show(&rows),
                            show(&expected)
                        ));
                    }
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "seed {seed}: {} of {compared} differ; refused: {refused:#?}\n{}",
        failures.len(),
        failures.iter().take(6).cloned().collect::<Vec<_>>().join("\n")
    );
    assert!(compared > cases * 6, "too few were compared; refused: {refused:#?}");
}
