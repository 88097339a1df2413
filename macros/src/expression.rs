//! Expressions of the query language in the program's text: `#[derive(Expression)]` and `pair_expr!`.

use crate::{errors::Errors, expand::bounded};
use bevy_relations_syntax::{
    ast::{Access, Ast, Test},
    error::ExprError,
    parse::parse,
};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, DeriveInput, LitStr};

/// `impl Expression`, preceded by what is wrong.
///
/// The implementation is there even after errors: without it, every use of the type would be one more error.
pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let read = text(input).and_then(|text| Ok((read(&text)?, text)));
    let (fields, expr) = match read {
        Ok((ast, text)) => {
            let fields = if writes(&ast) { quote!(WriteFields) } else { quote!(ReadFields) };
            let expr = expression(&text);
            (fields, quote!(::core::option::Option::Some(#expr)))
        }
        Err(error) => {
            errors.push(error);
            (quote!(WriteFields), quote!(::core::option::Option::None))
        }
    };
    let ident = &input.ident;
    let generics = bounded(input.generics.clone());
    let (parameters, arguments, bounds) = generics.split_for_impl();
    let errors = errors.into_compile_errors();
    quote! {
        #errors
        #[automatically_derived]
        impl #parameters ::bevy_relations::Expression for #ident #arguments #bounds {
            type Fields = ::bevy_relations::__private::#fields;

            fn expr() -> ::core::option::Option<::bevy_relations::__private::PairExpr> {
                #expr
            }
        }
    }
}

/// The value of `pair_expr!`.
pub(crate) fn value(text: &LitStr) -> TokenStream {
    match read(text) {
        Ok(_) => expression(text),
        Err(error) => error.into_compile_error(),
    }
}

fn expression(text: &LitStr) -> TokenStream {
    quote!(::bevy_relations::__private::parsed(#text))
}

/// The text of `#[expr("..")]`.
fn text(input: &DeriveInput) -> syn::Result<LitStr> {
    let is_expr = |attribute: &&Attribute| attribute.path().is_ident("expr");
    let mut attributes = input.attrs.iter().filter(is_expr);
    let Some(attribute) = attributes.next() else {
        let message = "an expression needs its text; write `#[expr(\"..\")]` above the type";
        return Err(syn::Error::new_spanned(&input.ident, message));
    };
    if let Some(second) = attributes.next() {
        return Err(syn::Error::new_spanned(
            second,
            "one `#[expr(\"..\")]` is enough; put a `,` between the terms",
        ));
    }
    attribute.parse_args().map_err(|_| {
        syn::Error::new_spanned(&attribute.meta, "`expr` needs one string; write `#[expr(\"..\")]`")
    })
}

fn read(text: &LitStr) -> syn::Result<Ast> {
    parse(&text.value()).map_err(|error| syn::Error::new(place(text, &error), error))
}

/// The place of a mistake within the text, if the compiler provides it: a stable one points at all of it.
fn place(text: &LitStr, error: &ExprError) -> Span {
    let literal = text.token();
    let range = error.range();
    // With escapes in it, the text is not spelled as it is.
    let start = literal.to_string().find(&text.value()).map(|start| start + range.start);
    let within = start.and_then(|start| literal.subspan(start..start + range.len().max(1)));
    within.unwrap_or_else(|| text.span())
}

fn writes(ast: &Ast) -> bool {
    let mut writes = false;
    ast.for_each_term(&mut |term, _| {
        let access = match &term.test {
            Test::Has(has) => has.access,
            Test::Keyed(keyed) => keyed.access,
            Test::Compare(_) => None,
        };
        writes |= matches!(access, Some(Access::Out | Access::InOut));
    });
    writes
}

#[cfg(test)]
mod tests {
    use super::{derive, value};
    use quote::quote;
    use syn::parse_quote;

    #[test]
    fn an_expression_that_writes_a_field_says_so() {
        let expansion = |text: &str| derive(&parse_quote! { #[expr(#text)] struct Docked; }).to_string();
        assert!(expansion("Ship, (DockedTo, $p), [in] Fuel($p)").contains("ReadFields"));
        assert!(expansion("Ship, (DockedTo, $p), [inout] Fuel($p)").contains("WriteFields"));
        assert!(expansion("Ship || { [out] Fuel }").contains("WriteFields"));
    }

    #[test]
    fn a_mistake_is_shown_with_its_place_in_the_text() {
        let expansion = value(&parse_quote!("Ship,,Fuel")).to_string();
        assert!(expansion.contains("compile_error"), "{expansion}");
        assert!(expansion.contains("1:6: expected"), "{expansion}");
        assert!(expansion.contains("1 | Ship,,Fuel"), "{expansion}");
    }

    #[test]
    fn a_type_with_a_mistake_is_an_expression_nevertheless() {
        for declaration in [
            parse_quote! { struct Docked; },
            parse_quote! { #[expr] struct Docked; },
            parse_quote! { #[expr(Ship)] struct Docked; },
            parse_quote! { #[expr("Ship")] #[expr("Fuel")] struct Docked; },
            parse_quote! { #[expr("Ship,,")] struct Docked; },
        ] {
            let expansion = derive(&declaration).to_string();
            assert!(expansion.contains("compile_error"), "{expansion}");
            let head = quote!(impl ::bevy_relations::Expression for Docked).to_string();
            assert!(expansion.contains(&head), "{expansion}");
        }
    }
}
