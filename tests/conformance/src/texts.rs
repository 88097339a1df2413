//! Texts with the parsers that accept them. They hold what random expressions do not: faults, and what one side alone
//! refuses.

use crate::{flecs::Flecs, oracle::expr::Expr, oracle::random, ours::Ours};
use bevy_relations::expr::PairExpr;

/// Which parsers accept a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accepted {
    Both,
    None,
    Flecs,
    Ours,
}

/// The texts that a parser accepts or refuses against the table.
pub(crate) fn failures() -> Vec<String> {
    let model = random::vocabulary();
    let empty = Expr(Vec::new());
    let mut flecs = Flecs::new(&model, &empty, true, 0);
    let mut ours = Ours::new(&model, true);
    let mut accepted = |text: &str| {
        let parsed = PairExpr::parse(text).ok();
        let in_crate = parsed.is_some_and(|parsed| parsed.compile(&mut ours.world).is_ok());
        match (flecs.accepts(text), in_crate) {
            (true, true) => Accepted::Both,
            (false, false) => Accepted::None,
            (true, false) => Accepted::Flecs,
            (false, true) => Accepted::Ours,
        }
    };
    let found = TEXTS.iter().map(|&(text, expected)| (text, expected, accepted(text)));
    let failures = found.filter(|(_, expected, found)| expected != found);
    failures.map(|(text, expected, found)| format!("{text}: {found:?}, not {expected:?}")).collect()
}

const TEXTS: &[(&str, Accepted)] = &[
    // Section 6: what is an error.
    ("Red,,Big", Accepted::None),
    ("Red Big", Accepted::None),
    ("Red ||", Accepted::None),
    ("(Red)", Accepted::None),
    ("Red(calm", Accepted::None),
    ("Red }", Accepted::None),
    ("{ Red", Accepted::None),
    ("{}", Accepted::None),
    ("($, Red)", Accepted::None),
    ("$this == $this", Accepted::None),
    ("$this ~= Red", Accepted::None),
    ("Red(up Likes)", Accepted::None),
    ("Red(desc)", Accepted::None),
    ("Nothing", Accepted::None),
    ("Nothing.at.all", Accepted::None),
    ("Red || !Big", Accepted::None),
    ("[inout] and|Mood.calm", Accepted::None),
    ("Red(", Accepted::None),
    ("(Likes, )", Accepted::None),
    ("(Mood, Mood)", Accepted::None),
    ("Armor(up IsA)", Accepted::None),
    // What both know.
    ("", Accepted::Both),
    ("// nothing", Accepted::Both),
    ("Red,", Accepted::Both),
    ("(ChildOf, #0)", Accepted::Both),
    ("Clock", Accepted::Both),
    ("Clock(Clock)", Accepted::Both),
    ("[in] Armor, [inout] Shield(self), [out] Movement", Accepted::Both),
    ("(Likes, Mood.calm || Mood.angry)", Accepted::Both),
    ("Likes($this, $x, $y)", Accepted::Both),
    ("(Mood, calm)", Accepted::Both),
    ("Red /* and */ , // so on\n Big", Accepted::Both),
    // Words that Flecs ignores, and errors here.
    ("[wrong] Red", Accepted::Flecs),
    // What is ours alone.
    ("Red(up|all ChildOf 2)", Accepted::Ours),
    // Flecs 4.1 looks for an entity of that name.
    ("Clock($)", Accepted::Ours),
    ("Red(down)", Accepted::Ours),
    ("Red(up ChildOf 2..3)", Accepted::Ours),
    ("(Likes, Mood.calm|up ChildOf)", Accepted::Ours),
    ("{ Red } || { Big }", Accepted::Ours),
];
