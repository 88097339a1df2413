//! The macros of `bevy_relations`.
//!
//! `#[derive(Relation)]` makes a struct or an enum a relation; `#[relation(..)]` declares the facts about it. A
//! declaration goes through five modules: `attribute` lists every attribute and what it takes, `parse` turns the text
//! into items, `check` finds items that contradict each other or the type, `key` finds the key of a keyed relation, and
//! `expand` writes the implementation. Every mistake becomes a compile error at the item that makes it, and all
//! mistakes of a type are reported at once.
//!
//! A new attribute needs a row in `attribute::ATTRIBUTES`; a flag needs nothing else, as long as it is
//! spelled like its method of `RelationTraits`.
//!
//! `#[derive(Expression)]` and `pair_expr!` read expressions of the query language, in `expression`.

mod attribute;
mod check;
mod errors;
mod expand;
mod expression;
mod key;
mod parse;

use errors::Errors;
use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, LitStr, parse_macro_input};

/// Makes a struct or an enum a `Relation`.
///
/// A type without fields, or whose fields have no size, is a tag relation; the pairs of any other relation carry a value of the type. Facts
/// are declared with `#[relation(..)]`, as listed at the trait. Several `#[relation(..)]` on one type add up.
///
/// Generic types are relations for every choice of parameters that is `Send + Sync + 'static`. A relation
/// declared `exclusive` or `union` also gets `ExclusiveRelation`, one declared `traversable` or `transitive` also
/// `TraversableRelation`, one with a `key` `KeyedRelation`.
#[proc_macro_derive(Relation, attributes(relation))]
pub fn derive_relation(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    relation(&parse_macro_input!(input as DeriveInput)).into()
}

/// Makes a type stand for an expression of the query language, given with `#[expr("..")]`.
///
/// The text is read while the program is compiled. A mistake in it is an error at the text, with the place marked in
/// an excerpt; nightly compilers point into the text itself.
#[proc_macro_derive(Expression, attributes(expr))]
pub fn derive_expression(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expression::derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// A `PairExpr` of which the text is read while the program is compiled: a mistake in it is a compile error.
///
/// `PairExpr::parse` reads a text that is known only later.
#[proc_macro]
pub fn pair_expr(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expression::value(&parse_macro_input!(input as LitStr)).into()
}

/// The implementation, preceded by what is wrong with the declaration.
///
/// The implementation is there even after errors: without it, every use of the type would be one more error.
fn relation(input: &DeriveInput) -> TokenStream {
    if let Data::Union(data) = &input.data {
        let message = "a union cannot be a relation; make it a struct or an enum";
        return syn::Error::new_spanned(data.union_token, message).into_compile_error();
    }
    let mut errors = Errors::default();
    let items = parse::declaration(input, &mut errors);
    check::declaration(input, &items, &mut errors);
    let mut expansion = errors.into_compile_errors();
    expansion.extend(expand::implementation(input, &items));
    expansion
}
