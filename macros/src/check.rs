//! Finds items that contradict each other, or the type they are declared on.

use crate::errors::Errors;
use crate::key;
use crate::parse::{Item, Value};
use quote::ToTokens;
use syn::{Data, DeriveInput, Type, TypePath};

/// Notes every contradiction at the item that makes it.
pub(crate) fn declaration(input: &DeriveInput, items: &[Item], errors: &mut Errors) {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().any(|earlier| earlier.name() == item.name()) {
            errors.at(item, item.attribute.given_twice());
        }
        if let Value::Types(relations) = &item.value {
            check_relations(input, relations, errors);
        }
        if let Some(message) = contradicts_symmetric(item, items) {
            errors.at(item, message);
        }
        if let Some(message) = contradicts_sides(item, items) {
            errors.at(item, message);
        }
        if let Some(message) = contradicts_data(item, input) {
            errors.at(item, message);
        } else if let Some(message) = key::named(item).and_then(|of| key::part(input, of).err()) {
            errors.at(item, message);
        }
        if let Some(message) = key::contradiction(item, items) {
            errors.at(item, message);
        }
    }
}

fn check_relations(input: &DeriveInput, relations: &[TypePath], errors: &mut Errors) {
    for (index, relation) in relations.iter().enumerate() {
        if is_the_type_itself(relation, input) {
            errors.at(relation, "a relation cannot be its own companion; name another one, or leave it out");
        } else if relations[..index].iter().any(|earlier| same(earlier, relation)) {
            errors.at(relation, "this relation is in the list already; leave it out");
        }
    }
}

/// Whether `path` is `Self`, or the name of the type with its own parameters.
fn is_the_type_itself(path: &TypePath, input: &DeriveInput) -> bool {
    if path.path.is_ident("Self") {
        return true;
    }
    let (_, parameters, _) = input.generics.split_for_impl();
    let mut segments = path.path.segments.iter();
    // `self::Likes` is `Likes`.
    let first = segments.by_ref().find(|segment| segment.ident != "self");
    first.is_some_and(|segment| {
        path.qself.is_none()
            && segments.next().is_none()
            && segment.ident == input.ident
            && same(&segment.arguments, &parameters)
    })
}

/// Whether two pieces of a declaration are written alike.
pub(crate) fn same(a: &impl ToTokens, b: &impl ToTokens) -> bool {
    a.to_token_stream().to_string() == b.to_token_stream().to_string()
}

/// A symmetric pair is a cycle of two: nothing that refuses cycles goes with it.
fn contradicts_symmetric(item: &Item, items: &[Item]) -> Option<String> {
    let name = item.name();
    let contradicts = match name {
        "acyclic" => "contradicts",
        "transitive" | "traversable" => "implies `acyclic`, which contradicts",
        _ => return None,
    };
    items.iter().any(|item| item.name() == "symmetric").then(|| {
        format!("`{name}` {contradicts} `symmetric`: a pair and its mirror are a cycle; keep one of the two")
    })
}

/// Both ends of a symmetric pair are sources: nothing that distinguishes targets from sources goes with it. A source that goes
/// takes along no target that may not go.
fn contradicts_sides(item: &Item, items: &[Item]) -> Option<String> {
    let is = |item: &Item, name: &str, value: &str| {
        item.name() == name && matches!(&item.value, Value::Variant(_, variant) if variant == value)
    };
    let despawns_targets = is(item, "on_source_despawn", "DespawnTarget");
    if !despawns_targets && !is(item, "on_last_source", "Despawn") {
        return None;
    }
    if items.iter().any(|item| item.name() == "symmetric") {
        let name = item.name();
        return Some(format!(
            "`{name}` contradicts `symmetric`: both ends of a symmetric pair are sources; use `on_target_despawn`, or keep \
             one of the two"
        ));
    }
    (despawns_targets && items.iter().any(|item| is(item, "on_target_despawn", "Refuse"))).then(|| {
        "`on_source_despawn = DespawnTarget` contradicts `on_target_despawn = Refuse`: a source could never be despawned"
            .to_owned()
    })
}

fn contradicts_data(item: &Item, input: &DeriveInput) -> Option<String> {
    let ident = &input.ident;
    match (item.name(), holds_data(&input.data)) {
        ("tag", true) => {
            let what = if matches!(input.data, Data::Enum(_)) { "variants" } else { "fields" };
            Some(format!(
                "pairs of a `tag` never hold data, but `{ident}` has {what}; remove `tag`, or the {what}"
            ))
        }
        ("key", false) => Some(format!(
            "a key is a part of the value of a pair, but `{ident}` has no fields that could hold one; \
             remove `key`, or add a field"
        )),
        ("validate", false) => Some(format!(
            "`validate` is called with the value of a pair, but `{ident}` has no fields that could hold one; \
             remove `validate`, or add a field"
        )),
        _ => None,
    }
}

/// Whether pairs of the relation carry a value.
fn holds_data(data: &Data) -> bool {
    match data {
        Data::Struct(data) => data.fields.iter().any(|field| !is_marker(&field.ty)),
        Data::Enum(data) => !data.variants.is_empty(),
        Data::Union(_) => true,
    }
}

/// Whether a field of this type is no data: `PhantomData<..>` or `()`.
fn is_marker(field: &Type) -> bool {
    match field {
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| segment.ident == "PhantomData"),
        Type::Tuple(tuple) => tuple.elems.is_empty(),
        // A fragment of `macro_rules!` is in an invisible group.
        Type::Group(group) => is_marker(&group.elem),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::errors::Errors;
    use syn::{DeriveInput, parse_quote};

    fn messages(input: DeriveInput) -> Vec<String> {
        let mut errors = Errors::default();
        let items = crate::parse::declaration(&input, &mut errors);
        super::declaration(&input, &items, &mut errors);
        errors.messages()
    }

    #[test]
    fn facts_that_agree_are_accepted() {
        let input = parse_quote! {
            #[relation(exclusive, traversable, transitive, acyclic, reflexive, tag, one_of, with(A, B))]
            struct MountedOn;
        };
        assert_eq!(messages(input), Vec::<String>::new());
    }

    #[test]
    fn everything_that_refuses_cycles_contradicts_symmetric_in_either_order() {
        let input = parse_quote! {
            #[relation(acyclic, symmetric, transitive, traversable)]
            struct MarriedTo;
        };
        let messages = messages(input);
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(messages.iter().all(|message| message.contains("contradicts `symmetric`")), "{messages:?}");
    }

    #[test]
    fn what_distinguishes_targets_from_sources_contradicts_symmetric() {
        let input = parse_quote! {
            #[relation(symmetric, on_source_despawn = DespawnTarget, on_last_source = Despawn)]
            struct MarriedTo;
        };
        let messages = messages(input);
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages.iter().all(|message| message.contains("contradicts `symmetric`")), "{messages:?}");
    }

    #[test]
    fn a_source_takes_no_target_along_that_may_not_go() {
        let input = parse_quote! {
            #[relation(on_source_despawn = DespawnTarget, on_target_despawn = Refuse)]
            struct Owns;
        };
        assert_eq!(messages(input).len(), 1);
        let input = parse_quote! {
            #[relation(symmetric, on_source_despawn = Keep, on_last_source = Keep)]
            struct MarriedTo;
        };
        assert_eq!(messages(input), Vec::<String>::new());
        let input = parse_quote! {
            #[relation(on_last_source = Despawn, on_target_despawn = Refuse)]
            struct Uses;
        };
        assert_eq!(messages(input), Vec::<String>::new());
    }

    #[test]
    fn two_policies_for_one_condition_are_a_mistake_even_if_they_are_the_same() {
        let input = parse_quote! {
            #[relation(on_target_despawn = Remove)]
            #[relation(on_target_despawn = Remove)]
            struct Holds;
        };
        let expected = "two policies for one condition: `on_target_despawn` is given twice; keep one of them";
        assert_eq!(messages(input), [expected]);
    }

    #[test]
    fn a_type_of_markers_is_a_tag() {
        let input = parse_quote! { #[relation(tag)] struct Likes<T>(core::marker::PhantomData<T>, ()); };
        assert_eq!(messages(input), Vec::<String>::new());
        let input = parse_quote! { #[relation(validate = check)] struct Likes<T>(PhantomData<T>); };
        assert_eq!(messages(input).len(), 1);
    }

    #[test]
    fn an_enum_with_a_variant_holds_data_and_one_without_does_not() {
        let input = parse_quote! { #[relation(tag)] enum Mood { Calm } };
        assert_eq!(messages(input).len(), 1);
        let input = parse_quote! { #[relation(tag)] enum Never {} };
        assert_eq!(messages(input), Vec::<String>::new());
    }

    #[test]
    fn a_key_stands_beside_nothing_that_leaves_no_choice_of_targets() {
        let input = parse_quote! {
            #[relation(key = Slot, exclusive)]
            struct Equips(Slot);
        };
        let expected =
            "`key` contradicts `exclusive`: a source has one target, whatever its key; keep one of the two";
        assert_eq!(messages(input), [expected]);
        let input = parse_quote! { #[relation(key = Slot, acyclic)] struct Equips(Slot); };
        assert_eq!(messages(input), Vec::<String>::new());
        let input = parse_quote! { #[relation(key = Slot)] struct Equips; };
        assert_eq!(messages(input).len(), 1);
    }

    #[test]
    fn a_relation_cannot_come_along_with_itself_under_any_name() {
        let input = parse_quote! { #[relation(with(Self, Likes<T>, self::Likes<T>))] struct Likes<T>(T); };
        assert_eq!(messages(input).len(), 3);
    }

    #[test]
    fn a_relation_can_come_along_with_another_instance_of_its_generic_type() {
        let input = parse_quote! { #[relation(with(Likes<u8>, other::Likes<T>))] struct Likes<T>(T); };
        assert_eq!(messages(input), Vec::<String>::new());
    }
}
