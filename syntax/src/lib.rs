//! The syntax of the query language of `bevy_relations`.
//!
//! The library reads expressions at run time, its macros while a program is compiled: both with
//! [`parse`](parse::parse), which turns text into an [`Ast`](ast::Ast) or returns what is wrong and where. The `Display`
//! of an `Ast` writes it as text:
//!
//! ```
//! use bevy_relations_syntax::parse::{parse, parse_arg};
//!
//! let ast = parse("Ship, DockedTo($this, $port, $sea)")?;
//! assert_eq!(ast.to_string(), "Ship, (DockedTo, $port), DockedTo($port, $sea)");
//! assert_eq!(ast.clauses.len(), 3);
//!
//! let port = parse_arg("Sol.Earth(up ChildOf)");
//! assert!(port.is_err() && parse_arg("Sol.Earth").is_ok());
//! # Ok::<(), bevy_relations_syntax::error::ExprError>(())
//! ```
//!
//! Nothing here depends on Bevy. This crate is part of `bevy_relations` and changes with it; use that one.
#![no_std]

extern crate alloc;

pub mod ast;
mod check;
pub mod error;
pub mod insertion;
mod keyed;
mod legacy;
mod lex;
mod mistakes;
pub mod parse;
pub mod path;
mod print;
pub mod spelling;
mod value;
