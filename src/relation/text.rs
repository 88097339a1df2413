//! Relation traits as text: the words of `#[relation(..)]`.

use super::{
    CleanupPolicy, EndConstraint, OnInstantiate, OnLastSource, OnMissing, OnSourceDespawn, RelationStorage,
    RelationTraits, TraitConflict, short_name,
    traits::{IdRef, OneOf},
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_relations_syntax::spelling::{self, shorten};
use core::{fmt, str::FromStr};
use thiserror::Error;

/// Why a text was not read as [`RelationTraits`].
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_relations::{error::ParseTraitsError, prelude::*};
/// let error = "exclusive, on_target_despawn = Explode".parse::<RelationTraits>().unwrap_err();
/// assert!(matches!(error, ParseTraitsError::UnknownValue { .. }), "{error:?}");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseTraitsError {
    /// A word is no relation trait.
    #[error("`{word}` is no relation trait{}", did_you_mean(*.nearest))]
    UnknownTrait {
        /// The word.
        word: String,
        /// The relation trait that may be meant.
        nearest: Option<&'static str>,
    },
    /// There is nothing before a comma.
    #[error("a relation trait is missing before `,`")]
    MissingTrait,
    /// There is no comma between two traits.
    #[error("a comma is missing between `{before}` and `{after}`")]
    MissingComma {
        /// The trait before it, with its value.
        before: String,
        /// What comes behind it.
        after: String,
    },
    /// A trait cannot have this value.
    #[error("`{word}` is no value of `{name}`, which is one of {}{}", list(.values), did_you_mean(*.nearest))]
    UnknownValue {
        /// The trait.
        name: &'static str,
        /// What was given as its value.
        word: String,
        /// The values that it can have.
        values: &'static [&'static str],
        /// The value that may be meant.
        nearest: Option<&'static str>,
    },
    /// A trait that needs a value has none.
    #[error("`{name}` needs a value: one of {}", list(.values))]
    MissingValue {
        /// The trait.
        name: &'static str,
        /// The values that it can have.
        values: &'static [&'static str],
    },
    /// A trait has a value and takes none.
    #[error("`{name}` takes no value, but `{word}` was given")]
    UnexpectedValue {
        /// The trait.
        name: &'static str,
        /// What was given as its value.
        word: String,
    },
    /// A trait is given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The trait.
        name: &'static str,
    },
    /// The trait names a type, an entity or a function, which a text cannot.
    #[error(
        "`{name}` cannot be read from text, since `{text}` names a type, an entity or a function: {instead}"
    )]
    NotText {
        /// The trait.
        name: &'static str,
        /// As it was written.
        text: String,
        /// What can be written instead.
        instead: &'static str,
    },
    /// Two traits contradict.
    #[error(transparent)]
    Conflict(#[from] TraitConflict),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Sets a trait that takes no value.
type Flag = fn(RelationTraits) -> RelationTraits;

const FLAGS: &[(&str, Flag)] = &[
    ("exclusive", RelationTraits::exclusive),
    ("union", RelationTraits::union),
    ("symmetric", RelationTraits::symmetric),
    ("transitive", RelationTraits::transitive),
    ("reflexive", RelationTraits::reflexive),
    ("acyclic", RelationTraits::acyclic),
    ("traversable", RelationTraits::traversable),
    ("tag", RelationTraits::tag),
    ("final", RelationTraits::is_final),
    ("ordered", RelationTraits::ordered),
    ("transient", RelationTraits::transient),
    ("inheritable", RelationTraits::inheritable),
    ("one_of", RelationTraits::one_of),
];

/// Traits that take a value, with the values that they take.
const CHOICES: &[(&str, &[&str])] = &[
    ("on_missing", &["Refuse", "Insert", "Warn"]),
    ("on_instantiate", &["Override", "Inherit", "DontInherit"]),
    ("on_relation_despawn", POLICIES),
    ("on_target_despawn", POLICIES),
    ("on_source_despawn", &["Keep", "DespawnTarget"]),
    ("on_last_source", &["Keep", "Despawn"]),
    ("storage", &["\"Store\"", "\"Table\"", "\"Fragmenting\""]),
];

const POLICIES: &[&str] = &["Remove", "Despawn", "Refuse"];

/// Traits that name something of the program, with what to write instead.
const OF_PROGRAM: &[(&str, &str)] = &[
    ("one_of", "call `RelationTraits::one_of_id`"),
    ("with", "call `RelationTraits::with_id`"),
    ("source", "call `RelationTraits::source`"),
    ("target", "call `RelationTraits::target`"),
    ("data", "call `RelationTraits::data`"),
    ("key", "call `RelationTraits::keyed_data`"),
    ("validate", "only a relation type has it"),
    ("component", "only a relation type has it"),
];

/// Reads what stands inside of `#[relation(..)]`, for example `exclusive, acyclic, on_target_despawn = Despawn`. The
/// empty text stands for no traits.
///
/// Left to the program is what names a type, an entity or a function: `with`, `one_of = Parent`, `source`, `target`,
/// `data`, `key`, `validate` and `component`.
///
/// # Errors
/// A [`ParseTraitsError`] that names the trait or the word.
impl FromStr for RelationTraits {
    type Err = ParseTraitsError;

    fn from_str(text: &str) -> Result<Self, ParseTraitsError> {
        let mut traits = Self::new();
        let mut given: Vec<&str> = Vec::new();
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        // There may be a comma at the end.
        if parts.last() == Some(&"") {
            parts.pop();
        }
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (part, None),
            };
            check_comma(name, value)?;
            let name = find(name, value, part)?;
            if given.contains(&name) {
                return Err(ParseTraitsError::Twice { name });
            }
            given.push(name);
            traits = set(traits, name, value)?;
        }
        traits.check()?;
        Ok(traits)
    }
}

/// Finds out whether what stands between two commas is more than one trait.
fn check_comma(name: &str, value: Option<&str>) -> Result<(), ParseTraitsError> {
    let missing = |before: String, after: &str| {
        Err(ParseTraitsError::MissingComma { before, after: shorten(after.trim_start()) })
    };
    let is_flag = |word: &str| FLAGS.iter().any(|&(flag, _)| flag == word);
    if let Some((before, after)) = name.split_once(char::is_whitespace)
        && is_flag(before)
    {
        return missing(before.to_string(), after);
    }
    let values = CHOICES.iter().find(|&&(choice, _)| choice == name).map_or(&[][..], |&(_, values)| values);
    match value.and_then(|value| value.split_once(char::is_whitespace)) {
        Some((before, after)) if values.contains(&before) => missing(format!("{name} = {before}"), after),
        _ => Ok(()),
    }
}

/// The trait that a word names.
fn find(word: &str, value: Option<&str>, part: &str) -> Result<&'static str, ParseTraitsError> {
    // A list of types in parentheses may have been cut at a comma.
    let of_program = OF_PROGRAM.iter().find(|(name, _)| word.split('(').next().map(str::trim) == Some(*name));
    let flags = FLAGS.iter().map(|&(name, _)| name);
    let mut known = flags.chain(CHOICES.iter().map(|&(name, _)| name));
    match (known.clone().find(|&name| name == word), of_program) {
        (Some(name), None) => Ok(name),
        // It is a flag, too.
        (Some(name), Some(_)) if value.is_none() => Ok(name),
        (_, Some(&(name, instead))) => Err(ParseTraitsError::NotText { name, text: shorten(part), instead }),
        (None, None) if part.is_empty() => Err(ParseTraitsError::MissingTrait),
        (None, None) => {
            let known: Vec<&'static str> = known.by_ref().collect();
            let nearest = spelling::nearest(word, &known);
            Err(ParseTraitsError::UnknownTrait { word: shorten(word), nearest })
        }
    }
}

/// Sets a trait.
fn set(
    traits: RelationTraits,
    name: &'static str,
    value: Option<&str>,
) -> Result<RelationTraits, ParseTraitsError> {
    if let Some((_, flag)) = FLAGS.iter().find(|&&(flag, _)| flag == name) {
        return match value {
            None => Ok(flag(traits)),
            Some(word) => Err(ParseTraitsError::UnexpectedValue { name, word: shorten(word) }),
        };
    }
    let values = CHOICES.iter().find(|&&(choice, _)| choice == name).map_or(&[][..], |&(_, values)| values);
    let Some(word) = value else { return Err(ParseTraitsError::MissingValue { name, values }) };
    match (name, word) {
        ("on_missing", "Refuse") => Ok(traits.on_missing(OnMissing::Refuse)),
        ("on_missing", "Insert") => Ok(traits.on_missing(OnMissing::Insert)),
        ("on_missing", "Warn") => Ok(traits.on_missing(OnMissing::Warn)),
        ("on_instantiate", "Override") => Ok(traits.on_instantiate(OnInstantiate::Override)),
        ("on_instantiate", "Inherit") => Ok(traits.on_instantiate(OnInstantiate::Inherit)),
        ("on_instantiate", "DontInherit") => Ok(traits.on_instantiate(OnInstantiate::DontInherit)),
        ("on_relation_despawn", word) if let Some(policy) = policy(word) => {
            Ok(traits.on_relation_despawn(policy))
        }
        ("on_target_despawn", word) if let Some(policy) = policy(word) => {
            Ok(traits.on_target_despawn(policy))
        }
        ("on_source_despawn", "Keep") => Ok(traits.on_source_despawn(OnSourceDespawn::Keep)),
        ("on_source_despawn", "DespawnTarget") => {
            Ok(traits.on_source_despawn(OnSourceDespawn::DespawnTarget))
        }
        ("on_last_source", "Keep") => Ok(traits.on_last_source(OnLastSource::Keep)),
        ("on_last_source", "Despawn") => Ok(traits.on_last_source(OnLastSource::Despawn)),
        ("storage", "\"Store\"") => Ok(traits.storage(RelationStorage::Store)),
        ("storage", "\"Table\"") => Ok(traits.storage(RelationStorage::Table)),
        ("storage", "\"Fragmenting\"") => Ok(traits.storage(RelationStorage::Fragmenting)),
        _ => {
            let nearest = spelling::nearest(word, values);
            Err(ParseTraitsError::UnknownValue { name, word: shorten(word), values, nearest })
        }
    }
}

/// Finds the value of which the debug text is a word.
fn of_word<T: fmt::Debug + Copy>(
    name: &'static str,
    values: &'static [&'static str],
    all: &[T],
    word: &str,
) -> Result<T, ParseTraitsError> {
    let found = all.iter().copied().find(|value| format!("{value:?}") == word);
    found.ok_or_else(|| {
        let nearest = spelling::nearest(word, values);
        ParseTraitsError::UnknownValue { name, word: shorten(word), values, nearest }
    })
}

/// Reads the name of a variant, as in `on_target_despawn = Despawn`.
///
/// # Errors
/// If it is another word; see [`ParseTraitsError::UnknownValue`].
impl FromStr for CleanupPolicy {
    type Err = ParseTraitsError;

    fn from_str(word: &str) -> Result<Self, ParseTraitsError> {
        of_word("CleanupPolicy", POLICIES, &[Self::Remove, Self::Despawn, Self::Refuse], word)
    }
}

/// Reads the name of a variant, as in `storage = "Table"`.
///
/// # Errors
/// If it is another word; see [`ParseTraitsError::UnknownValue`].
impl FromStr for RelationStorage {
    type Err = ParseTraitsError;

    fn from_str(word: &str) -> Result<Self, ParseTraitsError> {
        let words = &["Store", "Table", "Fragmenting"];
        of_word("RelationStorage", words, &[Self::Store, Self::Table, Self::Fragmenting], word)
    }
}

fn policy(word: &str) -> Option<CleanupPolicy> {
    word.parse().ok()
}

/// Writes what stands inside of `#[relation(..)]`. Reading it gives the same traits, but for those that name a type or
/// an entity, which are written and not read.
impl fmt::Display for RelationTraits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.names().into_iter().enumerate() {
            f.write_str(if at == 0 { "" } else { ", " })?;
            match name {
                "one_of" => match self.one_of {
                    Some(OneOf::Parent(parent)) => write!(f, "one_of = {}", id_text(parent))?,
                    Some(OneOf::Relation) | None => f.write_str(name)?,
                },
                "with" => {
                    let with: Vec<String> = self.with.iter().map(|&with| id_text(with)).collect();
                    write!(f, "with({})", with.join(", "))?;
                }
                "source" => write!(f, "source({})", constraints_text(&self.source))?,
                "target" => write!(f, "target({})", constraints_text(&self.target))?,
                "on_missing" => write!(f, "on_missing = {:?}", self.missing_rule())?,
                "on_instantiate" => write!(f, "on_instantiate = {:?}", self.instantiate_rule())?,
                "on_relation_despawn" => {
                    write!(
                        f,
                        "on_relation_despawn = {:?}",
                        self.relation_policy().unwrap_or(CleanupPolicy::Remove)
                    )?;
                }
                "on_target_despawn" => write!(f, "on_target_despawn = {:?}", self.target_policy())?,
                "on_source_despawn" => {
                    write!(f, "on_source_despawn = {:?}", self.on_source_despawn.unwrap_or_default())?;
                }
                "on_last_source" => {
                    write!(f, "on_last_source = {:?}", self.on_last_source.unwrap_or_default())?;
                }
                "storage" => write!(f, "storage = \"{:?}\"", self.storage.unwrap_or_default())?,
                "data" => match self.data {
                    Some(data) => write!(f, "data = {}", short_name(data.value_name()))?,
                    None => f.write_str(name)?,
                },
                "key" => match self.key {
                    Some(key) => write!(f, "key = {}", short_name(key.key_name()))?,
                    None => f.write_str(name)?,
                },
                _ => f.write_str(name)?,
            }
        }
        Ok(())
    }
}

fn constraints_text(constraints: &[EndConstraint]) -> String {
    let constraints: Vec<String> = constraints.iter().map(ToString::to_string).collect();
    constraints.join(", ")
}

fn id_text(id: IdRef) -> String {
    match id {
        IdRef::Entity(entity) => entity.to_string(),
        IdRef::Type(named) => named.name.map_or_else(|| "_".into(), |name| short_name(name).into_owned()),
    }
}

#[cfg(feature = "serialize")]
mod serialize {
    use super::{OneOf, RelationTraits};
    use core::fmt;
    use serde::{
        de::{self, Deserialize, Deserializer, Visitor},
        ser::{self, Serialize, Serializer},
    };

    /// As text.
    ///
    /// # Errors
    /// If there is a trait that names a type or an entity: what is read later would lack it.
    impl Serialize for RelationTraits {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let of_program = [
                (!self.with.is_empty(), "with"),
                (matches!(self.one_of, Some(OneOf::Parent(_))), "one_of"),
                (!self.source.is_empty(), "source"),
                (!self.target.is_empty(), "target"),
                (self.data.is_some(), "data"),
                (self.key.is_some(), "key"),
            ];
            match of_program.into_iter().find(|&(is_set, _)| is_set) {
                Some((_, name)) => Err(ser::Error::custom(format_args!(
                    "relation traits `{self}` cannot be written: `{name}` names something of the program"
                ))),
                None => serializer.collect_str(self),
            }
        }
    }

    impl<'de> Deserialize<'de> for RelationTraits {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Text;

            impl Visitor<'_> for Text {
                type Value = RelationTraits;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("relation traits, like `exclusive, on_target_despawn = Despawn`")
                }

                fn visit_str<E: de::Error>(self, text: &str) -> Result<RelationTraits, E> {
                    text.parse().map_err(E::custom)
                }
            }

            deserializer.deserialize_str(Text)
        }
    }
}
