//! Expressions as they are written: text, or calls of a builder.

mod builder;

pub use builder::PairExprBuilder;

pub(super) use builder::GivenType;

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use bevy_relations_syntax::{
    ast::{Access, Ast, IdKind, THIS},
    error::ExprError,
    parse,
};
use core::{fmt, str::FromStr};

/// An expression of the query language: which entities, with which components and pairs, found along which
/// relations.
///
/// The language is that of Flecs. Terms are separated by commas and hold all at once:
///
/// | term | matches |
/// |---|---|
/// | `Ship` | entities with the component or tag |
/// | `(DockedTo, Earth)`, `DockedTo($this, Earth)` | with the pair |
/// | `(DockedTo, *)`, `(DockedTo, _)` | with a pair of the relation: a row for each, or one row |
/// | `(DockedTo, $planet), Planet($planet)` | with a pair whose target has a component itself |
/// | `Equips[Head]($item)`, `Equips[Head](Knight, $item)` | with the pair of a [keyed relation](crate::relation::KeyedRelation) that has the key |
/// | `Position(Game)`, `SimTime($)` | if that one entity has it; if the resource is there |
/// | `!Ship`, `?Ship` | without it; whether or not they have it |
/// | `Ship \|\| Station` | with one of them |
/// | `!{ (DockedTo, $p), Planet($p) }` | where all that does not hold for any `$p` |
/// | `Armor(up MountedOn)`, `Armor(self\|up MountedOn 2)` | with a holder above; or themselves; not too far up |
/// | `Transform(cascade ChildOf)` | with a holder above, rows from the root down |
/// | `(Movement.target, $x)`, `Held.orders.0($y, $x)` | with an entity in this field of a reflected component |
/// | `Health.hp < 10`, `Cost.gold($c) >= 3`, `Title.text == "Sir"` | by a field of a reflected component |
/// | `(Eats.grams, $food) > 1` | by a field of the value of a pair, also of a relation created at run time |
/// | `$this == Earth`, `$p != $q`, `$this ~= "art"` | by identity, or by part of the name |
/// | `[in] Ship`, `[out]`, `[inout]`, `[none]` | says what the data is for |
/// | `and\|Fleet`, `or\|Fleet`, `not\|Fleet` | with all, one, none of the components of that entity |
///
/// A variable has no value in a row where an optional term found nothing, or where another branch of `||` was taken.
/// Terms that use it are skipped there, and so is a scope of such terms alone; a branch of such terms holds, with its
/// field unset.
///
/// Fields are compared by `<`, `<=`, `>`, `>=`, `==` and `!=`, with blanks around; they may be numbers, or, with the
/// last two, `bool`, `char`, text, or enums by the name of their variant, in quotes: `Title.rank == "Knight"`. In keys and in values
/// that are [inserted](super::WorldExprExt::insert_expr), variants have no quotes: `Equips[Head]($item)`. Numbers are compared as they are, whatever
/// the width of the field, but decimals are rounded to it where the field is an `f32`, as `0.1_f32` is. NaN satisfies `!=` alone. An
/// `Option` is compared by its content. A comparison with an absent value is false: `Health.hp != 3` holds for no entity without
/// `Health`, `!Health.hp == 3` for each. Only the source itself is looked at, not what it inherits. So a field is `None` where a
/// comparison that each value satisfies does not hold: `Title, !{ Title.text == "" || Title.text != "" }`.
///
/// `$this` is no prefab and no disabled entity, unless a term about `$this` itself names `Prefab` or `Disabled`, and no
/// entity that Bevy or this crate keeps for itself. Other variables may be any of these but resources, observers and
/// systems. `!{..}` has variables of its own, but never a `$this` of its own: it means the same wherever it stands.
///
/// The empty text is valid and has no rows.
///
/// `R(a, b, c)` is short for `R(a, b), R(b, c)`, and `R(a, b || c)` for `R(a, b) || R(a, c)`. Names are paths
/// (`Sol.Earth`) or Rust types (`game::Ship`): a component is known by the name of its type if that is registered with
/// `#[reflect(Component)]`, or by the name that
/// [`register_component_name`](crate::ComponentNameExt::register_component_name) gives it, a relation once it is
/// registered or used. A backslash makes any character part of a name. `#123` is an entity by its bits. Comments are
/// those of Rust.
///
/// In systems, [`ExprQuery`](crate::ExprQuery) runs an expression; [`pair_expr!`](crate::pair_expr) makes one of which
/// the text is read while the program is compiled.
///
/// `Display` writes an expression in a normal form; two expressions are equal if their normal forms are.
///
/// ```
/// # use bevy_relations::expr::PairExpr;
/// let expr = PairExpr::parse("Ship, DockedTo($this, $a, $b) // twice removed").unwrap();
/// assert_eq!(expr.to_string(), "Ship, (DockedTo, $a), DockedTo($a, $b)");
/// assert_eq!(expr.variables(), ["a", "b"]);
/// ```
///
/// In the book: [Expressions](crate::book::expressions).
#[derive(Clone)]
pub struct PairExpr {
    pub(super) text: String,
    pub(super) ast: Ast,
    /// Types that a builder was given.
    pub(super) types: Vec<GivenType>,
}

impl PairExpr {
    /// Reads an expression.
    ///
    /// # Errors
    /// If the text does not follow the grammar, or says what cannot hold in any world; also if it has more than
    /// 64 KiB, more than 512 terms, or scopes that are nested more than 32 deep.
    ///
    /// # Complexity
    /// Linear in the length of the text.
    pub fn parse(text: impl Into<String>) -> Result<Self, ExprError> {
        let text = text.into();
        let ast = parse::parse(&text)?;
        Ok(Self { text, ast, types: Vec::new() })
    }

    /// Starts an expression that is put together by calls.
    ///
    /// ```
    /// # use bevy_relations::expr::PairExpr;
    /// let built = PairExpr::builder().expr("Ship").expr("!(DockedTo, *)").build()?;
    /// assert_eq!(built.text(), "Ship, !(DockedTo, *)");
    /// # Ok::<(), bevy_relations::expr::ExprError>(())
    /// ```
    pub fn builder() -> PairExprBuilder {
        PairExprBuilder::default()
    }

    /// The text that was read, or that a builder has written.
    ///
    /// ```
    /// # use bevy_relations::expr::PairExpr;
    /// let expr = PairExpr::parse("Ship,DockedTo($this,$port)")?;
    /// assert_eq!(expr.text(), "Ship,DockedTo($this,$port)");
    /// assert_eq!(expr.to_string(), "Ship, (DockedTo, $port)");
    /// # Ok::<(), bevy_relations::expr::ExprError>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Number of terms, also those in scopes.
    #[cfg(feature = "remote")]
    pub(crate) fn term_count(&self) -> usize {
        let mut count = 0;
        self.ast.for_each_term(&mut |_, _| count += 1);
        count
    }

    fn has_types(&self) -> bool {
        !self.types.is_empty()
    }

    /// The names of the variables, in the order of their first use, without `$this` and without those that occur
    /// only in `!{..}`, which are not visible outside.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        self.ast.for_each_term(&mut |term, negated| {
            for id in term.ids().filter(|_| !negated) {
                if let IdKind::Variable(name) | IdKind::Lookup(name, _) = &id.kind
                    && name != THIS
                    && !names.contains(&name.as_str())
                {
                    names.push(name);
                }
            }
        });
        names
    }
}

/// An expression that the macros have read before.
#[doc(hidden)]
pub fn parsed(text: &'static str) -> PairExpr {
    PairExpr::parse(text).unwrap_or_else(|error| unreachable!("{error}"))
}

impl FromStr for PairExpr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        Self::parse(text)
    }
}

impl PartialEq for PairExpr {
    fn eq(&self, other: &Self) -> bool {
        // A type that a builder was given reads as its name.
        self.ast == other.ast
            || (self.has_types() || other.has_types()) && self.to_string() == other.to_string()
    }
}

impl Eq for PairExpr {}

impl fmt::Display for PairExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ast.fmt(f)
    }
}

/// Shows what was understood, with the place of each part in the text.
impl fmt::Debug for PairExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.ast, f)
    }
}

/// What the value of a field is for: `[in]`, `[out]`, `[inout]` or `[none]`.
///
/// As in Flecs, it may be written beside what has no value: a tag, a term that must not hold, or one in `!{..}`. It
/// means nothing there, and writing such a field is an error.
///
/// It is written before a term: `[inout] Fuel` in [`PairExpr`].
///
/// ```
/// # use bevy_relations::expr::{FieldAccess, PairExpr};
/// # struct Fuel;
/// let refuel = PairExpr::builder().expr("(DockedTo, $port)").with::<Fuel>().access(FieldAccess::InOut).build()?;
/// assert!(refuel.text().starts_with("(DockedTo, $port), [inout] "));
/// # Ok::<(), bevy_relations::expr::ExprError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldAccess {
    /// The value is not accessed.
    None,
    /// It is read.
    In,
    /// It is written without being read.
    Out,
    /// It is read and written.
    InOut,
}

impl From<Access> for FieldAccess {
    fn from(access: Access) -> Self {
        match access {
            Access::In => Self::In,
            Access::Out => Self::Out,
            Access::InOut => Self::InOut,
            Access::None => Self::None,
        }
    }
}
