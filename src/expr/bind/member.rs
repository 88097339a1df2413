//! Terms about fields of reflected components: `Movement.value($this, $x)`.

use super::{
    binder::{BindResult, Binder},
    name::Meaning,
    query::{BoundElement, MemberAtom},
    term::Prerequisites,
};
#[cfg(feature = "bevy_reflect")]
use alloc::boxed::Box;
use alloc::{format, string::String, vec::Vec};
use bevy_ecs::component::ComponentId;
use bevy_relations_syntax::{
    ast::{Arg, Flag, Has, IdKind, Path, Span, Traversal},
    error::Diagnostic,
};
use core::any::TypeId;

impl Binder<'_> {
    /// A term about a field. `None` if it is about something else.
    pub(super) fn member(
        &mut self,
        has: &Has,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<Option<MemberAtom>> {
        let (IdKind::Path(path), Some(target), Some(source)) = (&has.first.id.kind, &has.target, &has.source)
        else {
            return Ok(None);
        };
        let span = has.first.id.span;
        let [type_name, _, ..] = &path.0[..] else { return Ok(None) };
        let Some(Meaning::Member(type_id, fields)) = self.meaning(path, span, None)? else {
            return Ok(None);
        };
        for traversal in [&has.first, source, target].into_iter().filter_map(|arg| arg.traversal.as_ref()) {
            if walks(traversal) {
                let message = "a field is read on its source alone, and has no traversal";
                return Err(Diagnostic::rule(traversal.span, message));
            }
        }
        let component = self.context.component_of(type_id);
        let component =
            component.ok_or_else(|| Diagnostic::rule(span, "the type of this field is no component"))?;
        let source = self.member_source(source, type_name, path, component, prerequisites)?;
        let value = self.element_of(&target.id, None, prerequisites)?;
        Ok(Some(MemberAtom { source, component, path: fields.into(), value }))
    }

    fn member_source(
        &mut self,
        source: &Arg,
        type_name: &str,
        path: &Path,
        component: ComponentId,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<BoundElement> {
        match &source.id.kind {
            // `SimTime.owner(SimTime, $x)`, `SimTime.owner($, $x)`: of a resource.
            IdKind::Path(written) if written == path || written.0 == [type_name] => {
                self.add_singleton(component);
                Ok(BoundElement::Singleton(component))
            }
            IdKind::Any => {
                Err(Diagnostic::rule(source.id.span, "`_` has no field: write an entity, a variable or `*`"))
            }
            _ => self.element_of(&source.id, None, prerequisites),
        }
    }

    /// The fields at a path, of every type that its first name may mean.
    pub(super) fn members(&self, path: &Path, span: Span) -> BindResult<Vec<Meaning>> {
        let Some((type_name, fields)) = path.0.split_first() else { return Ok(Vec::new()) };
        if fields.is_empty() {
            return Ok(Vec::new());
        }
        let types = self.types(&Path([type_name.clone()].into()));
        let mut found = Vec::new();
        let mut fault = None;
        for type_id in types {
            match self.member_of(type_id, type_name, fields, span) {
                Ok(true) => {
                    let path = fields.iter().map(|field| format!(".{field}")).collect::<String>();
                    found.push(Meaning::Member(type_id, path));
                }
                Ok(false) => {}
                Err(other) => fault = fault.or(Some(other)),
            }
        }
        match fault {
            Some(fault) if found.is_empty() => Err(fault),
            _ => Ok(found),
        }
    }

    /// Whether a type has an entity at a path of fields. False if it is nothing that has fields, or if what is not there
    /// may be an entity that is still to come.
    #[cfg(feature = "bevy_reflect")]
    fn member_of(&self, type_id: TypeId, name: &str, fields: &[String], span: Span) -> BindResult<bool> {
        use bevy_ecs::reflect::ReflectComponent;
        let access = self.context.access();
        let types = access.types().map(|types| types.read());
        let Some(registration) = types.as_ref().and_then(|types| types.get(type_id)) else {
            return self.unreflected_member(type_id, name, span);
        };
        let missing = match reflected::look(registration.type_info(), fields) {
            reflected::Looked::Entity => None,
            reflected::Looked::Other(other) => {
                let field = path_text(name, fields);
                let message = format!("the field holds no entity: `{field}` is of type `{other}`");
                return Err(Diagnostic::rule(span, message));
            }
            reflected::Looked::Missing { at, known } => Some((at, known)),
        };
        let Some((at, known)) = missing else {
            if registration.contains::<ReflectComponent>() {
                return Ok(true);
            }
            let message = format!("`{name}` has no fields: it is not reflected with `#[reflect(Component)]`");
            return Err(Diagnostic::rule(span, message));
        };
        if self.context.is_init() {
            return Ok(false);
        }
        Err(missing_field(name, fields, at, &known, span))
    }

    #[cfg(not(feature = "bevy_reflect"))]
    fn member_of(&self, type_id: TypeId, name: &str, _: &[String], span: Span) -> BindResult<bool> {
        self.unreflected_member(type_id, name, span)
    }

    fn unreflected_member(&self, type_id: TypeId, name: &str, span: Span) -> BindResult<bool> {
        if self.context.is_init() || self.context.access().components().get_id(type_id).is_none() {
            return Ok(false);
        }
        Err(Diagnostic::rule(span, format!("`{name}` has no fields: it is not in the type registry")))
    }
}

/// Whether a traversal goes anywhere.
pub(super) fn walks(traversal: &Traversal) -> bool {
    [Flag::Up, Flag::Down, Flag::Cascade].into_iter().any(|flag| traversal.flags.has(flag))
}

#[cfg(feature = "bevy_reflect")]
fn path_text(name: &str, fields: &[String]) -> String {
    use alloc::string::ToString;
    let names = core::iter::once(name.to_string()).chain(fields.iter().cloned());
    Path(names.collect()).to_string()
}

/// That there is no such field, with the one that comes nearest.
#[cfg(feature = "bevy_reflect")]
fn missing_field(name: &str, fields: &[String], at: usize, known: &[String], span: Span) -> Box<Diagnostic> {
    let holder = path_text(name, &fields[..at]);
    let list = known.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
    let message = match &*list {
        "" => format!("`{holder}` has no fields"),
        list => format!("`{holder}` has no such field, only {list}"),
    };
    let fault = Diagnostic::new(bevy_relations_syntax::error::ExprErrorKind::UnknownName, span, message);
    let mut nearest = super::suggest::Nearest::new(&fields[at]);
    known.iter().for_each(|field| nearest.consider(field, || Some(field.clone())));
    match nearest.name {
        Some(near) => {
            let mut fields = fields.to_vec();
            fields[at] = near;
            fault.suggest(path_text(name, &fields))
        }
        None => fault,
    }
}

#[cfg(feature = "bevy_reflect")]
mod reflected {
    use alloc::{
        string::{String, ToString},
        vec,
        vec::Vec,
    };
    use bevy_ecs::entity::Entity;
    use bevy_reflect::{NamedField, TypeInfo, UnnamedField, enums::VariantInfo};

    /// What is at a path of fields.
    pub(super) enum Looked {
        Entity,
        /// Something of this type.
        Other(&'static str),
        /// The field with this number in the path does not exist; what stands before it has these.
        Missing {
            at: usize,
            known: Vec<String>,
        },
    }

    /// A field with the name by which paths know it.
    struct Field {
        name: String,
        is_entity: bool,
        type_name: &'static str,
        info: Option<&'static TypeInfo>,
    }

    impl Field {
        fn named(field: &'static NamedField) -> Self {
            Self {
                name: field.name().to_string(),
                is_entity: field.is::<Entity>() || field.is::<Option<Entity>>(),
                type_name: field.type_path_table().short_path(),
                info: field.type_info(),
            }
        }

        fn unnamed(field: &'static UnnamedField) -> Self {
            Self {
                name: field.index().to_string(),
                is_entity: field.is::<Entity>() || field.is::<Option<Entity>>(),
                type_name: field.type_path_table().short_path(),
                info: field.type_info(),
            }
        }
    }

    /// The fields of a type; those of all variants of an enum.
    fn fields_of(info: &'static TypeInfo) -> Vec<Field> {
        match info {
            TypeInfo::Struct(info) => info.iter().map(Field::named).collect(),
            TypeInfo::TupleStruct(info) => info.iter().map(Field::unnamed).collect(),
            TypeInfo::Tuple(info) => info.iter().map(Field::unnamed).collect(),
            TypeInfo::Enum(info) => info
                .iter()
                .flat_map(|variant| match variant {
                    VariantInfo::Struct(variant) => variant.iter().map(Field::named).collect(),
                    VariantInfo::Tuple(variant) => variant.iter().map(Field::unnamed).collect(),
                    VariantInfo::Unit(_) => Vec::new(),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Follows a path, on several ways if variants of an enum name a field alike.
    pub(super) fn look(info: &'static TypeInfo, path: &[String]) -> Looked {
        let mut infos = vec![info];
        let mut found: Vec<Field> = Vec::new();
        for (at, name) in path.iter().enumerate() {
            let all: Vec<Field> = infos.iter().flat_map(|info| fields_of(info)).collect();
            if !all.iter().any(|field| field.name == *name) {
                let mut known: Vec<String> = Vec::new();
                for field in all {
                    if !known.contains(&field.name) {
                        known.push(field.name);
                    }
                }
                return Looked::Missing { at, known };
            }
            found = all.into_iter().filter(|field| field.name == *name).collect();
            infos = found.iter().filter_map(|field| field.info).collect();
        }
        match found.first() {
            _ if found.iter().any(|field| field.is_entity) => Looked::Entity,
            Some(field) => Looked::Other(field.type_name),
            None => Looked::Missing { at: 0, known: Vec::new() },
        }
    }
}
