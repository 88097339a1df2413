//! A game's frame: ships dock at places in trees, and a hundredth of everything changes before each run.

mod bevy;
mod flecs;
mod ours;
mod parts;

use super::Scale;
use crate::{
    flecs::Kind,
    harness::{Contestant, RoundSums, Stopwatch, Workload},
    ours::{DockedTo, MemberOf},
    random::Random,
};
use parts::{Churn, System};

/// A game in some library.
trait Game: 'static {
    type Id: Copy + Send + Sync + 'static;

    /// Spawns nodes, each below the one before it that [`parent_of`] names, then ships, each at the given dock.
    fn populate(&mut self, docks_of_ships: &[usize], nodes: usize) -> Vec<Self::Id>;

    /// Says what [`System::Churn`] does next.
    fn plan(&mut self, churn: Churn<Self::Id>);

    /// Runs a system once.
    fn run(&mut self, system: System);

    /// What an app does at the end of a frame.
    fn end_frame(&mut self);

    /// A sum over what the systems write.
    fn checksum(&mut self) -> u64;
}

/// Number of trees.
const ROOTS: usize = 50;

/// Every so many nodes there is one at which ships can dock.
const NODES_PER_DOCK: usize = 10;

/// The node that a node is below: trees whose nodes have five children each.
fn parent_of(node: usize) -> Option<usize> {
    Some(node.checked_sub(ROOTS)? / 5)
}

/// All workloads of this module: the frame, and each system by itself.
pub(super) fn all(scale: Scale) -> Vec<Workload> {
    let size = if scale == Scale::Quick { 2_000 } else { 100_000 };
    let one = |id, system, elements| workload(id, size, elements, vec![system]);
    let half = size / 2;
    vec![
        workload("game_frame", size, size, System::ALL.to_vec()),
        one("game_churn", System::Churn, size / 100 * 2),
        one("game_targets", System::Targets, half),
        one("game_pair_query", System::PairQuery, half),
        one("game_cascade", System::Cascade, half),
        one("game_up", System::Up, half),
        one("game_expression", System::Expression, half),
    ]
}

/// Half of the entities are ships, the others nodes. All systems run in every round; those in `timed` are measured.
fn workload(id: &'static str, size: usize, elements: usize, timed: Vec<System>) -> Workload {
    let sums = RoundSums::default();
    let round = Round { size, timed };
    let contestants = vec![
        round.clone().contestant("flecs", &sums, || flecs::FlecsGame::new(Kind::Exclusive)),
        round
            .clone()
            .contestant("flecs DontFragment", &sums, || flecs::FlecsGame::new(Kind::SparseExclusive)),
        #[cfg(flecs_parent)]
        round.clone().contestant("flecs EcsParent", &sums, flecs::FlecsGame::with_parents),
        round.clone().contestant("bevy", &sums, bevy::new),
        round.clone().contestant("ours", &sums, ours::new::<DockedTo>).goal("bevy", 1.0),
        round.contestant("ours table", &sums, ours::new::<MemberOf>),
    ];
    Workload { id, size, elements, contestants }
}

#[derive(Clone)]
struct Round {
    size: usize,
    timed: Vec<System>,
}

impl Round {
    fn contestant<G: Game>(self, name: &'static str, sums: &RoundSums, new: fn() -> G) -> Contestant {
        let sums = sums.clone();
        Contestant::new(name, move || {
            let (timed, mut sums) = (self.timed.clone(), sums.start(name));
            let (ships, nodes) = (self.size / 2, self.size / 2);
            let docks = nodes / NODES_PER_DOCK;
            let mut game = new();
            let places = Random::new(71).choices(ships, docks);
            let nodes = game.populate(&places, nodes);
            let mut random = Random::new(72);
            move |watch: &mut Stopwatch| {
                game.plan(Churn::draw(&nodes, ships, &mut random));
                for system in System::ALL {
                    if timed.contains(&system) {
                        watch.time(|| game.run(system));
                    } else {
                        game.run(system);
                    }
                }
                if timed.len() > 1 {
                    watch.time(|| game.end_frame());
                } else {
                    game.end_frame();
                }
                sums.check(game.checksum())
            }
        })
    }
}
