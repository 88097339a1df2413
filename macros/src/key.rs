//! `#[relation(key = ..)]`: which part of a value is its key, and the implementation of `KeyedRelation`.

use crate::check::same;
use crate::expand::bounded;
use crate::parse::{Item, Value};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Index, Member, Type};

/// The part of a value that is its key.
pub(crate) enum KeyPart {
    /// All of it.
    Value,
    Field(Member),
}

/// The type that an item names as that of the key.
pub(crate) fn named(item: &Item) -> Option<&Type> {
    match &item.value {
        Value::FieldType(key) => Some(key),
        _ => None,
    }
}

/// Finds the key by its type, or says why there is none.
pub(crate) fn part(input: &DeriveInput, key: &Type) -> Result<KeyPart, String> {
    let (ident, spelled) = (&input.ident, key.to_token_stream());
    let (_, parameters, _) = input.generics.split_for_impl();
    let own = quote!(#ident #parameters);
    if same(&spelled, &quote!(Self)) || same(&spelled, &own) {
        return Ok(KeyPart::Value);
    }
    let Data::Struct(data) = &input.data else {
        return Err(format!("an enum is its own key; write `key = Self`, or make `{ident}` a struct"));
    };
    let fields = data.fields.iter().enumerate().filter(|(_, field)| same(&field.ty, &spelled));
    let mut fields = fields.map(|(number, field)| match &field.ident {
        Some(name) => Member::Named(name.clone()),
        None => Member::Unnamed(Index::from(number)),
    });
    match (fields.next(), fields.next()) {
        (Some(field), None) => Ok(KeyPart::Field(field)),
        (Some(_), Some(_)) => Err(format!(
            "`{ident}` has several fields of type `{spelled}`; give the one that is the key a type of its own"
        )),
        (None, _) => Err(format!(
            "`{ident}` has no field of type `{spelled}`; add one, or write the type as the field does"
        )),
    }
}

/// Why a key cannot stand beside another item.
pub(crate) fn contradiction(item: &Item, items: &[Item]) -> Option<String> {
    named(item)?;
    let why = items.iter().find_map(|other| match other.name() {
        name @ ("exclusive" | "union") => Some((name, "a source has one target, whatever its key")),
        name @ "symmetric" => Some((name, "one value would have a key on both ends")),
        name @ "tag" => Some((name, "there is no value that could have a key")),
        _ => None,
    });
    why.map(|(other, why)| format!("`key` contradicts `{other}`: {why}; keep one of the two"))
}

/// `impl KeyedRelation`, if there is a key.
pub(crate) fn implementation(input: &DeriveInput, items: &[Item]) -> Option<TokenStream> {
    let key = items.iter().find_map(named)?;
    let access = match part(input, key).ok()? {
        KeyPart::Value => quote!(self),
        KeyPart::Field(field) => quote!(&self.#field),
    };
    let ident = &input.ident;
    let generics = bounded(input.generics.clone());
    let (parameters, arguments, bounds) = generics.split_for_impl();
    // Points at the item, where a type that cannot be a key will be reported.
    let span = Span::call_site().located_at(key.span());
    let key = quote_spanned!(span=> #key);
    Some(quote! {
        #[automatically_derived]
        impl #parameters ::bevy_relations::__private::KeyedRelation for #ident #arguments #bounds {
            type Key = #key;

            fn key(&self) -> &#key {
                #access
            }

            fn key_reader() -> ::bevy_relations::__private::KeyReader<#key> {
                use ::bevy_relations::__private::{
                    ProbeFromStr as _, ProbeFromStrFallback as _, ProbeVariants as _, ProbeVariantsFallback as _,
                };
                ::bevy_relations::__private::KeyReader {
                    parse: (&::bevy_relations::__private::Probe::<#key>::NEW).parse_fn(),
                    variants: (&::bevy_relations::__private::Probe::<#key>::NEW).variants(),
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{KeyPart, part};
    use syn::{DeriveInput, parse_quote};

    fn part_of(input: &DeriveInput, key: &syn::Type) -> Result<String, String> {
        part(input, key).map(|part| match part {
            KeyPart::Value => "Self".into(),
            KeyPart::Field(syn::Member::Named(name)) => name.to_string(),
            KeyPart::Field(syn::Member::Unnamed(index)) => index.index.to_string(),
        })
    }

    #[test]
    fn a_key_is_the_only_field_of_its_type() {
        let named: DeriveInput = parse_quote! { struct Equips { slot: Slot, since: f32 } };
        assert_eq!(part_of(&named, &parse_quote!(Slot)).as_deref(), Ok("slot"));
        let unnamed: DeriveInput = parse_quote! { struct Equips<K>(u8, Of<K>); };
        assert_eq!(part_of(&unnamed, &parse_quote!(Of<K>)).as_deref(), Ok("1"));
    }

    #[test]
    fn a_value_may_be_its_own_key() {
        let of_enum: DeriveInput = parse_quote! { enum Wears { Head, Hand } };
        assert_eq!(part_of(&of_enum, &parse_quote!(Self)).as_deref(), Ok("Self"));
        assert_eq!(part_of(&of_enum, &parse_quote!(Wears)).as_deref(), Ok("Self"));
        assert!(part_of(&of_enum, &parse_quote!(Slot)).is_err());
    }

    #[test]
    fn no_field_and_several_fields_of_the_type_are_mistakes() {
        let input: DeriveInput = parse_quote! { struct Equips { from: u8, to: u8 } };
        let several = part_of(&input, &parse_quote!(u8)).unwrap_err();
        assert!(several.starts_with("`Equips` has several fields of type `u8`"), "{several}");
        let none = part_of(&input, &parse_quote!(Slot)).unwrap_err();
        assert!(none.starts_with("`Equips` has no field of type `Slot`"), "{none}");
    }
}
