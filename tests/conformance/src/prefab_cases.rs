//! Each rule of prefabs by a small case: it ends as in Flecs, or what differs is listed with the reason.

use crate::prefab_world::{
    Both,
    Passed::{Copied, Omitted, Shared},
    Step::{self, Despawn, Insert, IsA, IsNot, Set, SlotOf, Spawn, SpawnChild, SpawnPrefab, Tag, Unset},
};
use bevy_relations::WorldPairExt;
use std::{env, process::Command};

/// How a case ends.
enum End {
    /// As in Flecs.
    Same,
    /// With these differences, and why they are right.
    Differs(&'static str, &'static str),
    /// Flecs stops at an assertion.
    FlecsStops,
}

use End::{Differs, FlecsStops, Same};

struct Case {
    name: &'static str,
    steps: &'static [Step],
    end: End,
}

/// What the process prints when a case has ended.
const AGREE: &str = "agree";

/// Runs one of the cases and prints how it ended: Flecs may abort.
pub(crate) fn run_one(number: usize) {
    let mut both = Both::new();
    for &step in CASES[number].steps {
        both.step(step);
    }
    both.world.check_pairs().expect("the invariants hold");
    let differences = both.differences();
    println!("{}", if differences.is_empty() { AGREE.into() } else { differences.join("; ") });
}

/// What does not end as it is listed.
pub(crate) fn failures() -> Vec<String> {
    let mut failures = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let Ok(program) = env::current_exe() else { continue };
        let Ok(output) = Command::new(program).args(["prefab-case", &number.to_string()]).output() else {
            failures.push(format!("{}: no process can be started", case.name));
            continue;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        let said = said.trim();
        let is_as_listed = match case.end {
            Same => said == AGREE,
            Differs(difference, _) => said == difference,
            // An abort of Flecs leaves no status; a panic of this crate does.
            FlecsStops => said.is_empty() && output.status.code().is_none(),
        };
        if !is_as_listed {
            let problem = String::from_utf8_lossy(&output.stderr);
            let reason = if let Differs(_, reason) = case.end { reason } else { "" };
            failures.push(format!("{number}, {}: {said} {} {problem} {reason}", case.name, output.status));
        }
    }
    failures
}

const CASES: &[Case] = &[
    Case {
        name: "an instance has copies, shares and lacks",
        steps: &[SpawnPrefab, Set(0, Copied, 1), Set(0, Shared, 2), Set(0, Omitted, 3), Spawn, IsA(1, 0)],
        end: Same,
    },
    Case {
        name: "pairs are passed on by the rule of their relation",
        steps: &[
            Spawn,
            SpawnPrefab,
            Insert(1, Copied, 0),
            Insert(1, Shared, 0),
            Insert(1, Omitted, 0),
            Spawn,
            IsA(2, 1),
        ],
        end: Same,
    },
    Case { name: "a tag is copied", steps: &[SpawnPrefab, Tag(0), Spawn, IsA(1, 0)], end: Same },
    Case {
        name: "what an instance has stays",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            Spawn,
            Set(1, Copied, 5),
            Set(1, Shared, 6),
            IsA(1, 0),
        ],
        end: Same,
    },
    Case {
        name: "what an instance is given later overrides, until it is taken away",
        steps: &[SpawnPrefab, Set(0, Shared, 2), Spawn, IsA(1, 0), Set(1, Shared, 6), Unset(1, Shared)],
        end: Same,
    },
    Case {
        name: "a change of what is shared is seen, one of what is copied is not",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            Spawn,
            IsA(1, 0),
            Set(0, Copied, 3),
            Set(0, Shared, 4),
        ],
        end: Same,
    },
    Case {
        name: "what a base gets later: shared data is had, copies and children are not made",
        steps: &[SpawnPrefab, Spawn, IsA(1, 0), Set(0, Shared, 4), Set(0, Copied, 3), Tag(0), SpawnChild(0)],
        end: Same,
    },
    Case {
        name: "several levels: the nearest base that has it",
        steps: &[
            SpawnPrefab,
            Set(0, Shared, 1),
            SpawnPrefab,
            IsA(1, 0),
            SpawnPrefab,
            IsA(2, 1),
            Spawn,
            IsA(3, 2),
            Set(1, Shared, 2),
        ],
        end: Same,
    },
    Case {
        name: "several bases: what is shared comes from the first",
        steps: &[SpawnPrefab, Set(0, Shared, 1), SpawnPrefab, Set(1, Shared, 2), Spawn, IsA(2, 0), IsA(2, 1)],
        end: Same,
    },
    Case {
        name: "several bases, the younger one first",
        steps: &[SpawnPrefab, Set(0, Shared, 1), SpawnPrefab, Set(1, Shared, 2), Spawn, IsA(2, 1), IsA(2, 0)],
        end: Differs(
            "2 Shared: 2 of a base, in Flecs 1 of a base",
            "the base that was inserted first counts; Flecs keeps pairs in the order of their ids",
        ),
    },
    Case {
        name: "several bases, depth first",
        steps: &[
            SpawnPrefab,
            Set(0, Shared, 1),
            SpawnPrefab,
            IsA(1, 0),
            SpawnPrefab,
            Set(2, Shared, 2),
            Spawn,
            IsA(3, 1),
            IsA(3, 2),
        ],
        end: Same,
    },
    Case {
        name: "several bases: copies are made of the first",
        steps: &[SpawnPrefab, Set(0, Copied, 1), SpawnPrefab, Set(1, Copied, 2), Spawn, IsA(2, 0), IsA(2, 1)],
        end: Same,
    },
    Case {
        name: "children are copied, with their children, names and components of every rule",
        steps: &[
            SpawnPrefab,
            SpawnChild(0),
            Set(1, Copied, 1),
            Set(1, Shared, 2),
            Set(1, Omitted, 3),
            Tag(1),
            SpawnChild(1),
            Set(2, Copied, 4),
            Spawn,
            IsA(3, 0),
        ],
        end: Same,
    },
    Case {
        name: "pairs of children lead where they led",
        steps: &[
            Spawn,
            SpawnPrefab,
            SpawnChild(1),
            Insert(2, Copied, 0),
            Insert(2, Shared, 0),
            Insert(2, Omitted, 0),
            Spawn,
            IsA(3, 1),
        ],
        end: Same,
    },
    Case {
        name: "a child of a prefab is one",
        steps: &[SpawnPrefab, SpawnChild(0), SpawnChild(1)],
        end: Same,
    },
    Case {
        name: "an instance has children of its own",
        steps: &[SpawnPrefab, SpawnChild(0), Spawn, SpawnChild(2), IsA(2, 0)],
        end: Same,
    },
    Case {
        name: "a variant has the children of its base and its own",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            SpawnChild(0),
            SpawnPrefab,
            IsA(2, 0),
            SpawnChild(2),
            Set(2, Copied, 3),
            Spawn,
            IsA(5, 2),
        ],
        end: Same,
    },
    Case {
        name: "a change of a variant's part is in its instances",
        steps: &[
            SpawnPrefab,
            SpawnChild(0),
            Set(1, Copied, 1),
            SpawnPrefab,
            IsA(2, 0),
            Set(3, Copied, 2),
            Spawn,
            IsA(4, 2),
        ],
        end: Same,
    },
    Case {
        name: "a part that is an instance of another prefab",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            SpawnPrefab,
            SpawnChild(1),
            IsA(2, 0),
            Spawn,
            IsA(3, 1),
        ],
        end: Same,
    },
    Case {
        name: "a part that is an instance of another prefab with children",
        steps: &[SpawnPrefab, SpawnChild(0), SpawnPrefab, SpawnChild(2), IsA(3, 0), Spawn, IsA(5, 2)],
        end: Same,
    },
    Case { name: "a slot", steps: &[SpawnPrefab, SpawnChild(0), SlotOf(1, 0), Spawn, IsA(2, 0)], end: Same },
    Case {
        name: "a slot below a child",
        steps: &[SpawnPrefab, SpawnChild(0), SpawnChild(1), SlotOf(2, 0), Spawn, IsA(3, 0)],
        end: Same,
    },
    Case {
        name: "a slot in a variant",
        steps: &[SpawnPrefab, SpawnChild(0), SlotOf(1, 0), SpawnPrefab, IsA(2, 0)],
        end: Differs(
            "2 slot 1: 3, in Flecs none; 3 SlotOf: none, in Flecs 0",
            "a variant is an instance, with slots of its own; Flecs keeps the pair of `SlotOf` for the variant's instances",
        ),
    },
    Case {
        name: "a slot in an instance of a variant",
        steps: &[SpawnPrefab, SpawnChild(0), SlotOf(1, 0), SpawnPrefab, IsA(2, 0), Spawn, IsA(4, 2)],
        end: Differs(
            "2 slot 1: 3, in Flecs none; 3 SlotOf: none, in Flecs 0",
            "a variant is an instance, with slots of its own; Flecs keeps the pair of `SlotOf` for the variant's instances",
        ),
    },
    Case {
        name: "a pair between parts",
        steps: &[SpawnPrefab, SpawnChild(0), SpawnChild(0), Insert(1, Copied, 2), Spawn, IsA(3, 0)],
        end: Differs(
            "4 pairs Copied: 5, in Flecs 2",
            "references within a prefab become references within the instance; in Flecs they lead into the prefab",
        ),
    },
    Case {
        name: "a pair of a part with its prefab",
        steps: &[SpawnPrefab, SpawnChild(0), Insert(1, Copied, 0), Spawn, IsA(2, 0)],
        end: Differs(
            "3 pairs Copied: 2, in Flecs 0",
            "references within a prefab become references within the instance; in Flecs they lead into the prefab",
        ),
    },
    Case {
        name: "a base that is no prefab",
        steps: &[Spawn, Set(0, Copied, 1), Set(0, Shared, 2), Spawn, IsA(1, 0)],
        end: Differs(
            "1 Copied: none, in Flecs 1",
            "only prefabs are copied from: `IsA` alone says what a thing is, as for components with subtypes",
        ),
    },
    Case {
        name: "a base that is no prefab: its children",
        steps: &[Spawn, SpawnChild(0), Spawn, IsA(2, 0)],
        end: Same,
    },
    Case {
        name: "a base is taken away: copies and children stay, what was shared is gone",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            SpawnChild(0),
            Spawn,
            IsA(2, 0),
            IsNot(2, 0),
        ],
        end: Same,
    },
    Case {
        name: "a base is taken away and given again: nothing twice",
        steps: &[SpawnPrefab, Set(0, Copied, 1), Spawn, IsA(1, 0), IsNot(1, 0), Set(0, Copied, 2), IsA(1, 0)],
        end: Same,
    },
    Case {
        name: "a base is taken away and given again: children",
        steps: &[SpawnPrefab, SpawnChild(0), Spawn, IsA(2, 0), IsNot(2, 0), IsA(2, 0)],
        end: FlecsStops,
    },
    Case {
        name: "a base is despawned: copies and children stay",
        steps: &[
            SpawnPrefab,
            Set(0, Copied, 1),
            Set(0, Shared, 2),
            SpawnChild(0),
            Spawn,
            IsA(2, 0),
            Despawn(0),
        ],
        end: Same,
    },
    Case {
        name: "a part of a base is despawned",
        steps: &[SpawnPrefab, SpawnChild(0), Spawn, IsA(2, 0), Despawn(1)],
        end: Same,
    },
    Case {
        name: "a slot is despawned",
        steps: &[SpawnPrefab, SpawnChild(0), SlotOf(1, 0), Spawn, IsA(2, 0), Despawn(1)],
        end: Same,
    },
    Case {
        name: "an instance is despawned with its children",
        steps: &[SpawnPrefab, SpawnChild(0), Spawn, IsA(2, 0), Despawn(2)],
        end: Same,
    },
    Case {
        name: "a tag that a base gets after its first instance is copied to the next",
        steps: &[SpawnPrefab, Spawn, IsA(1, 0), Tag(0), Spawn, IsA(2, 0)],
        end: Differs(
            "2 tag: true, in Flecs false",
            "what a base has now is copied; Flecs stores to which table its first instance went",
        ),
    },
    Case {
        name: "what a base gets after its variant was made is copied to instances of the variant",
        steps: &[SpawnPrefab, SpawnPrefab, IsA(1, 0), Set(0, Copied, 4), Spawn, IsA(2, 1)],
        end: Same,
    },
    Case {
        name: "what was taken from a variant comes from its base",
        steps: &[SpawnPrefab, Set(0, Copied, 4), SpawnPrefab, IsA(1, 0), Unset(1, Copied), Spawn, IsA(2, 1)],
        end: Same,
    },
    Case {
        name: "pairs and tags that a base gets after its variant was made, and children",
        steps: &[
            Spawn,
            SpawnPrefab,
            SpawnPrefab,
            IsA(2, 1),
            Insert(1, Copied, 0),
            Tag(1),
            SpawnChild(1),
            Spawn,
            IsA(4, 2),
        ],
        end: Same,
    },
    Case {
        name: "an own pair hides no others of its relation that are copied",
        steps: &[Spawn, Spawn, SpawnPrefab, Insert(2, Copied, 0), Spawn, Insert(3, Copied, 1), IsA(3, 2)],
        end: Same,
    },
    Case {
        name: "an own pair hides no others of its relation that are shared",
        steps: &[Spawn, Spawn, SpawnPrefab, Insert(2, Shared, 0), Spawn, Insert(3, Shared, 1), IsA(3, 2)],
        end: Same,
    },
];
