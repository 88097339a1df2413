//! Small expressions for rules: what Flecs says of them, and what is right. A rule of which Flecs has cured itself
//! is found out here. `golden --missing` lists the rules that have none yet: they apply to larger expressions.

use crate::{
    parent::{self, STOPPED},
    queries::Case,
    rules,
};

/// A case in which Flecs differs.
struct Golden {
    rule: &'static str,
    world: &'static str,
    query: &'static str,
    /// Whether entities have names.
    named: bool,
    /// What Flecs says: rows, or that it stopped.
    flecs: &'static str,
    /// What is right: the rows by definition, which are those of this crate.
    right: &'static str,
}

/// What is not as it is listed.
pub(crate) fn failures() -> Vec<String> {
    let mut failures = Vec::new();
    for golden in GOLDEN {
        let Some(case) = Case::read(golden.world, golden.query, golden.named) else {
            failures.push(format!("{}: cannot be read", golden.query));
            continue;
        };
        let Ok(verdict) = parent::judge(&case) else {
            failures.push(format!("{}: no process can be started", golden.query));
            continue;
        };
        let stops = golden.flecs == STOPPED;
        let outcome = if stops { STOPPED.into() } else { format!("known {}", golden.rule) };
        let text = if stops { String::new() } else { format!("{}\n{}", golden.flecs, golden.right) };
        if (&verdict.outcome, &verdict.text) != (&outcome, &text) {
            failures.push(format!("{}:\n{}\n{}", golden.query, verdict.outcome, verdict.text));
        }
    }
    failures
}

/// The rules without an example.
pub(crate) fn missing() -> Vec<String> {
    let shown = |rule: &&str| GOLDEN.iter().any(|golden| golden.rule == *rule);
    rules::names().filter(|rule| !shown(rule)).map(String::from).collect()
}

const GOLDEN: &[Golden] = &[
    Golden {
        rule: rules::ASSERTION,
        world: "e0 (Follows, e1); e1 Red; e2 Big",
        query: "Red(up Follows) || Big",
        named: false,
        flecs: STOPPED,
        right: "",
    },
    Golden {
        rule: rules::ASSERTION,
        world: "e0 (Likes, e1); e1",
        query: "*(_)",
        named: false,
        flecs: STOPPED,
        right: "",
    },
    Golden {
        rule: rules::ASSERTION,
        world: "e0 Movement (Movement.value, e1); e1",
        query: "!Movement.value(e1, _), Red",
        named: false,
        flecs: STOPPED,
        right: "",
    },
    Golden {
        rule: "scope at the start",
        world: "e0 Red; e1 Old",
        query: "!{ Red }",
        named: false,
        flecs: "",
        right: "Red []; Big []; Old []; Armor []; Shield []; Likes []; Eats []; Docked []; Knows []; Located []; Within []; Near []; Mounted []; Follows []; Owns []; Mood []; calm []; angry []; Movement []; e1 []",
    },
    Golden {
        rule: "reflexive alone",
        world: "e0 Red",
        query: "Red, (Near, $x)",
        named: false,
        flecs: "",
        right: "e0 x=e0 [Red, Near,e0]",
    },
    Golden {
        rule: "reflexive with an unwritten source",
        world: "e0 Red",
        query: "(Within, $x), Red",
        named: false,
        flecs: "",
        right: "e0 x=e0 [Within, Red]",
    },
    Golden {
        rule: "transitive to an open target, with several targets",
        world: "e0; e1; e6 (Located, e0) (Located, e1)",
        query: "(Located, $x)",
        named: false,
        flecs: "e6 x=e0 [Located]",
        right: "e6 x=e0 [Located]; e6 x=e1 [Located]",
    },
    Golden {
        rule: "transitive up",
        world: "e0 (Follows, e1); e1 (Located, e2); e2 (Located, e3); e3",
        query: "Located($this|up Follows, e3)",
        named: false,
        flecs: "e1 [Located]; e2 [Located]",
        right: "e0 [Located@e1]",
    },
    Golden {
        rule: "transitive, with hidden entities",
        world: "e0 (Located, e1) Disabled; e1 (Located, e2); e2",
        query: "(Located, $x)",
        named: false,
        flecs: "e0 x=e1 [Located]; e0 x=e2 [Located]; e1 x=e2 [Located]",
        right: "e1 x=e2 [Located]",
    },
    Golden {
        rule: "IsA with |self",
        world: "e0 (IsA, e1); e1 (IsA, e2); e2",
        query: "(IsA, e2|self)",
        named: false,
        flecs: "e0 [IsA@e1]; e1 [IsA]",
        right: "e1 [IsA]",
    },
    Golden {
        rule: "acyclic pair on itself",
        world: "e0; e1",
        query: "!Located(e1, e1)",
        named: false,
        flecs: "refused: Flecs refuses it",
        right: " [-]",
    },
    Golden {
        rule: "leading optional",
        world: "e0 (Likes, e1) Old; e1 Big Old",
        query: "?(Likes, $x), Big($x), Old",
        named: false,
        flecs: "e0 x=e1 [Likes,e1, Big@e1, Old]; e1 x=e1 [-, Big, Old]",
        right: "e0 x=e1 [Likes,e1, Big@e1, Old]; e1 x=* [-, -, Old]",
    },
    Golden {
        rule: "fixed source after Not, Optional or Or with the same variable",
        world: "e0 Red; e1 (Likes, e0)",
        query: "Red, ?(Likes, $x), Likes(e1, $x)",
        named: false,
        flecs: "e0 x=e0 [Red, -, Likes,e0@e1]",
        right: "e0 x=* [Red, -, -]",
    },
    Golden {
        rule: "variables compared by ==",
        world: "e0 Red (Likes, e1); e1 Red",
        query: "Red, $this == $x, (Likes, $x)",
        named: false,
        flecs: "refused: Flecs refuses it",
        right: "",
    },
    Golden {
        rule: "comparing with what is not bound before",
        world: "e0 Red",
        query: "Red, $this != $x, $x == e0",
        named: false,
        flecs: "refused: Flecs refuses it",
        right: "",
    },
    Golden {
        rule: "Not with a child",
        world: "e0 Red (ChildOf, e1); e1 Big; e2 Big",
        query: "Big, !Red($this.e0)",
        named: true,
        flecs: "e2 [Big, -]",
        right: "",
    },
    Golden {
        rule: "no parent",
        world: "e0 Red (ChildOf, e1); e1; e2 Red",
        query: "Red, !(ChildOf, _)",
        named: false,
        flecs: "e2 [Red, *]",
        right: "e2 [Red, -]",
    },
    Golden {
        rule: "comparing what an optional term or Not leaves unset",
        world: "e0 Red (Likes, e1); e1; e2 Red",
        query: "Red, ?(Likes, $x), $x == e1",
        named: false,
        flecs: "e2 x=* [Red, -, ?]",
        right: "e0 x=e1 [Red, Likes,e1, ?]; e2 x=* [Red, -, ?]",
    },
    Golden {
        rule: "Optional with a variable or wildcard as the tag, or with a transitive relation or up to an open target",
        world: "e0 Red (Follows, e1); e1 (Likes, e2) (Likes, e3); e2; e3",
        query: "Red, ?Likes($this|up Follows, *)",
        named: false,
        flecs: "e0 [Red, Likes,e2@e1]",
        right: "e0 [Red, Likes,e2@e1]; e0 [Red, Likes,e3@e1]",
    },
    Golden {
        rule: "equality or And after an optional child",
        world: "e0 Red (ChildOf, e1); e1 Big; e2 Big",
        query: "Big, ?Red($this.e0), $this != e2",
        named: true,
        flecs: "",
        right: "e1 [Big, Red@e0, ?]",
    },
    Golden {
        rule: "variable that a skipped term would bind",
        world: "e0 Red (Likes, e1); e1; e2 Red",
        query: "Red, ?(Likes, $x), Eats($x, $y), Big($y)",
        named: false,
        flecs: "",
        right: "e2 x=* y=* [Red, -, -, -]",
    },
    Golden {
        rule: "wildcard, variable or any in Or",
        world: "e1 Red (ChildOf, e2); e2; e3 Red",
        query: "($x, e2) || Red",
        named: false,
        flecs: "e1 x=ChildOf [ChildOf,e2]; e3 x=ChildOf [Red]",
        right: "e1 x=ChildOf [ChildOf,e2]; e3 x=* [Red]",
    },
    Golden {
        rule: "Or with another source than $this or an entity",
        world: "e1 (Knows, e2); e2 (Knows, e1); e4 Old; e5",
        query: "Old(*) || Knows(*, e5) || Knows(*, e1)",
        named: false,
        flecs: " [*];  [*,e1]",
        right: " [*]",
    },
    Golden {
        rule: "optional wildcard, variable or subtypes after Or",
        world: "e0 Old (Likes, e1) (Likes, e2); e1; e2",
        query: "Old || Big, ?(Likes, *)",
        named: false,
        flecs: "e0 [Old, Likes,e1]",
        right: "e0 [Old, Likes,e1]; e0 [Old, Likes,e2]",
    },
    Golden {
        rule: "up, a child or an equality in or after a scope",
        world: "e3 (Mounted, e4); e4",
        query: "(Mounted, $y), !{ $y != _ }",
        named: false,
        flecs: "",
        right: "e3 y=e4 [Mounted,e4]",
    },
    Golden {
        rule: "variable of a negated scope that is used after it",
        world: "e0 Old (Likes, e1); e1 Red; e2 Old (Eats, e1); e3 Old",
        query: "Old, !{ (Likes, $x) }, ?(Eats, $x)",
        named: false,
        flecs: "e2 x=e1 [Old, Eats,e1]; e3 x=e1 [Old, -]",
        right: "e2 x=e1 [Old, Eats,e1]; e3 x=* [Old, -]",
    },
    Golden {
        rule: "hidden $this that is found as a target",
        world: "e0 Disabled; e1 (Likes, e0)",
        query: "Likes(e1, $this)",
        named: false,
        flecs: "e0 [Likes,e0@e1]",
        right: "",
    },
    Golden {
        rule: "_ alone",
        world: "e0 Red; e1 Red Old",
        query: "_($x)",
        named: false,
        flecs: " x=* [*];  x=calm [*@calm];  x=angry [*@angry];  x=e0 [*@e0];  x=e1 [*@e1]",
        right: " x=calm [*@calm];  x=angry [*@angry];  x=e0 [*@e0];  x=e1 [*@e1]",
    },
    Golden {
        rule: "_ beside an unbound variable",
        world: "e0 Red (Near, e1) (Eats, e1); e1",
        query: "($x, _), Red",
        named: false,
        flecs: "e0 x=Eats [*, Red]",
        right: "e0 x=Eats [*, Red]; e0 x=Near [*, Red]",
    },
    Golden {
        rule: "open relation or tag, IsA or ChildOf with _ or * as the source",
        world: "e5 (Mood, angry); e6",
        query: "*(_, $this)",
        named: false,
        flecs: "",
        right: "angry [*,angry]",
    },
    Golden {
        rule: "open pair or tag up",
        world: "e0 (Follows, e1); e1 Red Armor",
        query: "*(up Follows)",
        named: false,
        flecs: "e0 [Red@e1]",
        right: "e0 [Red@e1]; e0 [Armor@e1]",
    },
    Golden {
        rule: "up where something has a base",
        world: "e0 (ChildOf, e1); e1 (IsA, e3); e3 Big",
        query: "Big(up)",
        named: false,
        flecs: "e0 [Big@e3]",
        right: "",
    },
    Golden {
        rule: "subtypes in Or, up, or with _ or * as the source",
        world: "Big (IsA, Red); e0 Big; e1 Old",
        query: "Old || Red",
        named: false,
        flecs: "e1 [Old]",
        right: "e0 [Big]; e1 [Old]",
    },
    Golden {
        rule: "lists and inheritance",
        world: "e0 Red Disabled; e1 Red",
        query: "and|e0",
        named: false,
        flecs: "",
        right: "e1 [?]",
    },
    Golden {
        rule: "a field and $this or its holder as what it names",
        world: "e0 Movement (Movement.value, e1); e1",
        query: "(Movement.value, $this)",
        named: false,
        flecs: "e0 [?]",
        right: "",
    },
    Golden {
        rule: "Not or Optional of a field",
        world: "e0 Movement (Movement.value, e1); e1; e2",
        query: "Movement, ?(Movement.value, e2)",
        named: false,
        flecs: "e0 [Movement, ?]",
        right: "e0 [Movement, -]",
    },
    Golden {
        rule: "part of a name in another case",
        world: "eX Red",
        query: "Red, $this ~= \"ex\"",
        named: true,
        flecs: "",
        right: "eX [Red, ?]",
    },
    Golden {
        rule: "child with a transitive or acyclic relation",
        world: "e0 (ChildOf, e1) (Located, e2); e1 Red (Located, e0); e2 (Located, e3); e3",
        query: "Red, (Located, $this.e0)",
        named: true,
        flecs: "",
        right: "e1 [Red, Located]",
    },
];
