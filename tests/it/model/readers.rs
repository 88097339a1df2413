//! Every way of reading a relation, compared with every other: what `targets` gives, source by source, is what each
//! other way must give.
//!
//! System states, query states and compiled expressions are kept over a whole history; each step also makes new ones
//! for one of the relations in turn.

use bevy_ecs::{
    entity::EntityHashSet,
    prelude::*,
    query::{QueryFilter, QueryState},
    system::{SystemParam, SystemState},
};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
    query::{Cached, PairsOf, Target, TargetOf, Unrelated, Up},
    relation::ExclusiveRelation,
};
use std::{fmt::Debug, sync::Mutex};

/// The data that every entity of a history has.
#[derive(Component, Clone)]
pub(super) struct Body(pub(super) u32);

/// Marks the entities of a history, unlike the bystanders.
#[derive(Component, Clone)]
pub(super) struct Actor;

/// Some have it.
#[derive(Component, Clone)]
pub(super) struct Rank;

/// A query that asks for it goes by archetype.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Sparse;

/// So many entities with a [`Body`] have no pairs that it takes less time to look up those that have some.
const BYSTANDERS: u32 = 150;

type Pair = (Entity, Entity);
type Outcome = Result<(), String>;

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort_unstable();
    items
}

fn same<T: PartialEq + Debug>(what: &str, actual: T, expected: &T) -> Outcome {
    if actual == *expected { Ok(()) } else { Err(format!("{what} gives {actual:?} instead of {expected:?}")) }
}

/// No two of the pointers to the data of sources are equal.
fn distinct(what: &str, pointers: Vec<usize>) -> Outcome {
    let (count, mut pointers) = (pointers.len(), sorted(pointers));
    pointers.dedup();
    if pointers.len() == count { Ok(()) } else { Err(format!("{what} gives two `&mut` to one component")) }
}

/// A parameter, from the state that is kept or from a new one.
fn with<P: SystemParam + 'static, T>(
    kept: &mut SystemState<P>,
    fresh: bool,
    world: &mut World,
    read: impl FnOnce(P::Item<'_, '_>) -> T,
) -> Result<T, String> {
    if fresh {
        let mut state = SystemState::<P>::new(world);
        return Ok(read(state.get_mut(world).map_err(|error| error.to_string())?));
    }
    Ok(read(kept.get_mut(world).map_err(|error| error.to_string())?))
}

/// What a relation holds, read in one way only.
struct Expected {
    all: Vec<Entity>,
    /// By number in `all`, in insertion order.
    targets: Vec<Vec<Entity>>,
    /// In the order of `sources`.
    sources: Vec<Vec<Entity>>,
    pairs: Vec<Pair>,
}

impl Expected {
    fn new(world: &World, relation: Entity, all: &[Entity]) -> Result<Self, String> {
        let view = world.pairs_by_id(relation);
        let targets: Vec<Vec<_>> = all.iter().map(|&entity| view.targets(entity).collect()).collect();
        let sources: Vec<Vec<_>> = all.iter().map(|&entity| view.sources(entity).collect()).collect();
        let pair = |(&source, targets): (&Entity, &Vec<Entity>)| {
            targets.iter().map(|&target| (source, target)).collect::<Vec<_>>()
        };
        let pairs = sorted(all.iter().zip(&targets).flat_map(pair));
        let turned = |(&target, sources): (&Entity, &Vec<Entity>)| {
            sources.iter().map(|&source| (source, target)).collect::<Vec<_>>()
        };
        same("sources", sorted(all.iter().zip(&sources).flat_map(turned)), &pairs)?;
        same("iter", sorted(view.iter()), &pairs)?;
        same("len", view.len(), &pairs.len())?;
        Ok(Self { all: all.to_vec(), targets, sources, pairs })
    }

    fn ends(&self) -> impl Iterator<Item = (Entity, &Vec<Entity>, &Vec<Entity>)> {
        self.all
            .iter()
            .zip(&self.targets)
            .zip(&self.sources)
            .map(|((&e, targets), sources)| (e, targets, sources))
    }

    /// The entities that have something.
    fn having(&self, of: impl Fn(&Vec<Entity>, &Vec<Entity>) -> bool) -> Vec<Entity> {
        sorted(self.ends().filter(|(_, targets, sources)| of(targets, sources)).map(|(entity, ..)| entity))
    }
}

/// Rows of an expression with the variables `s` and `t`.
fn rows(expr: &mut CompiledExpr, world: &World) -> Result<Vec<Pair>, String> {
    let mut rows = Vec::new();
    let each = |row: bevy_relations::expr::Row<'_>| rows.extend(row.var("s").zip(row.var("t")));
    expr.for_each(world, each).map_err(|error| error.to_string())?;
    Ok(sorted(rows))
}

/// Rows of an expression, of which `$this` is what is wanted.
fn scanned(expr: &mut CompiledExpr, world: &World) -> Result<Vec<Entity>, String> {
    let mut rows = Vec::new();
    let each = |row: bevy_relations::expr::Row<'_>| rows.extend(row.this());
    expr.for_each(world, each).map_err(|error| error.to_string())?;
    Ok(sorted(rows))
}

/// An expression about the actors.
fn of_actors(world: &mut World, relation: Entity, term: &str) -> Result<CompiledExpr, String> {
    let text = format!("Actor{}", term.replace("R", &format!("#{}|self", relation.to_bits())));
    let expr = PairExpr::parse(text).and_then(|expr| expr.compile(world));
    expr.map_err(|error| error.to_string())
}

/// The stored pairs of a relation, and of no subtype that it has, as an expression.
fn compile(world: &mut World, relation: Entity) -> Result<CompiledExpr, String> {
    let text = format!("#{}|self($s, $t|self)", relation.to_bits());
    let expr = PairExpr::parse(text).and_then(|expr| expr.compile(world));
    expr.map_err(|error| error.to_string())
}

/// An expression about one relation, which may be run with one end given.
struct Compiled {
    relation: Entity,
    expr: CompiledExpr,
    /// The entities that expressions find, and those of them that are sources, that are none, and with their targets.
    actors: CompiledExpr,
    having: CompiledExpr,
    lacking: CompiledExpr,
    to: CompiledExpr,
}

impl Compiled {
    fn new(world: &mut World, relation: Entity) -> Result<Self, String> {
        Ok(Self {
            relation,
            expr: compile(world, relation)?,
            actors: of_actors(world, relation, "")?,
            having: of_actors(world, relation, ", (R, _)")?,
            lacking: of_actors(world, relation, ", !(R, _)")?,
            to: of_actors(world, relation, ", R($this, $t|self)")?,
        })
    }

    /// Compares scans of the entities that have a component, with a test of the relation.
    fn compare_scans(&mut self, world: &World, expected: &Expected) -> Outcome {
        // Not those that stand for types.
        let actors = scanned(&mut self.actors, world)?;
        for (expr, is_source) in [(&mut self.having, true), (&mut self.lacking, false)] {
            let mut rows = scanned(expr, world)?;
            rows.retain(|row| expected.all.contains(row));
            let mut wanted = expected.having(|targets, _| targets.is_empty() != is_source);
            wanted.retain(|entity| actors.contains(entity));
            same("an expression with a component", rows, &wanted)?;
        }
        let mut rows = Vec::new();
        let each = |row: bevy_relations::expr::Row<'_>| rows.extend(row.this().zip(row.var("t")));
        self.to.for_each(world, each).map_err(|error| error.to_string())?;
        let mut wanted = expected.pairs.clone();
        wanted.retain(|(source, _)| actors.contains(source));
        same("an expression with a component and a variable", sorted(rows), &wanted)
    }

    fn compare(&mut self, world: &mut World, expected: &Expected, fresh: bool, turn: usize) -> Outcome {
        same("an expression that was kept", rows(&mut self.expr, world)?, &expected.pairs)?;
        if fresh && world.get_entity(self.relation).is_ok() {
            same("a new expression", rows(&mut compile(world, self.relation)?, world)?, &expected.pairs)?;
        }
        self.compare_scans(world, expected)?;
        if expected.all.is_empty() {
            return Ok(());
        }
        let given = expected.all[turn % expected.all.len()];
        for (name, end) in [("s", 0), ("t", 1)] {
            let fits = |pair: &&Pair| [pair.0, pair.1][end] == given;
            let fitting: Vec<Pair> = expected.pairs.iter().filter(fits).copied().collect();
            self.expr.set_var(world, name, given).map_err(|error| error.to_string())?;
            let found = rows(&mut self.expr, world);
            self.expr.clear_vars();
            same(&format!("an expression of which ${name} is given"), found?, &fitting)?;
        }
        Ok(())
    }
}

type Reading<R> = PairQuery<'static, 'static, R, &'static Body, Entity>;
type Writing<R, F> = PairQuery<'static, 'static, R, &'static mut Body, (), F>;

/// Every way of reading a relation type.
struct Ways<R: Relation> {
    relation: Entity,
    pairs: SystemState<Pairs<'static, 'static, R>>,
    reading: SystemState<Reading<R>>,
    /// Goes by list.
    among_many: SystemState<Writing<R, ()>>,
    /// Goes by table.
    among_few: SystemState<Writing<R, With<Actor>>>,
    terms: Terms<R>,
    expr: Compiled,
    /// The mutable iterator, if the relation has one.
    iter_mut: Option<IterMut>,
}

/// Every pair of a mutable iterator, with the pointer to the data of its source: by list and by table.
type IterMut = Box<dyn FnMut(&mut World, bool) -> Result<[(Vec<Pair>, Vec<usize>); 2], String>>;

/// The terms about a relation.
struct Terms<R: Relation> {
    target: QueryState<(Entity, Target<R>), With<Actor>>,
    targets: QueryState<(Entity, Targets<R>), With<Actor>>,
    sources: QueryState<(Entity, Sources<R>), With<Actor>>,
    related: QueryState<Entity, (Related<R>, With<Actor>)>,
    /// Goes by archetype.
    ranked: QueryState<(Entity, Option<Target<R>>, Has<Sparse>), With<Rank>>,
    related_to: QueryState<Entity, (Related<R, With<Rank>>, With<Actor>)>,
    unrelated: QueryState<Entity, (Unrelated<R>, With<Actor>)>,
    target_of: QueryState<Entity, (TargetOf<R>, With<Actor>)>,
}

impl<R: Relation> Ways<R> {
    fn new(world: &mut World) -> Result<Self, String> {
        let relation = world.register_relation::<R>().map_err(|error| error.to_string())?;
        Ok(Self {
            relation,
            pairs: SystemState::new(world),
            reading: SystemState::new(world),
            among_many: SystemState::new(world),
            among_few: SystemState::new(world),
            terms: Terms::new(world),
            expr: Compiled::new(world, relation)?,
            iter_mut: None,
        })
    }

    fn by_pairs(&mut self, world: &mut World, expected: &Expected, fresh: bool) -> Outcome {
        with(&mut self.pairs, fresh, world, |pairs| {
            same("Pairs", sorted(pairs.iter()), &expected.pairs)?;
            for (entity, targets, sources) in expected.ends() {
                same("Pairs::targets", &pairs.targets(entity).collect::<Vec<_>>(), &targets)?;
                same("Pairs::sources", &pairs.sources(entity).collect::<Vec<_>>(), &sources)?;
                same("Pairs::target", pairs.target(entity), &targets.first().copied())?;
                same("Pairs::source_count", pairs.source_count(entity), &sources.len())?;
            }
            Ok(())
        })?
    }

    fn by_pair_query(&mut self, world: &mut World, expected: &Expected, fresh: bool) -> Outcome {
        with(&mut self.reading, fresh, world, |mut query| {
            let found = sorted(query.iter().map(|(_, edge, _)| (edge.source, edge.target)));
            same("PairQuery::iter", found, &expected.pairs)?;
            // Then sources come in the order of their tables.
            let by_table = R::traits().to_string().contains("Fragmenting");
            for (entity, targets, sources) in expected.ends() {
                let found =
                    query.of_source(entity).iter().map(|(_, edge, _)| edge.target).collect::<Vec<_>>();
                same("PairQuery::of_source", &found, &targets)?;
                let found =
                    query.of_target(entity).iter().map(|(_, edge, _)| edge.source).collect::<Vec<_>>();
                match by_table {
                    true => same("PairQuery::of_target", sorted(found), &sorted(sources.iter().copied()))?,
                    false => same("PairQuery::of_target", &found, &sources)?,
                }
            }
            Ok::<_, String>(())
        })??;
        with(&mut self.among_many, fresh, world, |query| lending(query, expected))??;
        with(&mut self.among_few, fresh, world, |query| lending(query, expected))??;
        if let Some(iter_mut) = &mut self.iter_mut {
            for (pairs, pointers) in iter_mut(world, fresh)? {
                same("PairQuery::iter_mut", pairs, &expected.pairs)?;
                distinct("PairQuery::iter_mut", pointers)?;
            }
        }
        Ok(())
    }
}

impl<R: Relation> Terms<R> {
    fn new(world: &mut World) -> Self {
        Self {
            target: QueryState::new(world),
            targets: QueryState::new(world),
            sources: QueryState::new(world),
            related: QueryState::new(world),
            ranked: QueryState::new(world),
            related_to: QueryState::new(world),
            unrelated: QueryState::new(world),
            target_of: QueryState::new(world),
        }
    }

    fn compare(&mut self, world: &World, expected: &Expected) -> Outcome {
        let firsts = expected.ends().filter_map(|(entity, targets, _)| Some((entity, *targets.first()?)));
        let found = self.target.iter(world).map(|(entity, target)| (entity, *target));
        same("Target", sorted(found), &sorted(firsts))?;
        let found = self.targets.iter(world).map(|(entity, targets)| (entity, targets.collect::<Vec<_>>()));
        let own = |(entity, targets, _): (Entity, &Vec<Entity>, &Vec<Entity>)| (entity, targets.clone());
        let own = expected.ends().filter(|(_, targets, _)| !targets.is_empty()).map(own);
        same("Targets", sorted(found), &sorted(own))?;
        let found = self.sources.iter(world).map(|(entity, sources)| (entity, sources.collect::<Vec<_>>()));
        let own = |(entity, _, sources): (Entity, &Vec<Entity>, &Vec<Entity>)| (entity, sources.clone());
        let own = expected.ends().filter(|(.., sources)| !sources.is_empty()).map(own);
        same("Sources", sorted(found), &sorted(own))?;
        let having = expected.having(|targets, _| !targets.is_empty());
        same("Related", sorted(self.related.iter(world)), &having)?;
        let lacking = expected.having(|targets, _| targets.is_empty());
        let unrelated = self.unrelated.iter(world).filter(|entity| expected.all.contains(entity));
        let is_actor = |entity: &Entity| world.get::<Actor>(*entity).is_some();
        let lacking: Vec<_> = lacking.into_iter().filter(is_actor).collect();
        same("Unrelated", sorted(unrelated), &lacking)?;
        let is_ranked = |entity: &Entity| world.get::<Rank>(*entity).is_some();
        let having = expected.having(|targets, _| targets.iter().any(is_ranked));
        same("Related to some", sorted(self.related_to.iter(world)), &having)?;
        let firsts = expected.ends().map(|(entity, targets, _)| (entity, targets.first().copied()));
        let firsts = firsts.filter(|(entity, _)| is_ranked(entity));
        let found = self.ranked.iter(world).map(|(entity, target, _)| (entity, target.map(|target| *target)));
        let found = found.filter(|(entity, _)| expected.all.contains(entity));
        same("Option<Target>", sorted(found), &sorted(firsts))?;
        for (entity, targets, _) in expected.ends().filter(|(entity, ..)| is_actor(entity)) {
            let found = self.target.get(world, entity).ok().map(|(_, target)| *target);
            same("Target of one", found, &targets.first().copied())?;
            same("Related of one", self.related.get(world, entity).is_ok(), &!targets.is_empty())?;
        }
        let having = expected.having(|_, sources| !sources.is_empty());
        same("TargetOf", sorted(self.target_of.iter(world)), &having)
    }
}

/// The forms that every mutable query has.
fn lending<R: Relation, F: QueryFilter>(
    mut query: PairQuery<'_, '_, R, &'static mut Body, (), F>,
    expected: &Expected,
) -> Outcome {
    let mut found = Vec::new();
    query.for_each(|mut body, edge, ()| {
        body.0 = body.0.wrapping_add(1);
        found.push((edge.source, edge.target));
    });
    same("PairQuery::for_each", sorted(found), &expected.pairs)?;
    let (mut found, mut lent) = (Vec::new(), query.iter_lending());
    while let Some((mut body, edge, ())) = lent.fetch_next() {
        body.0 = body.0.wrapping_sub(1);
        found.push((edge.source, edge.target));
    }
    drop(lent);
    same("PairQuery::iter_lending", sorted(found), &expected.pairs)?;
    let found = Mutex::new(Vec::new());
    query.par_for_each(|_, edge, ()| found.lock().unwrap().push((edge.source, edge.target)));
    same("PairQuery::par_for_each", sorted(found.into_inner().unwrap()), &expected.pairs)
}

/// What a mutable iterator gives, all of it alive at once.
fn living<R: ExclusiveRelation, F: QueryFilter>(
    mut query: PairQuery<'_, '_, R, &'static mut Body, (), F>,
) -> (Vec<Pair>, Vec<usize>) {
    let mut living: Vec<_> = query.iter_mut().collect();
    let pairs = sorted(living.iter().map(|(_, edge, ())| (edge.source, edge.target)));
    (pairs, living.iter_mut().map(|(body, ..)| &raw mut **body as usize).collect())
}

fn iter_mut<R: ExclusiveRelation>(world: &mut World) -> IterMut {
    let mut among_many = SystemState::<Writing<R, ()>>::new(world);
    let mut among_few = SystemState::<Writing<R, With<Actor>>>::new(world);
    Box::new(move |world, fresh| {
        let by_list = with(&mut among_many, fresh, world, living)?;
        Ok([by_list, with(&mut among_few, fresh, world, living)?])
    })
}

/// A relation type, read in every way.
trait Compare {
    fn compare(&mut self, world: &mut World, all: &[Entity], fresh: bool, turn: usize) -> Outcome;
}

impl<R: Relation> Compare for Ways<R> {
    fn compare(&mut self, world: &mut World, all: &[Entity], fresh: bool, turn: usize) -> Outcome {
        let relation = world.register_relation::<R>().map_err(|error| error.to_string())?;
        let expected = Expected::new(world, relation, all)?;
        if relation != self.relation {
            // The entity of the type was despawned: the constant of the old expression, `#bits`, is false for good.
            same("an expression about the dead", rows(&mut self.expr.expr, world)?, &Vec::new())?;
            self.relation = relation;
            self.expr = Compiled::new(world, relation)?;
        }
        self.by_pairs(world, &expected, fresh)?;
        self.by_pair_query(world, &expected, fresh)?;
        self.terms.compare(world, &expected)?;
        if fresh {
            Terms::<R>::new(world).compare(world, &expected)?;
        }
        self.expr.compare(world, &expected, fresh, turn)
    }
}

/// Every way of reading every relation of a history.
pub(super) struct Readers {
    typed: Vec<(&'static str, Box<dyn Compare>)>,
    run_time: Vec<Compiled>,
    any: SystemState<AnyPairs<'static, 'static>>,
    pairs_of: QueryState<(Entity, PairsOf), With<Actor>>,
    up: QueryState<(Entity, Up<ChildOf, (Entity, &'static Rank)>), With<Actor>>,
    kept: QueryState<(Entity, Cached<Up<ChildOf, (Entity, &'static Rank)>>), With<Actor>>,
    tree: SystemState<
        CascadeQuery<'static, 'static, ChildOf, (Entity, &'static mut Body), Entity, With<Actor>>,
    >,
    turn: usize,
}

impl Readers {
    pub(super) fn new(world: &mut World) -> Self {
        world.register_component_name::<Actor>("Actor");
        world.spawn_batch((0..BYSTANDERS).map(Body)).for_each(drop);
        Self {
            typed: Vec::new(),
            run_time: Vec::new(),
            any: SystemState::new(world),
            pairs_of: QueryState::new(world),
            up: QueryState::new(world),
            kept: QueryState::new(world),
            tree: SystemState::new(world),
            turn: 0,
        }
    }

    /// Reads a relation type as well.
    pub(super) fn add<R: Relation>(&mut self, world: &mut World) -> Result<(), String> {
        self.typed.push((core::any::type_name::<R>(), Box::new(Ways::<R>::new(world)?)));
        Ok(())
    }

    /// [`add`](Self::add), also with the mutable iterator.
    pub(super) fn add_exclusive<R: ExclusiveRelation>(&mut self, world: &mut World) -> Result<(), String> {
        let ways = Ways::<R> { iter_mut: Some(iter_mut::<R>(world)), ..Ways::new(world)? };
        self.typed.push((core::any::type_name::<R>(), Box::new(ways)));
        Ok(())
    }

    /// Reads a run-time relation as well.
    pub(super) fn add_run_time(&mut self, world: &mut World, relation: Entity) -> Result<(), String> {
        self.run_time.push(Compiled::new(world, relation)?);
        Ok(())
    }

    /// Gives entities what is read of them.
    pub(super) fn dress(world: &mut World, all: &[Entity]) {
        for (number, &entity) in all.iter().enumerate() {
            if let Ok(mut entity) = world.get_entity_mut(entity)
                && !entity.contains::<Body>()
            {
                entity.insert((Body(number as u32), Actor));
                if number % 3 == 0 {
                    entity.insert(Rank);
                }
            }
        }
    }

    /// Reads in every way. `all` are the entities that may have pairs; the dead among them are left out.
    pub(super) fn compare(&mut self, world: &mut World, all: &[Entity]) -> Outcome {
        let alive: Vec<_> = all.iter().copied().filter(|&entity| world.get_entity(entity).is_ok()).collect();
        self.turn += 1;
        let fresh = self.turn % self.typed.len().max(1);
        for (number, (name, ways)) in self.typed.iter_mut().enumerate() {
            let compared = ways.compare(world, &alive, number == fresh, self.turn);
            compared.map_err(|error| format!("{name}: {error}"))?;
        }
        for (number, compiled) in self.run_time.iter_mut().enumerate() {
            let expected = Expected::new(world, compiled.relation, &alive)?;
            let compared = compiled.compare(world, &expected, self.turn % 8 == number % 8, self.turn);
            compared.map_err(|error| format!("run-time relation {number}: {error}"))?;
        }
        self.compare_any(world, &alive)?;
        self.compare_tree(world, &alive)
    }

    /// The ways of reading all relations at once.
    fn compare_any(&mut self, world: &mut World, all: &[Entity]) -> Outcome {
        let relations: Vec<Entity> =
            self.any.get(world).map_err(|error| error.to_string())?.relations().collect();
        let mut expected = Vec::new();
        for &relation in &relations {
            let view = world.pairs_by_id(relation);
            for &source in all {
                expected.extend(view.targets(source).map(|target| (source, relation, target)));
            }
        }
        let expected = sorted(expected);
        let terms = self.pairs_of.iter(world);
        let terms = terms.flat_map(|(source, pairs)| pairs.map(move |(r, t)| (source, r, t)));
        same("PairsOf", sorted(terms), &expected)?;
        let read = world.any_pairs();
        same("World::any_pairs", sorted(read.iter()), &expected)?;
        let any = self.any.get(world).map_err(|error| error.to_string())?;
        same("AnyPairs", sorted(any.iter()), &expected)?;
        same("AnyPairs::len", any.len(), &expected.len())?;
        for &entity in all {
            let own = |&&(source, ..): &&(Entity, Entity, Entity)| source == entity;
            let own = sorted(expected.iter().filter(own).map(|&(_, relation, target)| (relation, target)));
            same("AnyPairs::pairs_of", sorted(any.pairs_of(entity)), &own)?;
            same("World::pairs_of", sorted(world.pairs_of(entity)), &own)?;
            let to = |&&(.., target): &&(Entity, Entity, Entity)| target == entity;
            let to = sorted(expected.iter().filter(to).map(|&(source, relation, _)| (source, relation)));
            same("AnyPairs::pairs_to", sorted(any.pairs_to(entity)), &to)?;
            same("World::pairs_to", sorted(world.pairs_to(entity)), &to)?;
        }
        for relation in relations {
            let named = |&&(_, named, _): &&(Entity, Entity, Entity)| named == relation;
            let named: Vec<_> = expected.iter().filter(named).copied().collect();
            let found = any.iter_matching(PairId::with_relation(relation));
            same("AnyPairs::iter_matching", sorted(found), &named)?;
        }
        Ok(())
    }

    /// What is kept between runs about the tree of `ChildOf`.
    fn compare_tree(&mut self, world: &mut World, all: &[Entity]) -> Outcome {
        let up = sorted(self.up.iter(world).map(|(entity, (holder, _))| (entity, holder)));
        let kept = sorted(self.kept.iter(world).map(|(entity, (holder, _))| (entity, holder)));
        same("Kept", kept, &up)?;
        let view = world.pairs::<ChildOf>();
        let parents = sorted(all.iter().map(|&entity| (entity, view.target(entity))));
        let mut tree = self.tree.get_mut(world).map_err(|error| error.to_string())?;
        let mut visited: Vec<(Entity, Option<Entity>)> = Vec::new();
        tree.for_each(|(entity, _), parent| visited.push((entity, parent)));
        let mut met = EntityHashSet::default();
        for &(entity, parent) in &visited {
            if parent.is_some_and(|parent| !met.contains(&parent)) {
                return Err(format!("a cascade visits {entity} before its parent: {visited:?}"));
            }
            met.insert(entity);
        }
        same("CascadeQuery", sorted(visited), &parents)
    }
}
