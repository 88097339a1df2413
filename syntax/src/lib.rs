//! The syntax of the query language of `bevy_relations`.
//!
//! The library reads expressions at run time, its macros while a program is compiled: both with
//! [`parse`](parse::parse), which turns text into an [`Ast`](ast::Ast) or returns what is wrong and where. Displaying
//! an `Ast` writes it down again.
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
