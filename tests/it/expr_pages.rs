//! Pages of rows: together they are the rows of one run, or the cursor says that it cannot be.

use crate::{
    common::{Random, fewer, record_errors_of, take_errors},
    oracle::random::{self, Random as WorldRandom},
    ours::Ours,
};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, ExprRunError, PageError, PairExpr, RowCursor},
    prelude::*,
};

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Age(u32);

/// A world in which this many entities like one.
fn world(count: usize) -> (World, Vec<Entity>, Entity) {
    let mut world = World::new();
    world.register_relation::<Likes>().unwrap();
    world.register_component_name::<Age>("Age");
    let one = world.spawn(Name::new("one")).id();
    let all: Vec<Entity> = (0..count).map(|number| world.spawn(Age(number as u32 % 7)).id()).collect();
    for &source in &all {
        world.insert_pair(source, Likes, one).unwrap();
    }
    (world, all, one)
}

fn compile(world: &mut World, text: &str) -> CompiledExpr {
    PairExpr::parse(text).unwrap().compile(world).unwrap()
}

fn everything(expr: &mut CompiledExpr, world: &World) -> Vec<String> {
    let mut rows = Vec::new();
    expr.for_each(world, |row| rows.push(format!("{row:?}"))).unwrap();
    rows
}

/// Reads a page, and returns its rows with the cursor behind it.
fn page(
    expr: &mut CompiledExpr,
    world: &World,
    cursor: Option<RowCursor>,
    limit: usize,
) -> Result<(Vec<String>, Option<RowCursor>), PageError> {
    let mut rows = Vec::new();
    let each = |row: bevy_relations::expr::Row<'_>| rows.push(format!("{row:?}"));
    let next = match cursor {
        Some(cursor) => expr.page(world, cursor, limit, each),
        None => expr.page(world, 0, limit, each),
    }?;
    Ok((rows, next))
}

#[test]
fn pages_are_together_the_rows_of_one_run() {
    let (mut world, ..) = world(2500);
    for text in
        ["(Likes, one)", "Age, (Likes, $x)", "Age || (Likes, *)", "Likes(*, one)", "(Likes, *)", "one"]
    {
        let mut expr = compile(&mut world, text);
        let all = everything(&mut expr, &world);
        for limit in [1, 7, 1000, 1024, 2500, 5000] {
            let (mut found, mut cursor, mut pages) = (Vec::new(), None, 0);
            loop {
                let (rows, next) = page(&mut expr, &world, cursor, limit).unwrap();
                pages += 1;
                found.extend(rows);
                cursor = next;
                if let Some(cursor) = &cursor {
                    assert_eq!((cursor.offset(), found.len()), (pages * limit, pages * limit));
                } else {
                    break;
                }
                // Not every page of the small ones: each is a run.
                if pages == 20 {
                    break;
                }
            }
            assert_eq!(found, all[..found.len()], "{text} by {limit}");
            assert!(cursor.is_some() || found.len() == all.len());
        }
    }
}

#[test]
fn an_offset_leaves_rows_out_and_a_limit_ends_the_page() {
    let (mut world, ..) = world(10);
    let mut expr = compile(&mut world, "(Likes, one)");
    let all = everything(&mut expr, &world);
    for offset in [0, 1, 3, 9, 10, 11, usize::MAX] {
        for limit in [0, 1, 4, 10, usize::MAX] {
            let mut rows = Vec::new();
            let next = expr.page(&world, offset, limit, |row| rows.push(format!("{row:?}"))).unwrap();
            let expected: Vec<String> = all.iter().skip(offset).take(limit).cloned().collect();
            assert_eq!(rows, expected, "{offset} {limit}");
            let end = offset.saturating_add(limit);
            assert_eq!(next.map(|cursor| cursor.offset()), (end < 10).then_some(end), "{offset} {limit}");
        }
    }
}

#[test]
fn a_cursor_is_valid_until_the_rows_before_it_change() {
    let (mut world, all, one) = world(10);
    let mut expr = compile(&mut world, "(Likes, $x)");
    let (rows, cursor) = page(&mut expr, &world, None, 4).unwrap();
    assert_eq!(rows.len(), 4);
    let first: Vec<Entity> = {
        let mut found = Vec::new();
        expr.page(&world, 0, 4, |row| found.extend(row.this())).unwrap();
        found
    };
    // What is not among these rows may change, and shows.
    let later = *all.iter().find(|entity| !first.contains(entity)).unwrap();
    world.get_mut::<Age>(first[0]).unwrap().0 = 100;
    world.spawn(Age(3));
    assert_eq!(page(&mut expr, &world, cursor.clone(), 100).unwrap().0.len(), 6);
    let before = everything(&mut expr, &world);
    world.remove_pair::<Likes>(later, one);
    if everything(&mut expr, &world)[..4] == before[..4] {
        assert_eq!(page(&mut expr, &world, cursor.clone(), 100).unwrap().0.len(), 5);
    }
    world.insert_pair(later, Likes, one).unwrap();
    // One of them goes.
    world.remove_pair::<Likes>(first[1], one);
    let mut seen = 0;
    let error = expr.page(&world, cursor.clone().unwrap(), 4, |_| seen += 1).unwrap_err();
    assert_eq!((error.clone(), seen), (PageError::Changed { rows: 4 }, 0));
    assert_eq!(error.to_string(), "the first 4 rows are no longer those that were read: start again");
    // All of them.
    world.despawn(one);
    assert_eq!(page(&mut expr, &world, cursor, 4), Err(PageError::Changed { rows: 4 }));
    world.check_pairs().unwrap();
}

#[test]
fn a_cursor_belongs_to_its_expression() {
    let (mut world, ..) = world(10);
    let mut expr = compile(&mut world, "(Likes, $x)");
    let cursor = page(&mut expr, &world, None, 4).unwrap().1;
    let mut other = compile(&mut world, "Likes($x, one)");
    assert_eq!(page(&mut other, &world, cursor.clone(), 4), Err(PageError::OtherExpression));
    // The same, compiled again.
    let mut again = compile(&mut world, "Likes($this, $x)");
    assert_eq!(page(&mut again, &world, cursor.clone(), 100).unwrap().0.len(), 6);
    assert_eq!(page(&mut expr, &World::new(), cursor, 4), Err(PageError::Run(ExprRunError::OtherWorld)));
    expr.set_step_limit(Some(1));
    assert_eq!(page(&mut expr, &world, None, 4), Err(PageError::Run(ExprRunError::StepLimit { limit: 1 })));
}

#[test]
fn pages_follow_the_order_that_is_asked_for() {
    let (mut world, all, _) = world(40);
    let mut expr = compile(&mut world, "Age");
    expr.order_by::<Age>(|a, b| a.0.cmp(&b.0));
    let (mut ages, mut cursor) = (Vec::new(), None);
    loop {
        let each = |row: bevy_relations::expr::Row<'_>| ages.extend(row.get::<Age>(0).map(|age| age.0));
        cursor = match cursor.take() {
            None => expr.page(&world, 0, 9, each),
            Some(cursor) => expr.page(&world, RowCursor::clone(&cursor), 9, each),
        }
        .unwrap();
        if cursor.is_none() {
            break;
        }
    }
    assert!(ages.is_sorted() && ages.len() == 40);
    let cursor = page(&mut expr, &world, None, 9).unwrap().1;
    // Another order is another page.
    let mut first = Vec::new();
    expr.page(&world, 0, 9, |row| first.extend(row.this())).unwrap();
    world.get_mut::<Age>(first[0]).unwrap().0 = 50;
    assert_eq!(page(&mut expr, &world, cursor, 9), Err(PageError::Changed { rows: 9 }));
    assert_eq!(all.len(), 40);
}

#[test]
fn systems_read_pages_too() {
    let (mut world, ..) = world(10);
    let expr = PairExpr::parse("(Likes, $x)").unwrap();
    let system =
        (ExprParam(expr),).build_state(&mut world).build_system(|mut query: ExprQuery<AnyExpression>| {
            let mut rows = [0; 3];
            let first = query.page(0, 4, |_| rows[0] += 1).unwrap().unwrap();
            let second = query.page(first, 4, |_| rows[1] += 1).unwrap().unwrap();
            assert_eq!(query.page(second, 4, |_| rows[2] += 1), Ok(None));
            rows
        });
    assert_eq!(world.run_system_once(system).unwrap(), [4, 4, 2]);
}

#[test]
fn random_expressions_have_pages_that_are_together_their_rows() {
    let (mut with_pages, mut kept, mut changed, cases) = (0, 0, 0, fewer(200));
    for number in 0..cases as u64 {
        let model = random::world(&mut WorldRandom::new(31, number));
        let expr = random::expr(&mut WorldRandom::new(32, number), &model);
        let mut ours = Ours::new(&model, false);
        let text = ours.text(&expr);
        let Ok(mut compiled) = PairExpr::parse(&*text).and_then(|expr| expr.compile(&mut ours.world)) else {
            continue;
        };
        let world = &mut ours.world;
        compiled.set_batch_size(2);
        let all = everything(&mut compiled, world);
        let (mut found, mut cursor, mut cursors) = (Vec::new(), None, Vec::new());
        loop {
            let (rows, next) = page(&mut compiled, world, cursor, 3).unwrap();
            found.extend(rows);
            cursors.extend(next.clone());
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "{text}");
        with_pages += usize::from(!cursors.is_empty());
        // Something changes: each cursor goes on with the rows as they are now, or says that it cannot.
        let mut random = Random(number * 2 + 1);
        let mut about: Vec<Entity> = Vec::new();
        compiled.for_each(world, |row| about.extend(row.this())).unwrap();
        if about.is_empty() {
            continue;
        }
        record_errors_of(world);
        world.despawn(about[random.below(about.len())]);
        take_errors();
        let Ok(_) = compiled.count(world) else { continue };
        let now = everything(&mut compiled, world);
        for cursor in cursors {
            let offset = cursor.offset();
            match page(&mut compiled, world, Some(cursor), usize::MAX) {
                Ok((rows, None)) => {
                    assert_eq!(rows, now[offset..], "{text}");
                    assert_eq!(now[..offset], all[..offset], "{text}");
                    kept += 1;
                }
                Err(PageError::Changed { rows }) => {
                    assert_eq!(rows, offset);
                    changed += 1;
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
    let enough = with_pages * 20 > cases * 3 && kept * 20 > cases && changed * 20 > cases;
    assert!(cases < 100 || enough, "{with_pages} {kept} {changed}");
}
