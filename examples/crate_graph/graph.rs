//! The packages as entities: everything that has to do with relations.

use crate::{failure::Failure, lockfile::LockedPackage};
use bevy_ecs::{error::BevyError, lifecycle::Despawn, prelude::*};
use bevy_relations::{error::InsertPairError, prelude::*, traverse::EntityPath};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    iter,
};

/// `(DependsOn, other)`: the source cannot be built without the target.
///
/// A relation that can be traversed has no cycles: a pair that would close one is refused.
#[derive(Relation)]
#[relation(traversable)]
pub(crate) struct DependsOn;

/// `(ComesFrom, origin)`: where the package was found.
#[derive(Relation)]
#[relation(exclusive)]
pub(crate) struct ComesFrom;

/// What a package is called. Its entity also has both as its [`Name`].
#[derive(Component, Clone)]
pub(crate) struct Package {
    name: String,
    version: String,
}

/// A world full of packages.
pub(crate) struct Graph {
    world: World,
    /// In the order of the lockfile.
    packages: Vec<Entity>,
    /// Each would have been closed by a dependency that was refused.
    pub(crate) cycles: Vec<EntityPath>,
}

impl Graph {
    /// Makes each package an entity, and each dependency a pair.
    pub(crate) fn new(packages: &[LockedPackage]) -> Result<Self, BevyError> {
        Self::in_world(World::new(), packages)
    }

    fn in_world(mut world: World, locked: &[LockedPackage]) -> Result<Self, BevyError> {
        let mut origins = BTreeMap::new();
        let mut packages = Vec::new();
        for LockedPackage { name, version, origin, .. } in locked {
            let origin =
                *origins.entry(origin).or_insert_with(|| world.spawn(Name::new(origin.clone())).id());
            let package = Package { name: name.clone(), version: version.clone() };
            let package =
                world.spawn((Name::new(format!("{name} {version}")), package, pairs![(ComesFrom, origin)]));
            packages.push(package.id());
        }

        let dependencies: Vec<_> = locked
            .iter()
            .zip(&packages)
            .flat_map(|(locked, &source)| locked.dependencies.iter().map(move |&target| (source, target)))
            .map(|(source, target)| (source, DependsOn, packages[target]))
            .collect();
        let count = dependencies.len();
        let mut cycles = Vec::new();
        // The pairs that are not refused are inserted in any case.
        if let Err(error) = world.insert_pair_batch(dependencies) {
            for (_, error) in error.refused {
                match error {
                    InsertPairError::Cycle { path, .. } => cycles.push(path),
                    error => return Err(error.into()),
                }
            }
        }
        assert_eq!(
            world.pairs::<DependsOn>().len() + cycles.len(),
            count,
            "a dependency is a pair, or refused"
        );
        // Depths that are worked out one by one, while none is kept up to date, cost a walk each.
        world.maintain_pairs();
        Ok(Self { world, packages, cycles })
    }

    /// Runs one of the systems below.
    pub(crate) fn ask<I, O, M>(
        &mut self,
        question: impl IntoSystem<In<I>, O, M> + 'static,
        input: I,
    ) -> Result<O, BevyError>
    where
        I: Send + Sync + 'static,
        O: Send + Sync + 'static,
    {
        Ok(self.world.run_system_cached_with(question, input)?)
    }

    /// The packages that go when `package` does, in a world in which nothing outlives what it depends on.
    /// They go in this order.
    pub(crate) fn gone_without(
        &self,
        packages: &[LockedPackage],
        package: Entity,
    ) -> Result<Vec<Entity>, BevyError> {
        // The same relation under a harder rule: facts can be added until the first pair.
        let mut world = World::new();
        let depends_on = world.register_relation::<DependsOn>()?;
        world.set_traits(depends_on, RelationTraits::new().on_target_despawn(CleanupPolicy::Despawn))?;
        let mut copy = Self::in_world(world, packages)?;

        #[derive(Resource, Default)]
        struct Gone(Vec<Entity>);
        copy.world.init_resource::<Gone>();
        copy.world.add_observer(|on: On<Despawn<Package>>, mut gone: ResMut<Gone>| gone.0.push(on.entity));

        let here_from_copy: HashMap<_, _> =
            copy.packages.iter().copied().zip(self.packages.iter().copied()).collect();
        let copied = copy.packages
            [self.packages.iter().position(|&entity| entity == package).expect("is one of ours")];
        copy.world.despawn_with_dependents(copied)?;
        copy.world.check_pairs()?;
        let gone = copy.world.resource::<Gone>().0.iter().map(|entity| here_from_copy[entity]);
        Ok(gone.collect())
    }

    /// `name version`.
    pub(crate) fn name(&self, entity: Entity) -> &str {
        self.world.get::<Name>(entity).map_or("(unnamed)", Name::as_str)
    }
}

/// What is known of all packages.
pub(crate) struct Summary {
    pub(crate) packages: usize,
    pub(crate) dependencies: usize,
    /// Origins, and how many packages come from each.
    pub(crate) origins: Vec<(Entity, usize)>,
    /// Every package of this chain depends on the next. There is no longer chain.
    pub(crate) chain: Vec<Entity>,
    /// Names of which there are several versions.
    pub(crate) several_versions: Vec<String>,
}

/// System: sums up.
pub(crate) fn summarize(
    _: In<()>,
    packages: Query<(Entity, &Package)>,
    depends: Pairs<DependsOn>,
    comes: Pairs<ComesFrom>,
) -> Summary {
    let mut origins: BTreeMap<Entity, usize> = BTreeMap::new();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for (entity, package) in &packages {
        *versions.entry(&package.name).or_default() += 1;
        if let Some(origin) = comes.target(entity) {
            origins.insert(origin, comes.source_count(origin));
        }
    }

    // A package lies one level above the deepest that it depends on.
    let level = |&entity: &Entity| depends.depth(entity);
    let top = packages.iter().map(|(entity, _)| entity).max_by_key(level);
    let chain = iter::successors(top, |&entity| depends.targets(entity).max_by_key(level)).collect();

    Summary {
        packages: packages.iter().len(),
        dependencies: depends.len(),
        origins: origins.into_iter().collect(),
        chain,
        several_versions: versions
            .into_iter()
            .filter(|&(_, count)| count > 1)
            .map(|(name, _)| name.into())
            .collect(),
    }
}

/// System: the package that is needed directly by most others.
pub(crate) fn most_needed(
    _: In<()>,
    packages: Query<Entity, With<Package>>,
    depends: Pairs<DependsOn>,
) -> Entity {
    packages
        .iter()
        .max_by_key(|&package| depends.source_count(package))
        .expect("a lockfile without packages is refused")
}

/// Whether a version may be called `wanted`, as with Cargo: by its first numbers alone unless it is a pre-release, and
/// without its build.
fn is_version(version: &str, wanted: &str) -> bool {
    let released = version.split_once('+').map_or(version, |(released, _)| released);
    let rest = released.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('.') && !released.contains('-')))
}

/// System: the one package that is called `name` or `name@version`.
pub(crate) fn find(
    In(wanted): In<String>,
    packages: Query<(Entity, &Package)>,
    names: Query<&Name>,
    comes: Pairs<ComesFrom>,
) -> Result<Entity, Failure> {
    let (name, version) = match wanted.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (&*wanted, None),
    };
    let mut found: Vec<_> = packages.iter().filter(|(_, package)| package.name == name).collect();
    if let Some(version) = version {
        let is_exact = |(_, package): &(Entity, &Package)| package.version == version;
        let has_exact = found.iter().any(is_exact);
        found.retain(|found| if has_exact { is_exact(found) } else { is_version(&found.1.version, version) });
    }
    if let [(entity, _)] = found[..] {
        return Ok(entity);
    }
    let describe = |(entity, package): (Entity, &Package)| {
        let origin = comes.target(entity).and_then(|origin| names.get(origin).ok());
        let origin = origin.map_or("nowhere", Name::as_str);
        format!("{}@{} from {origin}", package.name, package.version)
    };
    if !found.is_empty() {
        let mut candidates: Vec<_> = found.into_iter().map(describe).collect();
        candidates.sort();
        return Err(Failure::AmbiguousPackage { wanted, candidates });
    }
    let alike = packages.iter().filter(|(_, package)| !name.is_empty() && package.name.contains(name));
    let mut similar: Vec<_> = alike.map(describe).collect();
    similar.sort();
    similar.truncate(10);
    Err(Failure::UnknownPackage { wanted, similar })
}

/// What is known of one package. The lists are sorted by name.
pub(crate) struct Answers {
    /// Length of the longest chain of dependencies below it.
    pub(crate) level: u32,
    pub(crate) needs_directly: Vec<Entity>,
    pub(crate) needs: Vec<Entity>,
    pub(crate) direct_dependents: Vec<Entity>,
    pub(crate) dependents: Vec<Entity>,
}

/// System: follows the pairs of one package in both directions.
pub(crate) fn investigate(
    In(package): In<Entity>,
    depends: Pairs<DependsOn>,
    names: Query<&Name>,
) -> Answers {
    let sorted = |entities: &mut dyn Iterator<Item = Entity>| {
        let mut entities: Vec<_> = entities.collect();
        entities.sort_by_key(|&entity| names.get(entity).ok());
        entities
    };

    // Down there is an iterator: what depends on the package, however indirectly.
    let dependents = sorted(&mut depends.descendants(package).map(|(dependent, _)| dependent));

    // `ancestors` follows one target of each entity; here every one counts.
    let mut needs = HashSet::new();
    let mut ahead = vec![package];
    while let Some(at) = ahead.pop() {
        ahead.extend(depends.targets(at).filter(|&target| needs.insert(target)));
    }

    Answers {
        level: depends.depth(package).unwrap_or_default(),
        needs_directly: sorted(&mut depends.targets(package)),
        needs: sorted(&mut needs.into_iter()),
        direct_dependents: sorted(&mut depends.sources(package)),
        dependents,
    }
}
