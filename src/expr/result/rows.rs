//! Rows: what an expression has found.

use super::compiled::CompiledExpr;
use crate::{
    expr::{
        bind::Var,
        eval::{Datum, View, WorldAccess, stored_target},
        exec::{Batch, Executor, ExprRunError, VarId},
        plan::{Column, FieldShape, Operand, ShapeElement, ShapeId},
        text::{FieldAccess, PairExpr},
    },
    id::{PairId, Slot},
};
use alloc::string::{String, ToString};
use bevy_ecs::{
    change_detection::Tick,
    component::{Component, ComponentId},
    entity::Entity,
};
use core::{
    any::{TypeId, type_name},
    fmt,
};
use smallvec::SmallVec;
use thiserror::Error;

/// The id that a field was matched by: see [`Row::id`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::{FieldId, PairExpr};
/// # let mut world = World::new();
/// let burning = world.spawn(Name::new("Burning")).id();
/// let docked_to = world.spawn_relation("DockedTo", RelationTraits::new())?;
/// # let [ship, port] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_tag(ship, burning)?;
/// world.insert_pair_by_id(ship, (docked_to, port))?;
/// let mut expr = PairExpr::parse("Burning, (DockedTo, *)")?.compile(&mut world)?;
/// let row = expr.first(&world)?.unwrap();
/// assert_eq!(row.id(0), Some(FieldId::Entity(burning)));
/// assert_eq!(row.id(1), Some(FieldId::Pair(PairId::new(docked_to, port))));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldId {
    /// A component; for a term about a field of one, the component that the field belongs to.
    Component(ComponentId),
    /// An entity that serves as a tag, or that stands for a component; for `and|T` and `or|T`, the entity `T`.
    Entity(Entity),
    /// A pair. The elements that were asked for with `_` are [`Slot::Any`].
    Pair(PairId),
}

/// Why a field of a [`Row`] cannot be written.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::{PairExpr, WriteFieldError};
/// #[derive(Component)]
/// struct Fuel(u32);
/// #[derive(Component)]
/// struct Load(u32);
///
/// # let mut world = World::new();
/// # world.register_component_name::<Fuel>("Fuel").register_component_name::<Load>("Load");
/// # world.spawn(Fuel(1));
/// let mut ships = PairExpr::parse("[in] Fuel, ?Load")?.compile(&mut world)?;
/// ships.for_each_mut(&mut world, |mut row| {
///     assert!(matches!(row.get_mut::<Fuel>(0), Err(WriteFieldError::ReadOnly { field: 0, .. })));
///     assert!(matches!(row.get_mut::<Load>(1), Err(WriteFieldError::Unset { field: 1 })));
/// })?;
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum WriteFieldError {
    /// The row has no such field, or it is not set.
    #[error("field {field} is not set in this row")]
    Unset {
        /// Number of the field.
        field: usize,
    },
    /// It may only be read.
    #[error("field {field}, `{term}`, may only be read")]
    ReadOnly {
        /// Number of the field.
        field: usize,
        /// Its term.
        term: String,
    },
    /// The field is of another type.
    #[error("field {field}, `{term}`, is no `{component}`")]
    OtherType {
        /// Number of the field.
        field: usize,
        /// Its term.
        term: String,
        /// What it should be.
        component: &'static str,
    },
    /// Its values are not in one slice.
    #[error("field {field}, `{term}`, is not of entities in one table, or not kept in tables")]
    Apart {
        /// Number of the field.
        field: usize,
        /// Its term.
        term: String,
    },
}

impl WriteFieldError {
    #[cold]
    pub(super) fn read_only(executor: &Executor, field: usize) -> Self {
        Self::ReadOnly { field, term: executor.field_text(field).unwrap_or_default().into() }
    }

    pub(super) fn apart(executor: &Executor, field: usize) -> Self {
        Self::Apart { field, term: executor.field_text(field).unwrap_or_default().into() }
    }
}

/// The rows of a run, one after the other.
///
/// A row is a view into a buffer that is reused, so this is no [`Iterator`].
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// use bevy_relations::expr::PairExpr;
///
/// let mut world = World::new();
/// let ship = world.spawn(Name::new("Ship")).id();
/// let kite = world.spawn_empty().id();
/// world.insert_tag(kite, ship)?;
/// let mut expr = PairExpr::parse("Ship")?.compile(&mut world)?;
/// let mut rows = expr.rows(&world)?;
/// while let Some(row) = rows.next_row()? {
///     assert_eq!(row.this(), Some(kite));
/// }
/// # Ok::<(), BevyError>(())
/// ```
pub struct Rows<'a> {
    expr: &'a mut CompiledExpr,
    access: WorldAccess<'a>,
    next: usize,
    len: usize,
}

impl<'a> Rows<'a> {
    pub(in crate::expr) fn new(
        expr: &'a mut CompiledExpr,
        access: WorldAccess<'a>,
    ) -> Result<Self, ExprRunError> {
        expr.start_rows(access)?;
        Ok(Self::started(expr, access))
    }

    /// The rows of a run that has been started.
    pub(in crate::expr) fn started(expr: &'a mut CompiledExpr, access: WorldAccess<'a>) -> Self {
        Self { expr, access, next: 0, len: 0 }
    }

    /// The next row.
    ///
    /// # Errors
    /// If evaluation took too many steps.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, ExprRunError> {
        if self.next == self.len {
            if !self.expr.next_batch(self.access)? {
                return Ok(None);
            }
            (self.next, self.len) = (0, self.expr.batch().len);
        }
        self.next += 1;
        Ok(Some(Row::new(self.expr, self.next - 1, self.access)))
    }
}

impl CompiledExpr {
    /// The number of the first field with a term, however it is written.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # let mut world = World::new();
    /// # for name in ["Ship", "DockedTo", "Fuel"] {
    /// #     let id = world.spawn_relation(name, RelationTraits::new())?;
    /// #     world.entity_mut(id).insert(Name::new(name));
    /// # }
    /// let expr = PairExpr::parse("Ship, DockedTo($this, $where), ?Fuel")?.compile(&mut world)?;
    /// assert_eq!(expr.field("(DockedTo, $where)"), Some(1));
    /// assert_eq!(expr.field("Fuel"), None);
    /// assert_eq!(expr.field("?Fuel($this)"), Some(2));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    pub fn field(&self, term: &str) -> Option<usize> {
        let term = PairExpr::parse(term).ok()?.to_string();
        self.executor().query().fields.iter().position(|field| field.text == term)
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

/// A row of the result: values of the variables for which the expression holds.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// use bevy_relations::expr::PairExpr;
///
/// #[derive(Component)]
/// struct Fuel(u32);
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// let mut world = World::new();
/// world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
/// let earth = world.spawn(Fuel(90)).id();
/// let kite = world.spawn((Fuel(3), Pair(DockedTo, earth))).id();
/// let mut expr = PairExpr::parse("?Fuel, (DockedTo, $planet), Fuel($planet)")?.compile(&mut world)?;
/// let planet = expr.var_id("planet").unwrap();
/// expr.for_each(&world, |row| {
///     assert_eq!((row.this(), row.var("planet"), row.var_by_id(planet)), (Some(kite), Some(earth), Some(earth)));
///     assert!(row.vars().eq([("planet", Some(earth))]) && row.group() == 0);
///     assert_eq!((row.field_count(), row.field_text(1)), (3, "(DockedTo, $planet)"));
///     assert!(row.is_set(0) && row.is_own(0) && row.source(0) == Some(kite));
///     assert!(row.is_set(2) && !row.is_own(2) && row.source(2) == Some(earth));
///     assert_eq!((row.get::<Fuel>(0).unwrap().0, row.get::<Fuel>(2).unwrap().0), (3, 90));
/// })?;
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Row<'a> {
    executor: &'a Executor,
    batch: &'a Batch,
    row: usize,
    this: Datum,
    access: WorldAccess<'a>,
}

impl<'a> Row<'a> {
    #[inline]
    pub(in crate::expr) fn new(expr: &'a CompiledExpr, row: usize, access: WorldAccess<'a>) -> Self {
        Self::of(expr.executor(), expr.batch(), row, access)
    }

    /// A row of any batch of the expression.
    #[inline]
    pub(crate) fn of(executor: &'a Executor, batch: &'a Batch, row: usize, access: WorldAccess<'a>) -> Self {
        Self::about(executor, batch, (row, batch.this(access, row)), access)
    }

    /// [`of`](Self::of) where the entity is known that the row is about.
    #[inline]
    pub(crate) fn about(
        executor: &'a Executor,
        batch: &'a Batch,
        (row, this): (usize, Datum),
        access: WorldAccess<'a>,
    ) -> Self {
        Self { executor, batch, row, this, access }
    }

    /// Every row of the batch that was made last.
    #[inline]
    pub(super) fn each(expr: &'a CompiledExpr, access: WorldAccess<'a>, each: &mut impl FnMut(Self)) {
        let (executor, batch) = (expr.executor(), expr.batch());
        let these = batch.entities_in_place(access);
        batch.each_row_with_this(these, |row, this| each(Self { executor, batch, row, this, access }));
    }

    #[inline]
    fn value(&self, operand: Operand) -> Datum {
        match operand {
            Operand::Entity(entity) => Datum::new(entity),
            Operand::Column(column) => self.column(column),
            Operand::Nothing => Datum::UNSET,
        }
    }

    #[inline]
    fn column(&self, column: Column) -> Datum {
        if column == Var::THIS.0 { self.this } else { self.batch.datum(column, self.row) }
    }

    #[inline]
    pub(super) fn entity(&self, operand: Operand) -> Option<Entity> {
        self.value(operand).entity()
    }

    /// The entity that the row is about. `None` if the expression is about none.
    #[inline]
    pub fn this(&self) -> Option<Entity> {
        self.this.entity()
    }

    /// The value of a variable. `None` if there is no such variable, or if it has no value in this row.
    pub fn var(&self, name: &str) -> Option<Entity> {
        self.column(self.executor.variable(name)?.0).entity()
    }

    /// [`var`](Self::var) of a variable that [`CompiledExpr::var_id`] returned.
    #[inline]
    pub fn var_by_id(&self, var: VarId) -> Option<Entity> {
        self.column(var.0.0).entity()
    }

    /// The names of all variables, with their values.
    pub fn vars(&self) -> impl Iterator<Item = (&'a str, Option<Entity>)> + use<'a> {
        let row = *self;
        self.executor.variables().map(move |name| (name, row.var(name)))
    }

    /// What the field looks like that the row has; `None` if it is not set.
    #[inline]
    fn shape(&self, field: usize) -> Option<FieldShape> {
        let field = self.executor.plan().fields.get(field)?;
        let Some(set) = field.set else { return field.shapes.first().copied().filter(|shape| shape.set) };
        let branch = self.column(set).number()?;
        field.shapes.get(branch as usize).copied().filter(|shape| shape.set)
    }

    /// The number of its group; see [`CompiledExpr::group_by`]. 0 if rows are not put into groups.
    pub fn group(&self) -> u64 {
        self.batch.groups.get(self.row).copied().unwrap_or(0)
    }

    /// Number of fields, as in [`CompiledExpr::field_count`].
    pub fn field_count(&self) -> usize {
        self.executor.query().fields.len()
    }

    /// The term of a field, written out. Empty if there is no such field.
    pub fn field_text(&self, field: usize) -> &'a str {
        self.executor.field_text(field).unwrap_or_default()
    }

    pub(super) fn field_access(&self, field: usize) -> Option<FieldAccess> {
        self.executor.query().fields.get(field)?.access
    }

    pub(crate) fn access(&self) -> WorldAccess<'a> {
        self.access
    }

    /// Whether a field was matched.
    pub fn is_set(&self, field: usize) -> bool {
        self.shape(field).is_some()
    }

    /// The id that a field was matched by. `None` if it was not matched, or has none.
    ///
    /// Where a term of a transitive relation holds over several pairs, this is the pair that is stored on the source: the
    /// first over which the target is reached.
    ///
    /// # Complexity
    /// O(1); for a transitive relation of which the source has several pairs, O(pairs above it).
    pub fn id(&self, field: usize) -> Option<FieldId> {
        self.id_of(field, self.shape(field)?)
    }

    /// [`id`](Self::id) of a field that looks like this.
    fn id_of(&self, field: usize, shape: FieldShape) -> Option<FieldId> {
        let slot = |element| match element {
            ShapeElement::Any => Some(Slot::Any),
            ShapeElement::Known(operand) => self.value(operand).entity().map(Slot::Entity),
        };
        match shape.id {
            ShapeId::None => None,
            ShapeId::Component(component) => Some(FieldId::Component(component)),
            ShapeId::Single(operand) => {
                let value = self.value(operand);
                let component = value.as_component().map(FieldId::Component);
                component.or_else(|| value.entity().map(FieldId::Entity))
            }
            ShapeId::List(list) => self.value(list).entity().map(FieldId::Entity),
            ShapeId::Pair(relation, target) => {
                Some(FieldId::Pair(PairId::new(slot(relation)?, slot(target)?)))
            }
            ShapeId::Closed(relation, target) => {
                let (relation, target) = (slot(relation)?, slot(target)?);
                let stored = self.source(field).and_then(|source| {
                    stored_target(&View::new(self.access)?, source, relation.entity()?, target.entity()?)
                });
                Some(FieldId::Pair(PairId::new(relation, stored.map_or(target, Slot::Entity))))
            }
        }
    }

    /// The entity on which a field was matched: for `Ship(up ChildOf)` the ancestor that has `Ship`. `None` if it is not set.
    pub fn source(&self, field: usize) -> Option<Entity> {
        self.value(self.shape(field)?.source?).entity()
    }

    /// Whether a field was matched on `$this` itself.
    pub fn is_own(&self, field: usize) -> bool {
        self.this().is_some_and(|this| self.source(field) == Some(this))
    }

    /// The component of a field. `None` if it is not set, is no component, or one of another type.
    #[inline]
    pub fn get<T: Component>(&self, field: usize) -> Option<&'a T> {
        let shape = self.shape(field)?;
        let component = match shape.id {
            ShapeId::Component(component) => component,
            _ => self.component_in(field, shape)?,
        };
        let (this, batch) = (Operand::Column(Var::THIS.0), self.batch);
        let of_this = shape.source == Some(this);
        let place = batch.in_place.filter(|_| of_this).map(|in_place| in_place.place(self.row));
        self.access.component(component, self.value(shape.source?).entity()?, place)
    }

    pub(super) fn is_component<T: Component>(&self, field: usize) -> bool {
        self.shape(field).is_some_and(|shape| self.is_component_in::<T>(field, shape))
    }

    fn is_component_in<T: Component>(&self, field: usize, shape: FieldShape) -> bool {
        let component = self.component_in(field, shape);
        let info = component.and_then(|component| self.access.components().get_info(component));
        info.is_some_and(|info| info.type_id() == Some(TypeId::of::<T>()))
    }

    /// The entity on which a field may be written: one that is marked `[inout]` or `[out]`, or, with exclusive access to
    /// the world, one that is of `$this` and has no mark.
    pub(super) fn writable<T: Component>(
        &self,
        field: usize,
        is_exclusive: bool,
    ) -> Result<Entity, WriteFieldError> {
        let shape = self.shape(field).and_then(|shape| Some((shape, self.value(shape.source?).entity()?)));
        let (shape, source) = shape.ok_or(WriteFieldError::Unset { field })?;
        let may = match self.field_access(field) {
            Some(FieldAccess::InOut | FieldAccess::Out) => true,
            Some(FieldAccess::In | FieldAccess::None) => false,
            None => is_exclusive && self.this() == Some(source) && !self.is_variable(shape.source),
        };
        if !may {
            return Err(WriteFieldError::read_only(self.executor, field));
        }
        if !self.is_component_in::<T>(field, shape) {
            let (term, component) = (self.field_text(field).into(), type_name::<T>());
            return Err(WriteFieldError::OtherType { field, term, component });
        }
        Ok(source)
    }

    /// Whether a field is of a variable other than `$this`, which may be the same entity in some rows.
    fn is_variable(&self, source: Option<Operand>) -> bool {
        let Some(Operand::Column(column)) = source.filter(|&source| source != Operand::Column(Var::THIS.0))
        else {
            return false;
        };
        let variable = self.executor.query().variables.get(usize::from(column));
        variable.is_some_and(|variable| !variable.name.is_empty())
    }

    /// The value of the pair that a field was matched by.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// #[derive(Relation, PartialEq, Debug)]
    /// struct Owes(u32);
    ///
    /// # let mut world = World::new();
    /// # world.register_relation::<Owes>()?;
    /// # let bank = world.spawn_empty().id();
    /// # world.spawn(Pair(Owes(5), bank));
    /// let mut debts = PairExpr::parse("(Owes, $creditor)")?.compile(&mut world)?;
    /// let row = debts.first(&world)?.unwrap();
    /// assert_eq!(row.get_pair::<Owes>(0), Some(&Owes(5)));
    /// assert!(row.vars().eq([("creditor", Some(bank))]));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn get_pair<V: Send + Sync + 'static>(&self, field: usize) -> Option<&'a V> {
        let FieldId::Pair(pair) = self.id(field)? else { return None };
        let (relation, target) = pair.entities()?;
        self.access.pair_value(self.source(field)?, relation, target)
    }

    /// When the value of a field was written last. `None` if it has none that may be read.
    pub(crate) fn changed_tick(&self, field: usize) -> Option<Tick> {
        let source = self.source(field)?;
        match self.id(field)? {
            FieldId::Pair(pair) => {
                let (relation, target) = pair.entities()?;
                self.access.pair_changed(source, relation, target)
            }
            FieldId::Component(_) | FieldId::Entity(_) => self.access.changed(source, self.component(field)?),
        }
    }

    /// A value of every variable, also those without a name.
    pub(crate) fn key(&self, variables: usize) -> SmallVec<[Datum; 4]> {
        (0..variables).map(|column| self.column(column as Column)).collect()
    }

    /// The component of a field.
    fn component(&self, field: usize) -> Option<ComponentId> {
        self.component_in(field, self.shape(field)?)
    }

    /// The component of a field that looks like this.
    fn component_in(&self, field: usize, shape: FieldShape) -> Option<ComponentId> {
        if let ShapeId::List(_) = shape.id {
            return None;
        }
        match self.id_of(field, shape)? {
            FieldId::Component(component) => Some(component),
            FieldId::Entity(entity) => {
                let view = View::new(self.access)?;
                view.component_of(entity)
            }
            FieldId::Pair(_) => None,
        }
    }

    /// The value of a field by reflection: of its component, or of its pair. `None` if it is not set, has no value, or
    /// one of a type that is not registered in the world's
    /// [`AppTypeRegistry`](bevy_ecs::reflect::AppTypeRegistry). Values of pairs are reflected on a world only, not in
    /// systems.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
    /// # use bevy_reflect::Reflect;
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # #[derive(Component, Reflect)]
    /// # #[reflect(Component)]
    /// # struct Fuel(u32);
    /// # let mut world = World::new();
    /// # world.init_resource::<AppTypeRegistry>();
    /// world.resource::<AppTypeRegistry>().write().register::<Fuel>();
    /// world.spawn(Fuel(3));
    /// let mut ships = PairExpr::parse("Fuel")?.compile(&mut world)?;
    /// let fuel = ships.first(&world)?.unwrap().reflect(0).unwrap();
    /// assert_eq!(fuel.try_downcast_ref::<Fuel>().unwrap().0, 3);
    /// # Ok::<(), BevyError>(())
    /// ```
    #[cfg(feature = "bevy_reflect")]
    pub fn reflect(&self, field: usize) -> Option<&'a dyn bevy_reflect::PartialReflect> {
        self.reflect_with(field, &self.access.types()?.read())
    }

    /// [`reflect`](Self::reflect) by what is registered of types here.
    #[cfg(feature = "bevy_reflect")]
    pub(super) fn reflect_with(
        &self,
        field: usize,
        types: &bevy_reflect::TypeRegistry,
    ) -> Option<&'a dyn bevy_reflect::PartialReflect> {
        use crate::relation::reflected_value;
        use bevy_ecs::reflect::ReflectComponent;
        use bevy_reflect::PartialReflect;
        let source = self.source(field)?;
        if let FieldId::Pair(pair) = self.id(field)? {
            let (relation, target) = pair.entities()?;
            let value = self.access.any_pair_value(source, relation, target)?;
            return reflected_value(types, value);
        }
        let info = self.access.components().get_info(self.component(field)?)?;
        let reflect = types.get_type_data::<ReflectComponent>(info.type_id()?)?;
        self.access.reflect(source, reflect).map(PartialReflect::as_partial_reflect)
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = f.debug_struct("Row");
        if let Some(this) = self.this() {
            row.field("this", &this);
        }
        self.vars().for_each(|(name, value)| {
            row.field(name, &value);
        });
        row.finish()
    }
}
