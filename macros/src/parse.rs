//! Turns `#[relation(..)]` into items. After a mistake, parsing goes on behind the next comma.

use crate::attribute::{Attribute, Choice, Takes};
use crate::errors::Errors;
use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute as RustAttribute, Data, DeriveInput, Error, Expr, ExprPath, Token, Type, TypePath, token,
};

/// One declared fact.
pub(crate) struct Item {
    pub(crate) attribute: &'static Attribute,
    pub(crate) value: Value,
    /// The item as written.
    tokens: TokenStream,
}

/// The value of an item, by what its attribute takes.
pub(crate) enum Value {
    Nothing,
    Type(TypePath),
    Types(Vec<TypePath>),
    Components(Vec<ComponentItem>),
    Variant(&'static Choice, Ident),
    Function(ExprPath),
    FieldType(Box<Type>),
}

/// A component that must be there, or with `!` must not.
pub(crate) struct ComponentItem {
    pub(crate) is_required: bool,
    pub(crate) path: TypePath,
}

impl Parse for ComponentItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let absent: Option<Token![!]> = input.parse()?;
        Ok(Self { is_required: absent.is_none(), path: input.parse()? })
    }
}

impl ToTokens for ComponentItem {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        if !self.is_required {
            <Token![!]>::default().to_tokens(tokens);
        }
        self.path.to_tokens(tokens);
    }
}

impl Item {
    pub(crate) fn name(&self) -> &'static str {
        self.attribute.name
    }
}

impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.tokens.to_tokens(tokens);
    }
}

/// All items declared on a type, in the order in which they are written.
pub(crate) fn declaration(input: &DeriveInput, errors: &mut Errors) -> Vec<Item> {
    let mut items = Vec::new();
    for attribute in relation_attributes(&input.attrs) {
        let parsed = attribute.parse_args_with(|input: ParseStream<'_>| {
            parse_items(input, &mut items, errors);
            Ok(())
        });
        if parsed.is_err() {
            errors.at(&attribute.meta, "`relation` needs a list of attributes; write `#[relation(..)]`");
        }
    }
    for attribute in misplaced_attributes(&input.data) {
        errors.at(attribute, "`#[relation(..)]` is about the whole type; put it above the type");
    }
    items
}

fn relation_attributes(attributes: &[RustAttribute]) -> impl Iterator<Item = &RustAttribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("relation"))
}

/// Rust accepts the attribute on fields and variants, where it would say nothing.
fn misplaced_attributes(data: &Data) -> Vec<&RustAttribute> {
    let mut attributes = Vec::new();
    let mut add = |some| attributes.extend(relation_attributes(some));
    match data {
        Data::Struct(data) => data.fields.iter().for_each(|field| add(&field.attrs)),
        Data::Enum(data) => {
            for variant in &data.variants {
                add(&variant.attrs);
                variant.fields.iter().for_each(|field| add(&field.attrs));
            }
        }
        Data::Union(_) => {}
    }
    attributes
}

fn parse_items(input: ParseStream<'_>, items: &mut Vec<Item>, errors: &mut Errors) {
    while !input.is_empty() {
        match parse_item(input) {
            Ok(item) => items.push(item),
            Err(error) => {
                errors.push(error);
                rest_of_item(input);
            }
        }
        // Nothing else can come next: an item ends at a comma or at the end of the list.
        let _: Option<Token![,]> = input.parse().ok();
    }
}

fn parse_item(input: ParseStream<'_>) -> syn::Result<Item> {
    if !input.peek(Ident::peek_any) {
        let message = "expected the name of an attribute, like `exclusive`";
        let rest = rest_of_item(input);
        return Err(if rest.is_empty() { input.error(message) } else { Error::new_spanned(rest, message) });
    }
    // `final` is a keyword of Rust.
    let name = Ident::parse_any(input)?;
    let attribute =
        Attribute::find(&name.unraw().to_string()).map_err(|message| Error::new_spanned(&name, message))?;
    let (value, written) = parse_value(input, attribute, &name)?;
    let tokens = quote!(#name #written);
    let rest = rest_of_item(input);
    if rest.is_empty() {
        Ok(Item { attribute, value, tokens })
    } else {
        Err(Error::new_spanned(rest, format!("expected `,` behind `{tokens}`")))
    }
}

/// The value of an item, and the tokens that spell it.
fn parse_value(
    input: ParseStream<'_>,
    attribute: &Attribute,
    name: &Ident,
) -> syn::Result<(Value, TokenStream)> {
    let assigned = input.peek(Token![=]);
    let has_list = input.peek(token::Paren);
    match attribute.takes {
        Takes::Nothing | Takes::OptionalType if !assigned && !has_list => {
            Ok((Value::Nothing, TokenStream::new()))
        }
        Takes::OptionalType if assigned => {
            let path: TypePath = assigned_value(input, attribute, name)?;
            let written = quote!(= #path);
            Ok((Value::Type(path), written))
        }
        Takes::Types if assigned => {
            let path: TypePath = assigned_value(input, attribute, name)?;
            let written = quote!(= #path);
            Ok((Value::Types(vec![path]), written))
        }
        Takes::Types if has_list => {
            let (types, written) = listed(input, attribute, name)?;
            Ok((Value::Types(types), written))
        }
        Takes::Components if assigned => {
            let component: ComponentItem = assigned_value(input, attribute, name)?;
            let written = quote!(= #component);
            Ok((Value::Components(vec![component]), written))
        }
        Takes::Components if has_list => {
            let (components, written) = listed(input, attribute, name)?;
            Ok((Value::Components(components), written))
        }
        Takes::FieldType if assigned => {
            let of_field: Type = assigned_value(input, attribute, name)?;
            let written = quote!(= #of_field);
            Ok((Value::FieldType(Box::new(of_field)), written))
        }
        Takes::Function if assigned => match ungrouped(assigned_value(input, attribute, name)?) {
            Expr::Path(path) => {
                let written = quote!(= #path);
                Ok((Value::Function(path), written))
            }
            expression => Err(Error::new_spanned(expression, attribute.needs())),
        },
        Takes::Variant(choice) if assigned => assigned_variant(input, attribute, choice, name),
        _ => {
            let rest = rest_of_item(input);
            Err(Error::new_spanned(quote!(#name #rest), attribute.needs()))
        }
    }
}

/// The expression without the invisible group that a fragment of `macro_rules!` is in.
fn ungrouped(expression: Expr) -> Expr {
    match expression {
        Expr::Group(group) => ungrouped(*group.expr),
        expression => expression,
    }
}

fn assigned_value<T: Parse>(input: ParseStream<'_>, attribute: &Attribute, name: &Ident) -> syn::Result<T> {
    let equals: Token![=] = input.parse()?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(Error::new_spanned(quote!(#name #equals), attribute.needs()));
    }
    input.parse().map_err(|error| Error::new(error.span(), attribute.needs()))
}

fn listed<T: Parse>(
    input: ParseStream<'_>,
    attribute: &Attribute,
    name: &Ident,
) -> syn::Result<(Vec<T>, TokenStream)> {
    // Not `parenthesized!`: what it leaves unread after a mistake would be one more error.
    let list: Group = input.parse()?;
    let types = Punctuated::<T, Token![,]>::parse_terminated
        .parse2(list.stream())
        .map_err(|error| Error::new(error.span(), attribute.needs()))?;
    if types.is_empty() {
        return Err(Error::new_spanned(quote!(#name #list), attribute.needs()));
    }
    Ok((types.into_iter().collect(), list.into_token_stream()))
}

fn assigned_variant(
    input: ParseStream<'_>,
    attribute: &Attribute,
    choice: &'static Choice,
    name: &Ident,
) -> syn::Result<(Value, TokenStream)> {
    let equals: Token![=] = input.parse()?;
    let value = rest_of_item(input);
    if value.is_empty() {
        return Err(Error::new_spanned(quote!(#name #equals), attribute.needs()));
    }
    let variant = choice
        .find(&value.to_string(), attribute.name)
        .map_err(|message| Error::new_spanned(&value, message))?;
    let variant = Ident::new(variant.trim_matches('"'), value.span());
    Ok((Value::Variant(choice, variant), quote!(= #value)))
}

/// Reads to the next comma or to the end of the list.
fn rest_of_item(input: ParseStream<'_>) -> TokenStream {
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend(input.parse::<TokenTree>());
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::declaration;
    use crate::errors::Errors;
    use syn::{DeriveInput, parse_quote};

    /// The items as written, and the messages.
    fn parsed(input: DeriveInput) -> (Vec<String>, Vec<String>) {
        let mut errors = Errors::default();
        let items = declaration(&input, &mut errors);
        (items.iter().map(|item| quote::quote!(#item).to_string()).collect(), errors.messages())
    }

    fn only_message(input: DeriveInput) -> String {
        let (_, messages) = parsed(input);
        let [message] = messages.as_slice() else { panic!("not one message: {messages:?}") };
        message.clone()
    }

    #[test]
    fn several_attributes_on_one_type_add_up() {
        let (items, messages) = parsed(parse_quote! {
            #[relation(exclusive, final)]
            #[relation(on_target_despawn = Despawn,)]
            struct MountedOn;
        });
        assert_eq!(items, ["exclusive", "final", "on_target_despawn = Despawn"]);
        assert!(messages.is_empty(), "{messages:?}");
    }

    #[test]
    fn a_comma_inside_the_parameters_of_a_type_does_not_end_the_item() {
        let (items, messages) = parsed(parse_quote! {
            #[relation(with = Likes<A, B>, one_of = a::Parent<A, B>, with(Eats<A, B>, Owns), tag)]
            struct Loves;
        });
        assert_eq!(items.len(), 4);
        assert_eq!(items[3], "tag");
        assert!(messages.is_empty(), "{messages:?}");
    }

    #[test]
    fn parsing_goes_on_behind_a_mistake() {
        let (items, messages) = parsed(parse_quote! {
            #[relation(exclusive = true, on_target_despawn, acyclic, "tag", ordered)]
            struct MountedOn;
        });
        assert_eq!(items, ["acyclic", "ordered"]);
        assert_eq!(messages.len(), 3, "{messages:?}");
    }

    #[test]
    fn an_unknown_attribute_is_answered_with_the_known_ones() {
        let message = only_message(parse_quote! { #[relation(exlusive)] struct MountedOn; });
        assert!(message.starts_with("unknown attribute `exlusive`; did you mean `exclusive`?"), "{message}");
        assert!(message.ends_with("`validate` and `component`"), "{message}");
    }

    #[test]
    fn an_attribute_without_a_list_is_a_mistake() {
        let message = only_message(parse_quote! { #[relation] struct MountedOn; });
        assert_eq!(message, "`relation` needs a list of attributes; write `#[relation(..)]`");
    }

    #[test]
    fn an_attribute_on_a_field_is_a_mistake() {
        let message = only_message(parse_quote! { struct Eats { #[relation(tag)] grams: f32 } });
        assert_eq!(message, "`#[relation(..)]` is about the whole type; put it above the type");
    }

    #[test]
    fn something_behind_a_value_is_a_mistake() {
        let message = only_message(parse_quote! { #[relation(with = Likes acyclic)] struct Loves; });
        assert_eq!(message, "expected `,` behind `with = Likes`");
    }

    #[test]
    fn an_empty_list_of_relations_is_a_missing_value() {
        let message = only_message(parse_quote! { #[relation(with())] struct Loves; });
        assert_eq!(message, "`with` needs a relation; write `with = Other` or `with(A, B)`");
    }
}
