//! The names by which expressions know components and resources, beside those of reflection and of relations.

use alloc::{string::String, vec::Vec};
use bevy_ecs::resource::Resource;
use bevy_platform::collections::HashMap;
use core::any::TypeId;

/// The names that were registered in a world.
#[derive(Resource, Default)]
pub(crate) struct ExprNames {
    components: HashMap<String, Vec<TypeId>>,
    /// Resources that expressions ask for by their name alone.
    singletons: Vec<TypeId>,
}

impl ExprNames {
    /// Lets expressions call a component by a name.
    pub(crate) fn add_component(&mut self, name: String, type_id: TypeId) {
        let named = self.components.entry(name).or_default();
        if !named.contains(&type_id) {
            named.push(type_id);
        }
    }

    /// Lets expressions ask for a resource by its name alone.
    pub(crate) fn add_singleton(&mut self, type_id: TypeId) {
        if !self.is_singleton(type_id) {
            self.singletons.push(type_id);
        }
    }

    /// The components with a name.
    pub(crate) fn components(&self, name: &str) -> &[TypeId] {
        self.components.get(name).map_or(&[], Vec::as_slice)
    }

    /// Every name of a component, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.components.keys().map(String::as_str)
    }

    pub(crate) fn is_singleton(&self, type_id: TypeId) -> bool {
        self.singletons.contains(&type_id)
    }

    pub(crate) fn has_singletons(&self) -> bool {
        !self.singletons.is_empty()
    }
}
