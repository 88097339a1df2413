//! The order in which a system reads rows.

use super::{ExprQuery, Expression};
use crate::{
    expr::{
        eval::WorldAccess,
        exec::ExprRunError,
        result::{Row, RowGroup},
    },
    relation::{Relation, short_name},
};
use alloc::string::ToString;
use bevy_ecs::{
    component::{Component, ComponentId},
    entity::Entity,
    query::{Access, QueryData},
};
use core::{any::type_name, cmp::Ordering};

/// # Order
///
/// As for [`CompiledExpr`](crate::expr::CompiledExpr#order): all rows of a run are collected and put in order before the
/// first is returned. Set the order in each run of the system: it does not last until the next.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # #[relation(exclusive)]
/// # struct DockedTo;
/// #[derive(Expression)]
/// #[expr("(DockedTo, $port)")]
/// struct Docked;
///
/// #[derive(Resource, Default)]
/// struct Counts(Vec<(Option<Entity>, usize)>);
///
/// fn count(mut ships: ExprQuery<Docked>, mut counts: ResMut<Counts>) -> Result {
///     ships.group_by::<DockedTo>()?.order_by_entity();
///     ships.for_each_group(|group| counts.0.push((group.target(), group.len())))?;
///     Ok(())
/// }
/// # let mut world = World::new();
/// # world.register_relation::<DockedTo>()?;
/// # let ports = [(); 2].map(|()| world.spawn_empty().id());
/// # for port in [ports[0], ports[1], ports[0]] {
/// #     world.spawn(Pair(DockedTo, port));
/// # }
/// # world.init_resource::<Counts>();
/// # Schedule::default().add_systems(count).run(&mut world);
/// # assert_eq!(world.resource::<Counts>().0, [(Some(ports[0]), 2), (Some(ports[1]), 1)]);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
/// By a component that a term reads, by anything that a row has, in groups by any number:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Component)]
/// struct Fuel(u32);
/// #[derive(Relation)]
/// struct DockedTo;
///
/// #[derive(Expression)]
/// #[expr("Fuel, (DockedTo, $port)")]
/// struct Docked;
///
/// fn list(ports: In<[Entity; 2]>, mut ships: ExprQuery<Docked, &Fuel>) -> Result {
///     let mut fuel = Vec::new();
///     ships.order_by::<Fuel>(|a, b| b.0.cmp(&a.0))?;
///     ships.for_each(|own, _row| fuel.push(own.0))?;
///     assert_eq!(fuel, [4, 2, 1]);
///
///     ships.clear_order();
///     ships.group_by_fn(|row| row.get::<Fuel>(0).map(|fuel| u64::from(fuel.0 % 2)))?;
///     ships.order_by_fn(|a, b| a.var("port").cmp(&b.var("port")));
///     assert_eq!((ships.group(0)?.len(), ships.group(1)?.len()), (2, 1));
///
///     ships.clear_order();
///     ships.group_by::<DockedTo>()?;
///     assert_eq!(ports.map(|port| ships.group(port.to_bits()).unwrap().len()), [1, 2]);
///     Ok(())
/// }
///
/// // Of a relation that is known at run time.
/// fn by_id(relation: In<Entity>, mut ships: ExprQuery<Docked>) -> Result<usize> {
///     ships.group_by_id(*relation)?;
///     let mut groups = 0;
///     ships.for_each_group(|_group| groups += 1)?;
///     Ok(groups)
/// }
/// # let mut world = World::new();
/// # let docked_to = world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
/// # let ports = [(); 2].map(|()| world.spawn_empty().id());
/// # for (fuel, port) in [(2, ports[0]), (4, ports[1]), (1, ports[1])] {
/// #     world.spawn((Fuel(fuel), Pair(DockedTo, port)));
/// # }
/// # let () = world.run_system_cached_with(list, ports)?;
/// # let groups: usize = world.run_system_cached_with(by_id, docked_to)?;
/// # assert_eq!(groups, 2);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
impl<E: Expression, D: QueryData + 'static> ExprQuery<'_, '_, E, D> {
    /// Sorts rows by a component of `$this`, which a term of the expression has to read. Those without it come first.
    ///
    /// # Errors
    /// If the parameter does not read the component.
    ///
    /// # Panics
    /// As for [`CompiledExpr::order_by`](crate::expr::CompiledExpr::order_by).
    pub fn order_by<T: Component>(
        &mut self,
        compare: impl Fn(&T, &T) -> Ordering + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        self.component_read::<T>(self.declared.access)?;
        self.compiled.order_by(compare);
        Ok(self)
    }

    /// The id of a component, if this access reads it.
    fn component_read<T: Component>(&self, access: &Access) -> Result<ComponentId, ExprRunError> {
        let component = self.declared.world.components().component_id::<T>();
        let component = component.filter(|&component| access.has_read(component));
        component.ok_or_else(|| ExprRunError::NotRead { component: short_name(type_name::<T>()).to_string() })
    }

    /// The id of a component that a term reads on `$this`.
    ///
    /// # Errors
    /// If none does.
    pub(crate) fn component_read_on_this<T: Component>(&self) -> Result<ComponentId, ExprRunError> {
        self.component_read::<T>(self.own)
    }

    /// Sorts rows by `$this`: by index, and then by generation, ascending.
    pub fn order_by_entity(&mut self) -> &mut Self {
        self.compiled.order_by_entity();
        self
    }

    /// Sorts rows by their variables or fields.
    pub fn order_by_fn(
        &mut self,
        compare: impl Fn(Row<'_>, Row<'_>) -> Ordering + Send + Sync + 'static,
    ) -> &mut Self {
        self.compiled.order_by_fn(compare);
        self
    }

    /// Puts rows into groups by the target that `$this` has in a relation; see
    /// [`CompiledExpr::group_by`](crate::expr::CompiledExpr::group_by).
    ///
    /// # Errors
    /// As for [`CompiledExpr::group_by`](crate::expr::CompiledExpr::group_by).
    pub fn group_by<R: Relation>(&mut self) -> Result<&mut Self, ExprRunError> {
        self.compiled.group_by::<R>()?;
        Ok(self)
    }

    /// [`group_by`](Self::group_by) for any relation.
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by), and if it is no relation, or no longer one.
    pub fn group_by_id(&mut self, relation: Entity) -> Result<&mut Self, ExprRunError> {
        self.compiled.group_by_id(relation)?;
        self.compiled.check_order(WorldAccess::Declared(&self.declared))?;
        Ok(self)
    }

    /// [`group_by`](Self::group_by) with any number for each row; 0 for those without one.
    ///
    /// # Errors
    /// As for [`group_by`](Self::group_by).
    pub fn group_by_fn(
        &mut self,
        group: impl Fn(Row<'_>) -> Option<u64> + Send + Sync + 'static,
    ) -> Result<&mut Self, ExprRunError> {
        self.compiled.group_by_fn(group)?;
        Ok(self)
    }

    /// Lets rows come as they are found again.
    pub fn clear_order(&mut self) {
        self.compiled.clear_order();
    }

    /// Calls a function with each group, in their order. Rows that were not put into groups are in group 0.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_group(&mut self, each: impl FnMut(RowGroup<'_>)) -> Result<(), ExprRunError> {
        self.compiled.for_each_group_of(WorldAccess::Declared(&self.declared), each)
    }

    /// The rows of one group. There are none if there is no such group.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    ///
    /// # Complexity
    /// That of a whole run: the others are found too.
    pub fn group(&mut self, id: u64) -> Result<RowGroup<'_>, ExprRunError> {
        self.compiled.group_of(WorldAccess::Declared(&self.declared), id)
    }
}
