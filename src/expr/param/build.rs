//! Systems with expressions that are known only when the system is built.
#![expect(unsafe_code, reason = "Bevy's `SystemParamBuilder` is an unsafe trait")]

use super::{AnyExpression, ExprQuery, ExprQueryState};
use crate::expr::text::PairExpr;
use bevy_ecs::{query::QueryData, system::SystemParamBuilder, world::World};

/// Builds an [`ExprQuery`] of [`AnyExpression`] from an expression.
///
/// ```
/// use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// use bevy_relations::{expr::{AnyExpression, ExprParam, PairExpr}, prelude::*};
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// world.register_relation::<Likes>().unwrap();
/// let apple = world.spawn(Name::new("Apple")).id();
/// world.spawn(Pair(Likes, apple));
///
/// let text = "(Likes, Apple)"; // from a file, or from a player
/// let expr = PairExpr::parse(text).unwrap();
/// let system = (ExprParam(expr),)
///     .build_state(&mut world)
///     .build_system(|mut found: ExprQuery<AnyExpression>| found.count().unwrap());
/// assert_eq!(world.run_system_once(system).unwrap(), 1);
/// ```
pub struct ExprParam(
    /// The expression.
    pub PairExpr,
);

// SAFETY: the state is made as for expressions that are known to the compiler.
unsafe impl<'w, 's, D: QueryData + 'static> SystemParamBuilder<ExprQuery<'w, 's, AnyExpression, D>>
    for ExprParam
{
    fn build(self, world: &mut World) -> ExprQueryState<AnyExpression, D> {
        ExprQueryState::new(Some(self.0), world)
    }
}
