//! A tour of the query language.

use crate::{
    answer::{write_groups, write_table},
    failure::Failure,
    world::{PaysWith, Population},
};
use bevy_ecs::prelude::*;
use bevy_relations::expr::{CompiledExpr, PairExpr};
use std::io::Write;

/// An expression, and what it shows.
struct Stop {
    title: &'static str,
    expr: &'static str,
    /// How its rows are wanted.
    order: Order,
}

enum Order {
    AsFound,
    LargestFirst,
    /// In groups that pay with the same currency.
    ByCurrency,
}

const fn stop(title: &'static str, expr: &'static str) -> Stop {
    Stop { title, expr, order: Order::AsFound }
}

const STOPS: &[Stop] = &[
    stop(
        "All terms must hold: a city that is the capital of something, which is put into a variable.",
        r"City, (CapitalOf, $country), (LocatedIn, Central\ Asia)",
    ),
    Stop {
        title: "LocatedIn is transitive: a city lies in a subdivision, so also in its country and its continent. \
            Sorted by a component.",
        expr: "City, Population, (LocatedIn, Europe)",
        order: Order::LargestFirst,
    },
    stop(
        "Other terms ask more of what is in a variable: of all places that a city lies in, only countries.",
        "City, (LocatedIn, $country), Country($country), $this ~= \"san salvador\"",
    ),
    stop(
        "Several pairs of one relation: who borders both?",
        "Country, (Borders, France), (Borders, Germany)",
    ),
    stop(
        "Triangles: neighbours of Luxembourg that are neighbours of each other.",
        "Borders(Luxembourg, $a), Borders($a, $b), Borders(Luxembourg, $b)",
    ),
    stop("A wildcard for the relation: who has to do with Malta, and how?", "(*, Malta)"),
    stop(
        "A wildcard for the target gives a row for each; `_` would give one.",
        "Country($this), (Speaks, *), $this == Belgium",
    ),
    stop(
        "A scope that must not hold: countries all of whose neighbours pay with the euro. That is, there is no \
            neighbour that does not.",
        "Country, (LocatedIn, Europe), (Borders, _), !{ (Borders, $other), !PaysWith($other, Euro) }",
    ),
    stop(
        "An optional term leaves nobody out: few islands have a neighbour.",
        r"Country, Area, (LocatedIn, Melanesia), ?(Borders, $neighbour)",
    ),
    stop(
        "One or the other.",
        r"Country, (LocatedIn, Europe), (PaysWith, Swiss\ Franc) || (PaysWith, Danish\ Krone)",
    ),
    stop("Part of a name, in capital or small letters.", "City, $this ~= \"ł\""),
    stop(
        "Upwards: the nearest place above a city that is a country.",
        "City, Country(up LocatedIn), $this ~= \"zürich\"",
    ),
    stop(
        "A child of what is in a variable: countries that have a subdivision of this name.",
        r"Country, Subdivision($this.Central\ Region)",
    ),
    Stop {
        title: "Rows in groups, here by the target of a relation.",
        expr: r"Country, (LocatedIn, Caribbean), (PaysWith, _)",
        order: Order::ByCurrency,
    },
];

/// Rows of each stop that are shown.
const SHOWN: usize = 8;

pub(crate) fn write(out: &mut dyn Write, world: &mut World) -> Result<(), Failure> {
    for Stop { title, expr, order } in STOPS {
        writeln!(out, "{title}\n> {expr}")?;
        let mut compiled = PairExpr::parse(*expr)?.compile(world)?;
        write_found(out, &mut compiled, world, order)?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_found(
    out: &mut dyn Write,
    expr: &mut CompiledExpr,
    world: &World,
    order: &Order,
) -> Result<(), Failure> {
    match order {
        Order::AsFound => {}
        Order::LargestFirst => {
            expr.order_by::<Population>(|a, b| b.cmp(a));
        }
        Order::ByCurrency => return write_groups(out, expr.group_by::<PaysWith>()?, world),
    }
    write_table(out, expr, world, SHOWN)
}
