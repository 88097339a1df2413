//! Writes the implementation of `Relation`.

use crate::key;
use crate::parse::{ComponentItem, Item, Value};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, ExprPath, Generics, parse_quote};

/// `impl Relation`, and the markers `ExclusiveRelation` and `TraversableRelation` if the items say so.
pub(crate) fn implementation(input: &DeriveInput, items: &[Item]) -> TokenStream {
    let ident = &input.ident;
    let generics = bounded(input.generics.clone());
    let (parameters, arguments, bounds) = generics.split_for_impl();
    // `component` is about the type, not a fact about the relation.
    let is_component = items.iter().any(|item| item.name() == "component");
    let inserts = items.iter().any(|item| {
        item.name() == "on_missing" && matches!(&item.value, Value::Variant(_, rule) if rule == "Insert")
    });
    let in_table = items.iter().any(|item| {
        item.name() == "storage" && matches!(&item.value, Value::Variant(_, storage) if storage != "Store")
    });
    let in_table = in_table.then(|| {
        quote!(
            const IN_TABLE: bool = true;
        )
    });
    let facts = items.iter().filter(|item| item.name() != "component").map(|item| fact(item, input, inserts));
    let not_a_component = (!is_component).then(|| not_a_component(input));
    let validate = items.iter().find_map(|item| match &item.value {
        Value::Function(path) => Some(validate(path)),
        _ => None,
    });
    let info = info(validate.is_some());
    let marker = |marker: &str, names: [&str; 2]| {
        let marker = format_ident!("{marker}");
        items.iter().any(|item| names.contains(&item.name())).then(|| {
            quote! {
                #[automatically_derived]
                impl #parameters ::bevy_relations::__private::#marker for #ident #arguments #bounds {}
            }
        })
    };
    let keyed = key::implementation(input, items);
    // The key is a part of the value, which is therefore not written in place.
    let stored = keyed.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl #parameters ::bevy_relations::__private::StoredRelation for #ident #arguments #bounds {}
        }
    });
    let exclusive = marker("ExclusiveRelation", ["exclusive", "union"]);
    let traversable = marker("TraversableRelation", ["traversable", "transitive"]);
    quote! {
        #[automatically_derived]
        impl #parameters ::bevy_relations::Relation for #ident #arguments #bounds {
            type Component = ();

            #in_table

            fn traits() -> ::bevy_relations::RelationTraits {
                ::bevy_relations::RelationTraits::new() #(#facts)*
            }

            #validate

            #info

            fn register(
                world: &mut ::bevy_relations::__private::World,
            ) -> ::core::result::Result<::bevy_relations::__private::Entity, ::bevy_relations::__private::TraitsError> {
                ::bevy_relations::__private::register::<Self>(world)
            }
        }
        #stored
        #keyed
        #exclusive
        #traversable
        #not_a_component
    }
}

/// An implementation of `Component` that never holds. Its bound has a message that says what to write for a relation in
/// place of a component, and the compiler shows that one: it shows a bound's own message, not that of the trait it
/// belongs to, if the bound's type names a lifetime of its own.
fn not_a_component(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let mut generics = bounded(input.generics.clone());
    generics.make_where_clause().predicates.push(parse_quote!(
        for<'never> &'never Self: ::bevy_relations::__private::RelationIsNotAComponent<Self>
    ));
    let (parameters, arguments, bounds) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        #[doc(hidden)]
        impl #parameters ::bevy_relations::__private::Component for #ident #arguments #bounds {
            const STORAGE_TYPE: ::bevy_relations::__private::StorageType =
                ::bevy_relations::__private::StorageType::Table;
            type Mutability = ::bevy_relations::__private::Mutable;
        }
    }
}

/// What the supertraits of `Relation` and `Expression` ask for, so that a generic type need not repeat it.
pub(crate) fn bounded(mut generics: Generics) -> Generics {
    if generics.type_params().next().is_some() || generics.lifetimes().next().is_some() {
        let bounds = &mut generics.make_where_clause().predicates;
        bounds.push(parse_quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static));
    }
    generics
}

/// The call of the `RelationTraits` builder that declares the item. Points at the item, where a type that is
/// not a relation will be reported. If components that are missing are inserted, they must have a default.
fn fact(item: &Item, input: &DeriveInput, inserts: bool) -> TokenStream {
    let span = Span::call_site().located_at(item.span());
    match &item.value {
        Value::Nothing => {
            let method = flag_method(item.name());
            quote_spanned!(span=> .#method())
        }
        Value::Type(parent) => quote_spanned!(span=> .one_of_type::<#parent>()),
        Value::Types(relations) => quote_spanned!(span=> #(.with::<#relations>())*),
        Value::Components(components) => {
            let end = format_ident!("{}", item.name());
            let calls = components.iter().map(|ComponentItem { is_required, path }| {
                let constraint = match (is_required, inserts) {
                    (false, _) => format_ident!("without"),
                    (true, false) => format_ident!("with"),
                    (true, true) => format_ident!("with_default"),
                };
                quote_spanned!(span=> .#end(::bevy_relations::__private::EndConstraint::#constraint::<#path>()))
            });
            quote!(#(#calls)*)
        }
        Value::Variant(choice, variant) => {
            let method = format_ident!("{}", item.name());
            let choice = format_ident!("{}", choice.path);
            quote!(.#method(::bevy_relations::__private::#choice::#variant))
        }
        // A mistake that was reported is not reported again.
        Value::FieldType(key) => match key::part(input, key) {
            Ok(_) => quote!(.key_of::<Self>()),
            Err(_) => TokenStream::new(),
        },
        Value::Function(_) => TokenStream::new(),
    }
}

/// A flag is spelled like its method, unless Rust keeps the word for itself.
fn flag_method(name: &str) -> Ident {
    match name {
        "final" => format_ident!("is_final"),
        name => format_ident!("{name}"),
    }
}

/// Calls the function of `validate`. It is a function pointer first, because then the error about a wrong
/// signature points at its path and spells the right one.
fn validate(path: &ExprPath) -> TokenStream {
    quote! {
        fn validate(
            &mut self,
            pair: &::bevy_relations::__private::PairContext<'_>,
        ) -> ::core::result::Result<(), ::bevy_relations::__private::PairRefusal> {
            let validate: fn(
                &mut Self,
                &::bevy_relations::__private::PairContext<'_>,
            ) -> ::core::result::Result<(), ::bevy_relations::__private::PairRefusal> = #path;
            validate(self, pair)
        }
    }
}

/// `Relation::info`. The probes find out whether the type is `Default`, `Clone` and `PartialEq` by the method that
/// resolves: the trait without the bound is one `&` further away.
fn info(checks: bool) -> TokenStream {
    quote! {
        fn info() -> ::bevy_relations::__private::RelationInfo<Self> {
            use ::bevy_relations::__private::{
                ProbeClone as _, ProbeCloneFallback as _, ProbeDefault as _, ProbeDefaultFallback as _,
                ProbeEq as _, ProbeEqFallback as _,
            };
            static HINT: ::bevy_relations::__private::RelationHint =
                ::bevy_relations::__private::RelationHint::new();
            ::bevy_relations::__private::RelationInfo {
                hint: &HINT,
                default: (&::bevy_relations::__private::Probe::<Self>::NEW).default_fn(),
                clone: (&::bevy_relations::__private::Probe::<Self>::NEW).clone_fn(),
                eq: (&::bevy_relations::__private::Probe::<Self>::NEW).eq_fn(),
                checks: #checks,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::errors::Errors;
    use quote::quote;
    use syn::{DeriveInput, parse_quote};

    fn expansion(input: DeriveInput) -> String {
        let mut errors = Errors::default();
        let items = crate::parse::declaration(&input, &mut errors);
        assert_eq!(errors.messages(), Vec::<String>::new());
        super::implementation(&input, &items).to_string()
    }

    #[test]
    fn facts_are_declared_in_the_order_in_which_they_are_written() {
        let expansion = expansion(parse_quote! {
            #[relation(final, with(A, B), one_of, on_instantiate = Inherit)]
            #[relation(on_target_despawn = Despawn)]
            struct Likes;
        });
        let calls = quote! {
            ::bevy_relations::RelationTraits::new()
                .is_final()
                .with::<A>()
                .with::<B>()
                .one_of()
                .on_instantiate(::bevy_relations::__private::OnInstantiate::Inherit)
                .on_target_despawn(::bevy_relations::__private::CleanupPolicy::Despawn)
        };
        assert!(expansion.contains(&calls.to_string()), "{expansion}");
    }

    #[test]
    fn a_generic_type_keeps_its_bounds_and_gets_those_of_the_trait() {
        let expansion = expansion(parse_quote! {
            #[relation(exclusive)]
            struct Likes<'a, T: Copy, const N: usize = 3>(&'a [T; N]) where T: Ord;
        });
        let head = quote! {
            impl<'a, T: Copy, const N: usize> ::bevy_relations::Relation for Likes<'a, T, N>
            where T: Ord, Self: ::core::marker::Send + ::core::marker::Sync + 'static
        };
        assert!(expansion.contains(&head.to_string()), "{expansion}");
        assert!(
            expansion
                .contains(&head.to_string().replace(":: Relation ", ":: __private :: ExclusiveRelation ")),
            "{expansion}"
        );
    }

    #[test]
    fn only_exclusive_and_union_relations_are_exclusive() {
        assert!(expansion(parse_quote! { #[relation(union)] struct Mood; }).contains("ExclusiveRelation"));
        assert!(!expansion(parse_quote! { #[relation(acyclic)] struct Mood; }).contains("ExclusiveRelation"));
    }

    #[test]
    fn only_traversable_and_transitive_relations_may_be_followed() {
        assert!(
            expansion(parse_quote! { #[relation(transitive)] struct In; }).contains("TraversableRelation")
        );
        assert!(
            expansion(parse_quote! { #[relation(traversable)] struct On; }).contains("TraversableRelation")
        );
        assert!(!expansion(parse_quote! { #[relation(acyclic)] struct Of; }).contains("TraversableRelation"));
    }

    #[test]
    fn a_keyed_relation_is_not_written_in_place() {
        let keyed = expansion(parse_quote! { #[relation(key = Slot)] struct Equips(Slot); });
        assert!(keyed.contains("KeyedRelation") && keyed.contains("key_of :: < Self >"), "{keyed}");
        assert!(!keyed.contains("StoredRelation"), "{keyed}");
    }

    #[test]
    fn a_function_is_called_only_if_one_is_named() {
        let validating = expansion(parse_quote! { #[relation(validate = checks::ripe)] struct Eats(f32); });
        assert!(validating.contains("= checks :: ripe ;"), "{validating}");
        assert!(!expansion(parse_quote! { struct Eats(f32); }).contains("validate"));
    }
}
