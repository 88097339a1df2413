//! The attributes that `#[relation(..)]` accepts, and what each of them takes.

use bevy_relations_syntax::spelling;

/// An attribute inside `#[relation(..)]`.
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
}

/// What follows the name of an attribute.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing: the attribute is a flag of the relation.
    Nothing,
    /// Nothing, or `= Type`.
    OptionalType,
    /// `= Type` or `(Type, Type)`.
    Types,
    /// `= Component` or `(Component, !Component)`.
    Components,
    /// `= Variant`, one of a fixed choice.
    Variant(&'static Choice),
    /// `= Type`, which has to be that of a field.
    FieldType,
    /// `= path::to::function`.
    Function,
}

/// An enum of `bevy_relations` of which an attribute takes a variant.
pub(crate) struct Choice {
    /// What a variant is called in messages.
    pub(crate) noun: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) path: &'static str,
    /// As they are written: some in quotes.
    pub(crate) variants: &'static [&'static str],
}

const POLICY: Choice = Choice {
    noun: "policy",
    plural: "policies",
    path: "CleanupPolicy",
    variants: &["Remove", "Despawn", "Refuse"],
};

const INSTANTIATION: Choice = Choice {
    noun: "rule",
    plural: "rules",
    path: "OnInstantiate",
    variants: &["Override", "Inherit", "DontInherit"],
};

const MISSING: Choice =
    Choice { noun: "rule", plural: "rules", path: "OnMissing", variants: &["Refuse", "Insert", "Warn"] };

const SOURCE_DESPAWN: Choice =
    Choice { noun: "rule", plural: "rules", path: "OnSourceDespawn", variants: &["Keep", "DespawnTarget"] };

const LAST_SOURCE: Choice =
    Choice { noun: "rule", plural: "rules", path: "OnLastSource", variants: &["Keep", "Despawn"] };

const STORAGE: Choice = Choice {
    noun: "storage",
    plural: "values",
    path: "RelationStorage",
    variants: &["\"Store\"", "\"Table\"", "\"Fragmenting\""],
};

/// Every attribute, in the order of the table at the `Relation` trait.
pub(crate) const ATTRIBUTES: &[Attribute] = &[
    flag("exclusive"),
    flag("union"),
    flag("symmetric"),
    flag("transitive"),
    flag("reflexive"),
    flag("acyclic"),
    flag("traversable"),
    flag("tag"),
    flag("final"),
    flag("ordered"),
    flag("transient"),
    Attribute { name: "one_of", takes: Takes::OptionalType },
    Attribute { name: "with", takes: Takes::Types },
    Attribute { name: "source", takes: Takes::Components },
    Attribute { name: "target", takes: Takes::Components },
    Attribute { name: "on_missing", takes: Takes::Variant(&MISSING) },
    Attribute { name: "on_instantiate", takes: Takes::Variant(&INSTANTIATION) },
    Attribute { name: "on_relation_despawn", takes: Takes::Variant(&POLICY) },
    Attribute { name: "on_target_despawn", takes: Takes::Variant(&POLICY) },
    Attribute { name: "on_source_despawn", takes: Takes::Variant(&SOURCE_DESPAWN) },
    Attribute { name: "on_last_source", takes: Takes::Variant(&LAST_SOURCE) },
    Attribute { name: "storage", takes: Takes::Variant(&STORAGE) },
    Attribute { name: "key", takes: Takes::FieldType },
    Attribute { name: "validate", takes: Takes::Function },
    flag("component"),
];

const fn flag(name: &'static str) -> Attribute {
    Attribute { name, takes: Takes::Nothing }
}

impl Attribute {
    /// The attribute called `name`, or what to say about a name that is none.
    pub(crate) fn find(name: &str) -> Result<&'static Self, String> {
        if let Some(attribute) = ATTRIBUTES.iter().find(|attribute| attribute.name == name) {
            return Ok(attribute);
        }
        let known: Vec<&str> = ATTRIBUTES.iter().map(|attribute| attribute.name).collect();
        Err(unknown("attribute", name, "attributes of a relation", &known))
    }

    /// What to say when the value is missing, or is no value at all.
    pub(crate) fn needs(&self) -> String {
        let name = self.name;
        match self.takes {
            Takes::Nothing => format!("`{name}` takes no value; write `{name}` alone, or leave it out"),
            Takes::OptionalType => {
                format!("`{name}` needs a type, or nothing; write `{name}` or `{name} = Parent`")
            }
            Takes::Types => format!("`{name}` needs a relation; write `{name} = Other` or `{name}(A, B)`"),
            Takes::Components => {
                format!("`{name}` needs a component; write `{name} = Present` or `{name}(Present, !Absent)`")
            }
            Takes::Variant(choice) => {
                let spelled = choice.variants.iter().map(|variant| format!("{name} = {variant}"));
                format!("`{name}` needs a {}; write {}", choice.noun, list(spelled, "or"))
            }
            Takes::FieldType => {
                format!("`{name}` needs the type of a field; write `{name} = Slot`, or `{name} = Self`")
            }
            Takes::Function => format!("`{name}` needs a function; write `{name} = path::to::function`"),
        }
    }

    /// What to say when the attribute is given a second time.
    pub(crate) fn given_twice(&self) -> String {
        let name = self.name;
        match self.takes {
            Takes::Variant(Choice { noun: "policy", .. }) => {
                format!("two policies for one condition: `{name}` is given twice; keep one of them")
            }
            Takes::Types => format!("`{name}` is given twice; name all its relations in one `{name}(A, B)`"),
            Takes::Components => {
                format!("`{name}` is given twice; name all its components in one `{name}(Present, !Absent)`")
            }
            _ => format!("`{name}` is given twice; keep one of them"),
        }
    }
}

impl Choice {
    /// The variant called `name`, or what to say about a name that is none. `of` is the attribute that takes it.
    pub(crate) fn find(&self, name: &str, of: &str) -> Result<&'static str, String> {
        if let Some(variant) = self.variants.iter().find(|variant| **variant == name) {
            return Ok(variant);
        }
        let message = unknown(self.noun, name, &format!("{} of `{of}`", self.plural), self.variants);
        let other = ATTRIBUTES.iter().find_map(|other| match other.takes {
            Takes::Variant(choice) => choice.variants.contains(&name).then_some((choice.noun, other.name)),
            _ => None,
        });
        Err(match other {
            Some((noun, other)) => format!("{message}; `{name}` is a {noun} of `{other}`"),
            None => message,
        })
    }
}

/// What to say about a `name` that is not among the known ones.
fn unknown(noun: &str, name: &str, plural: &str, known: &[&str]) -> String {
    let list = list(known.iter(), "and");
    match spelling::nearest(name, known) {
        Some(nearest) => {
            format!("unknown {noun} `{name}`; did you mean `{nearest}`? The {plural} are {list}")
        }
        None => format!("unknown {noun} `{name}`; the {plural} are {list}"),
    }
}

/// `` `a`, `b` and `c` ``.
fn list(words: impl Iterator<Item = impl ToString>, last: &str) -> String {
    let mut words: Vec<String> = words.map(|word| format!("`{}`", word.to_string())).collect();
    match words.pop() {
        Some(word) if !words.is_empty() => format!("{} {last} {word}", words.join(", ")),
        Some(word) => word,
        None => String::new(),
    }
}
