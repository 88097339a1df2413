//! How many rows operations are likely to make.

#[cfg(feature = "bevy_reflect")]
use crate::expr::eval::FieldIndices;
use crate::{
    expr::{
        bind::{Atom, AtomId, BoundElement, PairAtom, ValueAtom, VarSet},
        eval::View,
    },
    relation::{IS_A, OnInstantiate, RelationTraits},
};
use alloc::vec::Vec;
use bevy_ecs::{archetype::ArchetypeGeneration, component::ComponentId, entity::Entity};
use smallvec::SmallVec;

/// Archetypes that are looked at to estimate how many entities have a component.
const SAMPLE: usize = 64;

/// How many entities are compared in the time in which an index finds one and it is compared.
#[cfg(feature = "bevy_reflect")]
const INDEX_GAIN: f64 = 8.0;

/// What a plan was made for. It is made anew when the world has become another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Signature {
    archetypes: ArchetypeGeneration,
    /// Order of magnitude of the number of pairs and traits, by relation; and whether it is still the same.
    relations: Vec<(Option<Entity>, u32)>,
    /// Order of magnitude of the number of tags.
    tags: u32,
    /// Components that disable an entity.
    disabling: SmallVec<[ComponentId; 4]>,
    /// Subtypes are listed in the plan.
    subtypes: u64,
    singletons: Vec<Option<Entity>>,
    /// Which fields have an index.
    #[cfg(feature = "bevy_reflect")]
    field_indices: u64,
}

/// The traits of a relation that matter to a plan.
pub(crate) fn traits_of(traits: &RelationTraits) -> u32 {
    let facts = [
        traits.is_transitive(),
        traits.is_reflexive(),
        traits.is_traversable(),
        traits.is_inheritable(),
        traits.has_final(),
        traits.instantiate_rule() == OnInstantiate::Inherit,
    ];
    facts.iter().enumerate().map(|(bit, &fact)| u32::from(fact) << bit).sum()
}

/// How many there are, roughly.
fn magnitude(len: usize) -> u32 {
    usize::BITS - len.leading_zeros()
}

impl Signature {
    pub(crate) fn new(view: &View<'_>, singletons: &[ComponentId], known: Option<Self>) -> Self {
        let (mut relations, mut entities) =
            known.map(|known| (known.relations, known.singletons)).unwrap_or_default();
        relations.clear();
        entities.clear();
        entities.extend(singletons.iter().map(|&id| view.access.resource_entity(id)));
        relations.extend(view.store.entries().map(|(entry, index)| {
            let magnitude = magnitude(index.len());
            let kind = u32::from(index.is_exclusive()) << 8 | u32::from(index.is_acyclic()) << 9;
            (entry.in_use.then_some(entry.entity), magnitude | kind | traits_of(&entry.traits) << 10)
        }));
        Self {
            archetypes: view.archetypes.generation(),
            relations,
            tags: magnitude(view.tags().len()),
            disabling: view.access.disabling(),
            subtypes: view.index(IS_A).version(),
            singletons: entities,
            #[cfg(feature = "bevy_reflect")]
            field_indices: view.access.field_indices().map_or(0, FieldIndices::version),
        }
    }
}

/// Estimates in a world.
#[derive(Clone, Copy)]
pub(super) struct Estimate<'a, 'w> {
    pub(super) view: &'a View<'w>,
}

impl Estimate<'_, '_> {
    pub(super) fn entities(self) -> f64 {
        f64::from(self.view.entities.len()).max(1.0)
    }

    fn component(self, component: ComponentId) -> f64 {
        let Some(archetypes) = self.view.archetypes.component_index().get(&component) else { return 0.0 };
        let sampled = archetypes.keys().take(SAMPLE).filter_map(|&id| self.view.archetypes.get(id));
        let seen: u32 = sampled.map(bevy_ecs::archetype::Archetype::len).sum();
        f64::from(seen) * (archetypes.len() as f64 / SAMPLE as f64).max(1.0)
    }

    /// How many entities there are that have a simple id themselves.
    fn holders(self, id: AtomId) -> f64 {
        match id {
            AtomId::Component(component) => self.component(component),
            AtomId::Tag(tag) => self.view.tags().source_count(tag) as f64,
            AtomId::AnyId(_) | AtomId::Pair(_) => self.entities(),
        }
    }

    /// How many entities the index of a field finds for a comparison. `None` if there is no index, or going through all entities
    /// with the component is expected to take no longer.
    #[cfg(feature = "bevy_reflect")]
    pub(super) fn index_hits(self, value: &ValueAtom) -> Option<f64> {
        let (AtomId::Component(component), BoundElement::Var(_)) = (value.atom.id, value.atom.source) else {
            return None;
        };
        let index = self.view.access.field_indices()?.get(component, &value.path)?;
        let limit = (self.component(component) / INDEX_GAIN) as usize;
        let hits = index.count(&value.test.keys()?, limit + 1);
        (hits <= limit).then_some(hits as f64)
    }

    /// Without reflection there are no indices.
    #[cfg(not(feature = "bevy_reflect"))]
    pub(super) fn index_hits(self, _: &ValueAtom) -> Option<f64> {
        None
    }

    /// How many rows a term makes of one, with these variables bound.
    pub(super) fn atom(self, atom: &Atom, bound: &VarSet) -> f64 {
        let known = |element: BoundElement| match element {
            BoundElement::Entity(_) | BoundElement::Awaited | BoundElement::Singleton(_) => true,
            BoundElement::Var(var) => bound.contains(var),
            BoundElement::Any => false,
        };
        let source = known(atom.source);
        let rows = match atom.id {
            AtomId::Pair(pair) => self.pair(&pair, source, &known),
            AtomId::AnyId(id) => match (source, known(id) || id == BoundElement::Any) {
                (true, true) => 0.5,
                (true, false) => 4.0,
                (false, true) => self.entities() / 4.0,
                (false, false) => self.entities() * 4.0,
            },
            id if source => (self.holders(id) / self.entities()).min(0.9),
            id => self.holders(id),
        };
        match atom.traversal {
            // Everything below the holders is looked at, which takes longer than to go through tables.
            Some(traversal) if !source => {
                let relation = self.view.store.registry().of_entity(traversal.relation);
                let pairs = relation.map_or(0, |relation| self.view.index(relation).len());
                (rows * 8.0).max(2.0 * pairs as f64)
            }
            _ => rows,
        }
    }

    fn pair(self, pair: &PairAtom, source: bool, known: &dyn Fn(BoundElement) -> bool) -> f64 {
        let store = self.view.store;
        let target = known(pair.target);
        let relation = match pair.relation {
            BoundElement::Entity(relation) => match store.registry().of_entity(relation) {
                Some(id) => store.relation(id),
                None => return 0.0,
            },
            _ => {
                let all = store.pair_count() as f64;
                return match (source, target) {
                    (true, true) => 0.9,
                    (true, false) => 4.0,
                    (false, true) => (all / self.entities()).max(2.0),
                    (false, false) => all,
                };
            }
        };
        let len = relation.len() as f64;
        let targets = (relation.list_count() as f64).max(1.0);
        let traits = pair.relation.entity().and_then(|relation| store.registry().of_entity(relation));
        let traits = traits.map(|id| &store.registry().entry(id).traits).filter(|_| pair.closed);
        let transitive = traits.is_some_and(RelationTraits::is_transitive);
        let reflexive = traits.is_some_and(RelationTraits::is_reflexive);
        let deep = if transitive { 4.0 } else { 1.0 };
        let rows = match (source, target, pair.target) {
            (true, true, _) | (true, false, BoundElement::Any) => (len / self.entities()).clamp(0.01, 0.9),
            // How many sources there are is not known: as many as pairs, at most all entities.
            (true, false, _) if relation.is_exclusive() => (len / self.entities()).min(1.0) * deep,
            (true, false, _) => (len / self.entities() * deep).max(0.1),
            (false, true, BoundElement::Entity(target)) => {
                let direct = relation.source_count(target) as f64;
                if transitive { (direct * 16.0).min(len) } else { direct }
            }
            (false, true, _) => len / targets * deep * deep,
            (false, false, _) => len * deep,
        };
        if reflexive && !source && !target { rows.max(self.entities()) } else { rows }
    }
}
