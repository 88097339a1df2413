//! Keys of values, for code that does not know the types.

use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_platform::sync::Arc;
use core::{
    any::{Any, TypeId},
    fmt,
};

/// A key of a type that is known at run time only.
pub(crate) type BoxedKey = Box<dyn Any + Send + Sync>;

/// Operations on the keys of values, for code that does not know their types.
pub(crate) trait ErasedKey: Send + Sync {
    /// The type of the values.
    fn value_type(&self) -> TypeId;

    /// The name of that type.
    fn value_name(&self) -> &'static str;

    /// The name of the type of the keys.
    fn key_name(&self) -> &'static str;

    /// The value in an `Option` of it.
    fn in_slot<'a>(&self, slot: &'a dyn Any) -> Option<&'a dyn Any>;

    /// Whether two values have the same key: code of the user.
    fn is_same(&self, one: &dyn Any, other: &dyn Any) -> bool;

    /// Whether a value has this key: code of the user.
    fn has_key(&self, value: &dyn Any, key: &dyn Any) -> bool;

    /// Whether keys can be read from text.
    fn can_read(&self) -> bool;

    /// The key that a text names: code of the user.
    fn read(&self, text: &str) -> Option<BoxedKey>;

    /// The names of keys, as far as they are known.
    fn names(&self) -> Vec<&'static str>;
}

/// The keys of a type of values.
pub(crate) type KeyRef = &'static dyn ErasedKey;

impl PartialEq for dyn ErasedKey {
    fn eq(&self, other: &Self) -> bool {
        self.value_type() == other.value_type()
    }
}

impl fmt::Debug for dyn ErasedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key_name())
    }
}

/// A key that an expression names, with what it was written as.
#[derive(Clone)]
pub(crate) struct NamedKey {
    pub(crate) text: Box<str>,
    pub(crate) rule: KeyRef,
    key: Arc<BoxedKey>,
}

impl NamedKey {
    /// The key that a text names, with or without the path of its type before it.
    pub(crate) fn read(rule: KeyRef, text: &str) -> Option<Self> {
        let last = text.rsplit("::").next().unwrap_or(text);
        let key = rule.read(text).or_else(|| (last != text).then(|| rule.read(last)).flatten())?;
        Some(Self { text: text.into(), rule, key: Arc::new(key) })
    }

    /// Whether it is the key of a value.
    pub(crate) fn is_of(&self, value: &dyn Any) -> bool {
        self.rule.has_key(value, &**self.key)
    }
}

impl PartialEq for NamedKey {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && self.text == other.text
    }
}

impl Eq for NamedKey {}

impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The names of keys, for messages.
pub(crate) fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| alloc::format!("`{name}`")).collect();
    names.join(", ")
}
