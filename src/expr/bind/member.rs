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
        refuse_walks([&has.first, source, target])?;
        let component = self.context.component_of(type_id);
        let component =
            component.ok_or_else(|| Diagnostic::rule(span, "the type of this field is no component"))?;
        let source = self.member_source(source, type_name, path, component, prerequisites)?;
        let value = self.element_of(&target.id, None, prerequisites)?;
        Ok(Some(MemberAtom { source, component, path: fields.into(), value }))
    }

    pub(super) fn member_source(
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

    /// Whether a type has an entity at a path of fields. False if it is nothing that has fields, or if what is not
    /// there may be an entity that is still to come.
    #[cfg(feature = "bevy_reflect")]
    fn member_of(&self, type_id: TypeId, name: &str, fields: &[String], span: Span) -> BindResult<bool> {
        use super::{reflected, scalar};
        use bevy_ecs::reflect::ReflectComponent;
        let access = self.context.access();
        let types = access.types().map(|types| types.read());
        let Some(registration) = types.as_ref().and_then(|types| types.get(type_id)) else {
            return self.unreflected_member(type_id, name, span);
        };
        let missing = match reflected::look(registration.type_info(), fields) {
            reflected::FieldLookup::Entity => None,
            reflected::FieldLookup::Other(found) => {
                let field = path_text(name, fields);
                let mut message =
                    format!("the field holds no entity: `{field}` is of type `{}`", found[0].type_name);
                if let Some(scalar) = scalar::of_fields(&found) {
                    message += &format!("; it can be compared, as in `{field} {}`", scalar.example());
                }
                return Err(Diagnostic::rule(span, message));
            }
            reflected::FieldLookup::Missing(missing) => Some((missing.at, missing.known)),
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

/// A field is looked for nowhere else.
pub(super) fn refuse_walks<'a>(args: impl IntoIterator<Item = &'a Arg>) -> BindResult<()> {
    match args.into_iter().filter_map(|arg| arg.traversal.as_ref()).find(|traversal| walks(traversal)) {
        Some(traversal) => {
            let message = "a field is read on its source alone, and has no traversal";
            Err(Diagnostic::rule(traversal.span, message))
        }
        None => Ok(()),
    }
}

/// Whether a traversal goes anywhere.
pub(super) fn walks(traversal: &Traversal) -> bool {
    [Flag::Up, Flag::Down, Flag::Cascade].into_iter().any(|flag| traversal.flags.has(flag))
}

#[cfg(feature = "bevy_reflect")]
pub(super) fn path_text(name: &str, fields: &[String]) -> String {
    use alloc::string::ToString;
    let names = core::iter::once(name.to_string()).chain(fields.iter().cloned());
    Path(names.collect()).to_string()
}

/// That there is no such field, with the one that comes nearest.
#[cfg(feature = "bevy_reflect")]
pub(super) fn missing_field(
    name: &str,
    fields: &[String],
    at: usize,
    known: &[String],
    span: Span,
) -> Box<Diagnostic> {
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
