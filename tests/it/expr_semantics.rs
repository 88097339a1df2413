//! What the rules of the query language say, one by one.

use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, FieldId, PairExpr},
    id::Slot,
    prelude::*,
};

/// A world that is written down: a line for each entity, with its tags and pairs.
pub(crate) struct Written {
    pub(crate) world: World,
}

/// The relations of every [`Written`] world.
fn relations() -> [(&'static str, RelationTraits); 7] {
    let traits = RelationTraits::new;
    [
        ("A", traits()),
        ("B", traits()),
        ("In", traits().transitive()),
        ("Within", traits().transitive().reflexive()),
        ("Near", traits().reflexive()),
        ("On", traits().traversable()),
        ("Knows", traits().symmetric()),
    ]
}

impl Written {
    /// `"e1 Tag (A, e2)"`: names are made when they first occur.
    pub(crate) fn new(lines: &[&str]) -> Self {
        let mut written = Self { world: World::new() };
        for (name, traits) in relations() {
            written.world.spawn_relation(name, traits).unwrap();
        }
        for line in lines {
            let (head, pairs) = line.split_once('(').unwrap_or((line, ""));
            let mut words =
                head.split_whitespace().map(|name| written.entity(name)).collect::<Vec<_>>().into_iter();
            let source = words.next().expect("a name at the start of each line");
            for tag in words {
                written.world.insert_tag(source, tag).unwrap();
            }
            for pair in
                pairs.split('(').map(|pair| pair.trim().trim_end_matches(')')).filter(|pair| !pair.is_empty())
            {
                let (relation, target) = pair.split_once(", ").expect("a relation and a target");
                let [relation, target] = [relation, target].map(|name| written.entity(name));
                written.world.insert_pair_by_id(source, (relation, target)).unwrap();
            }
        }
        written
    }

    pub(crate) fn entity(&mut self, name: &str) -> Entity {
        match name {
            "IsA" => return self.world.entity_of::<IsA>(),
            "ChildOf" => return self.world.entity_of::<ChildOf>(),
            _ => {}
        }
        let mut named = self.world.query::<(Entity, &Name)>();
        let known =
            named.iter(&self.world).find(|(_, known)| known.as_str() == name).map(|(entity, _)| entity);
        known.unwrap_or_else(|| self.world.spawn(Name::new(name.to_owned())).id())
    }

    #[track_caller]
    pub(crate) fn compile(&mut self, text: &str) -> CompiledExpr {
        match PairExpr::parse(text).and_then(|expr| expr.compile(&mut self.world)) {
            Ok(expr) => expr,
            Err(error) => panic!("{error}"),
        }
    }

    /// `$this` and the variables of each row, in order: `e1/x`, with `*` for what is not set.
    #[track_caller]
    pub(crate) fn in_order(&mut self, text: &str) -> Vec<String> {
        let mut expr = self.compile(text);
        let name = |entity: Option<Entity>| match entity {
            Some(entity) => self.world.get::<Name>(entity).map_or(format!("{entity}"), ToString::to_string),
            None => "*".to_owned(),
        };
        let mut found = Vec::new();
        expr.for_each(&self.world, |row| {
            let this = row.this().map(|this| name(Some(this)));
            found.push(
                this.into_iter()
                    .chain(row.vars().map(|(_, value)| name(value)))
                    .collect::<Vec<_>>()
                    .join("/"),
            );
        })
        .unwrap();
        assert_eq!(expr.count(&self.world), Ok(found.len()), "{text}: the count is that of the rows");
        found
    }

    /// [`in_order`](Self::in_order), sorted.
    #[track_caller]
    pub(crate) fn rows(&mut self, text: &str) -> Vec<String> {
        let mut rows = self.in_order(text);
        rows.sort_unstable();
        rows
    }

    /// For each expression its rows, with blanks between them.
    #[track_caller]
    pub(crate) fn check(&mut self, table: &[(&str, &str)]) {
        let differ = |&(text, expected): &(&str, &str)| {
            let found = self.rows(text).join(" ");
            (found != expected).then(|| format!("{text}\n  found:    {found}\n  expected: {expected}"))
        };
        let wrong: Vec<String> = table.iter().filter_map(differ).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// What is expected in place of what the expression says, and where.
    #[track_caller]
    fn refused(&mut self, text: &str) -> (usize, usize, String) {
        let error = PairExpr::parse(text).and_then(|expr| expr.compile(&mut self.world)).err();
        let error = error.unwrap_or_else(|| panic!("`{text}` is an error"));
        assert_eq!(error.kind(), crate::expr_refused::kind_of(error.message()), "{error}");
        (error.line(), error.column(), error.message().to_owned())
    }

    /// How each row has a field: relation or tag, target and source, or `-`.
    #[track_caller]
    pub(crate) fn fields(&mut self, text: &str, field: usize) -> Vec<String> {
        let mut expr = self.compile(text);
        let name =
            |entity: Entity| self.world.get::<Name>(entity).map_or(format!("{entity}"), ToString::to_string);
        let mut found = Vec::new();
        expr.for_each(&self.world, |row| {
            let id = match row.id(field) {
                None => "-".to_owned(),
                Some(FieldId::Component(_)) => "component".to_owned(),
                Some(FieldId::Entity(entity)) => name(entity),
                Some(FieldId::Pair(pair)) => {
                    let part = |slot: Slot| slot.entity().map_or("_".to_owned(), name);
                    format!("{} {}", part(pair.relation()), part(pair.target()))
                }
            };
            let source = row.source(field).map_or(String::new(), |source| format!("@{}", name(source)));
            found.push(id + &source);
        })
        .unwrap();
        found.sort_unstable();
        found
    }
}

/// The reference world.
pub(crate) fn reference() -> Written {
    Written::new(&[
        "h1 Tag2",
        "e1 Tag (A, T1)",
        "e2 Tag (A, T1) (B, T1)",
        "e3 Tag (A, T1) (A, T2) (B, T2)",
        "e4 Tag (B, T2)",
        "e5 Tag",
        "e6 Tag (A, h1)",
    ])
}

#[test]
fn wildcards_give_every_match_and_any_gives_one() {
    reference().check(&[
        ("(A, *)", "e1 e2 e3 e3 e6"),
        ("(A, _)", "e1 e2 e3 e6"),
        ("(*, T1)", "e1 e2 e2 e3"),
        ("(_, T1)", "e1 e2 e3"),
        ("Tag, (*, *)", "e1 e2 e2 e3 e3 e3 e4 e6"),
        ("Tag, (*, _)", "e1 e2 e3 e4 e6"),
        ("Tag, (_, *)", "e1 e2 e3 e4 e6"),
        ("Tag, (_, _)", "e1 e2 e3 e4 e6"),
        ("Tag, (_, $x)", "e1/T1 e2/T1 e3/T1 e3/T2 e4/T2 e6/h1"),
        ("Tag, ($r, _)", "e1/A e2/A e2/B e3/A e3/B e4/B e6/A"),
        ("(A, *), (A, *)", "e1 e2 e3 e3 e3 e3 e6"),
        ("A(_, $x)", "T1 T2 h1"),
        ("A(*, $x)", "T1 T1 T1 T2 h1"),
        ("Tag(), Tag2", "h1"),
        ("*(e3)", " "),
        ("_(e3)", ""),
        ("Tag, _", "e1 e2 e3 e4 e5 e6"),
    ]);
    assert_eq!(reference().rows("$x(e3)").len(), 2, "the tag and the name");
    assert_eq!(reference().fields("Tag(), Tag2", 0), ["-"]);
}

#[test]
fn one_way_is_enough_for_any_whatever_the_subtype() {
    let mut world = Written::new(&[
        "Red (IsA, Bright)",
        "B (IsA, A)",
        "e1 Red Bright (A, x) (B, x) (B, y)",
        "e2 Red (B, x)",
    ]);
    world.check(&[
        ("Bright", "e1 e1 e2"),
        ("Bright|self", "e1"),
        ("(A, x)", "e1 e1 e2"),
        ("(A|self, x)", "e1"),
        ("(A, _)", "e1 e2"),
        ("A(_, $x)", "x y"),
        ("Bright(_)", ""),
    ]);
    assert_eq!(world.fields("Bright", 0), ["Bright@e1", "Red@e1", "Red@e2"]);
}

#[test]
fn negated_terms_ask_for_existence_where_a_variable_is_open() {
    reference().check(&[
        ("Tag, !(A, *)", "e4 e5"),
        ("Tag, !(A, $x)", "e4/* e5/*"),
        ("Tag, (A, $x), !(B, $x)", "e1/T1 e3/T1 e6/h1"),
        ("Tag, !(B, $x), (A, $x)", "e1/T1 e6/h1"),
        ("Tag($x), !A($x, T1)", "e4 e5 e6"),
        ("!A(e3, h1)", ""),
        ("!A($x, T1), Tag($x)", "e4 e5 e6"),
    ]);
    assert_eq!(reference().fields("!A(e3, h1)", 0), ["-"]);
}

#[test]
fn optional_terms_leave_open_what_they_do_not_find_and_later_terms_skip_it() {
    reference().check(&[
        ("Tag, ?(A, *)", "e1 e2 e3 e3 e4 e5 e6"),
        ("Tag, ?(A, _)", "e1 e2 e3 e4 e5 e6"),
        ("Tag, ?(A, $x), (B, $x)", "e2/T1 e3/T2 e4/* e5/*"),
        ("Tag, ?(A, $x), !Tag2($x)", "e1/T1 e2/T1 e3/T1 e3/T2 e4/* e5/*"),
        // What a skipped term would bind is left open too.
        ("Tag, ?(A, $x), A($y, $x), Tag($y), (B, $x)", "e2/T1/e1 e2/T1/e2 e2/T1/e3 e3/T2/e3 e4/*/* e5/*/*"),
        (
            "Tag, ?(A, $x), A($y, $x), !(B, $y)",
            "e1/T1/e1 e1/T1/e2 e1/T1/e3 e2/T1/e1 e2/T1/e2 e2/T1/e3 e3/T1/e1 \
          e3/T1/e2 e3/T1/e3 e3/T2/e3 e4/*/* e5/*/* e6/h1/e6",
        ),
        ("Tag, ?(A, $x), $y == $x", "e1/T1/T1 e2/T1/T1 e3/T1/T1 e3/T2/T2 e4/*/* e5/*/* e6/h1/h1"),
    ]);
    let mut world = Written::new(&[
        "Red",
        "ship Red",
        "free Red Armed",
        "engine Big (ChildOf, ship)",
        "gun Armed (A, ship)",
    ]);
    world.check(&[
        ("Armed, ?(A, $y), Big($y.engine), $this != $y", "free/* gun/ship"),
        ("Armed, ?(A, $y), Armed($y.engine)", "free/*"),
        ("Red, Big($this.engine)", "ship"),
        ("Red, !Red($this.engine)", "ship"),
        ("Red, ?Big($this.engine)", "free ship"),
        ("Red, !Big($this.engine)", ""),
    ]);
    assert_eq!(world.fields("Red, ?Big($this.engine)", 1), ["-", "Big@engine"]);
}

#[test]
fn alternatives_share_a_field_and_leave_variables_of_others_unset() {
    reference().check(&[
        ("Tag, (A, *) || (B, *)", "e1 e2 e3 e4 e6"),
        ("(A, $x) || (B, $y), Tag2($x)", "e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $x)", "e1/T1 e2/T1 e3/T1 e3/T2 e4/T2 e6/h1"),
        ("(A, T1) || (B, $y)", "e1/* e2/* e3/* e4/T2"),
        ("Tag, {(A, $x), (B, $x)} || (B, T2)", "e2/T1 e3/T2 e4/*"),
        ("{(A, $x), (B, $x)} || (B, T2)", "e2/T1 e3/T2 e4/*"),
        ("A(_, $x) || B(_, $x)", "T1 T2 h1"),
        ("A(e3, T1) || B(e3, T1), Tag2", "h1"),
        ("Tag, $this == e1 || $this == e5", "e1 e5"),
    ]);
    let fields = reference().fields("Tag, (A, *) || (B, *)", 1);
    assert_eq!(
        fields,
        ["A T1@e1", "A T1@e2", "A T1@e3", "A h1@e6", "B T2@e4"],
        "the first of the first branch"
    );
}

#[test]
fn negated_scopes_keep_their_variables_and_plain_ones_let_them_out() {
    reference().check(&[
        ("Tag, !{(A, $x), (B, $x)}", "e1 e4 e5 e6"),
        ("Tag, !{(A, $x), !(B, $x)}", "e2 e4 e5"),
        ("!{Tag(e3), Tag2(e3)}, Tag2", "h1"),
        ("Tag, !{(A, $x)}, !{(B, $x)}", "e5"),
        ("Tag, {(A, $x), (B, $x)}", "e2/T1 e3/T2"),
        ("{Tag, {(A, $x)}}, !{(B, $x)}", "e1/T1 e3/T1 e6/h1"),
        ("Tag, (A, $x), !{A($y, $x), $y != $this}", "e3/T2 e6/h1"),
    ]);
}

#[test]
fn what_follows_from_a_transitive_relation_is_a_set() {
    let mut world = Written::new(&["a (In, b) (In, c)", "b (In, d)", "c (In, d)", "d (In, e)", "a2 (In, a)"]);
    world.check(&[
        ("(In, d)", "a a2 b c"),
        ("(In, $x), $this == a", "a/b a/c a/d a/e"),
        ("$this == a, (In, *)", "a a a a"),
        ("$this == a, (In, _)", "a"),
        ("(In, d|self)", "b c"),
        ("(In, $x|self)", "a/b a/c a2/a b/d c/d d/e"),
        ("In(a2, e)", ""),
        ("!In(e, a)", ""),
        ("(In, e), !(In, d)", "d"),
    ]);
}

#[test]
fn a_reflexive_relation_holds_of_everything_and_itself() {
    let mut world = Written::new(&["a (Within, b)", "b (Within, c)", "x (Near, y)", "y", "c Red"]);
    world.check(&[
        ("(Within, c)", "a b c"),
        ("(Within, $this), Red", "c"),
        ("Within(y, y)", ""),
        ("(Near, y)", "x y"),
        ("Near(x, $t)", "x y"),
        ("Near(x, $t|self)", "y"),
        ("Red, (Near, $t)", "c/c"),
        ("(IsA, Red), $this != c", "Red"),
    ]);
}

#[test]
fn looking_up_finds_the_nearest_depth_first_in_the_order_of_insertion() {
    let mut world = Written::new(&[
        "e (On, near1) (On, near2)",
        "near1 (On, far)",
        "near2 Red",
        "far Red",
        "alone",
        "own Red (On, near2)",
    ]);
    assert_eq!(world.fields("Red(up On)", 0), ["Red@far", "Red@far", "Red@near2"]);
    world.check(&[
        ("Red(up On)", "e near1 own"),
        ("Red(self|up On)", "e far near1 near2 own"),
        ("$this == alone, !Red(up On)", "alone"),
        ("(On, *), !Red(up On)", ""),
        ("Red, ?Red(up On)", "far near2 own"),
        ("Red(up|all On)", "e e near1 own"),
        ("Red(up On 1)", "e near1 own"),
        ("Red(up On 2)", "e near1 own"),
        ("Red(up On 2..)", "e"),
        ("Red(down On)", "near2"),
        ("$this == near2, Red(down On)", "near2"),
        ("(A, e|up On)", ""),
    ]);
    assert_eq!(world.fields("$this == own, Red(self|up On)", 1), ["Red@own"]);
    assert_eq!(world.fields("$this == far, ?Red(up On)", 1), ["-"]);
    assert_eq!(world.fields("$this == e, Red(up On 1)", 1), ["Red@near2"]);
}

#[test]
fn the_nearest_holder_of_a_variable_depends_on_what_is_written_before() {
    let mut world =
        Written::new(&["top (A, red)", "mid (On, top) (A, blue)", "e (On, mid)", "red Red", "blue"]);
    world.check(&[
        // The nearest that has any, which then is or is not red.
        ("$this == e, A($this|up On, $y), Red($y)", ""),
        ("A($this|up On, $y), Red($y)", "mid/red"),
        // The nearest that has a red one.
        ("Red($y), A($this|up On, $y)", "e/red mid/red"),
        ("$y == red, $this == e, A($this|up On, $y)", "e/red"),
    ]);
    let mut expr = world.compile("A($this|up On, $y)");
    let red = world.entity("red");
    assert_eq!(
        expr.set_var(&world.world, "y", red).unwrap().count(&world.world),
        Ok(1),
        "it only leaves rows out"
    );
}

#[test]
fn a_target_may_stand_for_what_is_above_it() {
    let mut world = Written::new(&[
        "fan (A, house)",
        "rival (A, room)",
        "room (On, house)",
        "chair (On, room)",
        "chair Red",
    ]);
    world.check(&[
        ("(A, house|up On)", "fan"),
        ("(A, room|up On)", "fan rival"),
        ("(A, chair|up On)", "fan rival"),
        ("(A, chair|up On 1)", "rival"),
        ("(A, house|down On)", "fan rival"),
        ("(A, *|up On)", "fan rival"),
        ("Red($y), (A, $y|up On)", "fan/chair rival/chair"),
        ("(A, $y|up On), Red($y)", "fan/chair rival/chair"),
    ]);
}

#[test]
fn a_cascade_goes_by_the_longest_way_and_keeps_the_order_of_tables() {
    let mut world = Written::new(&[
        "deep (On, mid) (On, top)",
        "mid (On, top)",
        "top Red",
        "other (On, top)",
        "deep Red",
    ]);
    assert_eq!(world.in_order("?Red(cascade On), (On, _)"), ["mid", "other", "deep"]);
    assert_eq!(world.in_order("?Red(cascade|desc On), (On, _)"), ["deep", "mid", "other"]);
    assert_eq!(world.in_order("Red(self|cascade On)"), ["top", "mid", "other", "deep"]);
}

#[test]
fn equality_binds_compares_and_looks_at_names() {
    let mut world = reference();
    world.check(&[
        ("$this == e3", "e3"),
        ("$x == e3, A($x, $y)", "e3/T1 e3/T2"),
        ("Tag, $this != e3", "e1 e2 e4 e5 e6"),
        ("Tag, $this == \"e3\"", "e3"),
        ("Tag, $this != \"e3\"", "e1 e2 e4 e5 e6"),
        ("Tag, $this == \"nobody\"", ""),
        ("Tag, $this ~= \"E3\"", "e3"),
        ("Tag, $this ~= \"!E3\"", "e1 e2 e4 e5 e6"),
        ("Tag, (A, $x), (A, $y), $x != $y", "e3/T1/T2 e3/T2/T1"),
        ("$x != $y, Tag, (A, $x), (A, $y)", "e3/T1/T2 e3/T2/T1"),
        ("$x == $y, (A, $x), (B, $y)", "e2/T1/T1 e3/T2/T2"),
        ("Tag2($x), $y == $x", "h1/h1"),
    ]);
    let (line, column, expected) = world.refused("Tag,\n $x == $y");
    assert_eq!((line, column, &*expected), (2, 8, "no other term says what one of these variables is"));
    assert_eq!(world.refused("Tag, $x != $y, $y == $z").1, 12);
    assert_eq!(world.refused("(A, $x), !{ $y == $z }").1, 19);
}

#[test]
fn lists_ask_for_what_an_entity_is_made_of_and_for_what_that_is_a_kind_of() {
    let mut world = Written::new(&[
        "fleet Red (A, t)",
        "navy Big (IsA, fleet)",
        "none",
        "e1 Red Big (A, t)",
        "e2 Red (A, t)",
        "e3 Big",
        "e4 (B, t)",
    ]);
    world.world.spawn(Disabled);
    let mut among = |text: &str| {
        let rows =
            world.rows(&format!("{text}, $this ~= \"e\", $this != fleet, $this != none, $this != Red"));
        rows.into_iter().filter(|name| name.starts_with('e')).collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        ("and|fleet", "e1 e2"),
        ("or|fleet", "e1 e2"),
        ("not|fleet", "e3 e4"),
        ("and|navy", "e1"),
        ("or|navy", "e1 e2 e3"),
        ("not|navy", "e4"),
        ("and|none", "e1 e2 e3 e4"),
        ("or|none", "e1 e2 e3 e4"),
        ("not|none", "e1 e2 e3 e4"),
        ("[none] and|fleet", "e1 e2"),
    ] {
        assert_eq!(among(text), expected, "{text}");
    }
}

#[test]
fn fixed_sources_give_a_row_when_they_match() {
    reference().check(&[
        ("A(e3, *)", " "),
        ("A(e3, _)", ""),
        ("Tag(e1)", ""),
        ("Tag(e1), Tag2", "h1"),
        ("Tag2, A(e6, $this)", "h1"),
    ]);
    assert!(reference().in_order("Tag(h1)").is_empty());
}

#[test]
fn constants_that_die_make_their_terms_false() {
    let mut world = reference();
    for (text, before, after) in [
        ("(A, T1)", 3, 0),
        ("Tag, !(A, T1)", 3, 6),
        ("Tag, ?(A, T1)", 6, 6),
        ("A(_, T1)", 1, 0),
        ("Tag, $this != T1", 6, 6),
    ] {
        let mut fresh = reference();
        let mut expr = fresh.compile(text);
        assert_eq!(expr.count(&fresh.world), Ok(before), "{text}");
        let target = fresh.entity("T1");
        fresh.world.despawn(target);
        assert_eq!(expr.count(&fresh.world), Ok(after), "{text}");
    }
    let mut expr = world.compile("(A, $x), ?(B, $x)");
    let relation = world.entity("A");
    world.world.despawn(relation);
    assert_eq!(expr.count(&world.world), Ok(0), "the relation is gone, and its pairs");
}
