//! A tour of the query language.

use crate::{answer::Table, failure::Failure};
use bevy_ecs::prelude::*;
use bevy_relations::PairExpr;

/// What each expression shows, and the expression.
const STOPS: &[(&str, &str)] = &[
    (
        "Terms are joined by commas: capitals of more than one country would have several rows.",
        r"City, (CapitalOf, $of), (LocatedIn, Central\ Asia)",
    ),
    (
        "LocatedIn is transitive: cities lie in subdivisions, and so in countries, and so in regions.",
        "City, Population, (LocatedIn, Netherlands)",
    ),
    (
        "A variable stands for what is found, and other terms can ask more of it.",
        "City, (LocatedIn, $in), Country($in), $this ~= \"san salvador\"",
    ),
    ("Several pairs of one relation: who borders both?", "Country, (Borders, France), (Borders, Germany)"),
    (
        "Triangles: neighbours of Luxembourg that are neighbours of each other.",
        "Borders(Luxembourg, $a), Borders($a, $b), Borders(Luxembourg, $b)",
    ),
    ("A wildcard for the relation: who has to do with Malta, and how?", "(*, Malta)"),
    ("A wildcard for the target gives a row for each; `_` would give one.", "$this == Andorra, (Speaks, *)"),
    (
        "A scope that must not hold: countries all of whose neighbours pay with the euro.",
        "Country, (LocatedIn, Europe), (Borders, _), !{ (Borders, $other), !PaysWith($other, Euro) }",
    ),
    (
        "An optional term leaves no row out: islands have no neighbours.",
        "Country, (LocatedIn, Caribbean), Area, ?(Borders, $neighbour), $this ~= \"!saint\"",
    ),
    (
        "One or the other.",
        r"Country, (LocatedIn, Europe), (PaysWith, Swiss\ Franc) || (PaysWith, Danish\ Krone)",
    ),
    ("Part of a name, in any case and alphabet.", "City, $this ~= \"øy\""),
    (
        "Upwards: the nearest above that has the component, here the country.",
        "$this ~= \"zürich\", City, Country(up LocatedIn)",
    ),
    ("A path below a variable.", r"Country($c), CapitalOf($c.Bern.Bern, $c)"),
];

pub(crate) fn text(world: &mut World) -> Result<String, Failure> {
    let mut text = String::new();
    for (title, expr) in STOPS {
        let mut compiled = PairExpr::parse(*expr)?.compile(world)?;
        let table = Table::of(&mut compiled, world)?.text(12);
        text += &format!("{title}\n> {expr}\n{table}\n");
    }
    Ok(text)
}
