//! A field for an expression of the query language: what it finds is marked while it is typed; a mistake in it is shown
//! below, with its place.

use crate::{
    flight::Flight,
    orders::Order,
    world::{Faction, Ship, Station},
};
use bevy::{
    ecs::entity::EntityHashSet,
    input::{
        InputSystems,
        keyboard::{Key, KeyboardInput},
    },
    prelude::*,
};
use bevy_relations::expr::{CompiledExpr, ExprError, ExprRunError, PairExpr};
use bevy_relations_scenes::{palette, panel};

/// What Tab goes through.
const EXAMPLES: [&str; 5] = [
    "Ship, (DockedTo, $station)",
    "Ship, (HostileTo, $enemy), Ship($enemy), (MemberOf, Aurelia)",
    "Ship, (MemberOf, $f), AlliedWith($f, Aurelia)",
    "Ship, Order(up Escorts), (MemberOf, Damson)",
    "Ship, (MemberOf, $f), !{(HostileTo, $enemy), Ship($enemy)}",
];

/// More than this need not be looked at in a frame.
const STEPS: u64 = 1_000_000;

/// The field and what came of it.
#[derive(Resource, Default)]
pub(crate) struct Field {
    text: String,
    /// Where the next letter goes, in bytes.
    cursor: usize,
    /// Keys are letters, and do nothing else.
    typing: bool,
    /// The number of the example that Tab gives next.
    example: usize,
    /// The text or the world has changed so much that the text may mean something else.
    stale: bool,
    compiled: Option<CompiledExpr>,
    found: EntityHashSet,
    /// What is to be said, and whether that is a complaint.
    answer: (String, bool),
}

/// Whether keys may do what they usually do.
pub(crate) fn not_typing(field: Res<Field>) -> bool {
    !field.typing
}

#[derive(Component)]
struct FieldPanel;
#[derive(Component)]
struct FieldText;
#[derive(Component)]
struct AnswerText;

pub(crate) fn plugin(app: &mut App) {
    app.add_plugins(answers).add_systems(Startup, spawn);
    app.add_systems(Update, (show, mark).chain().after(evaluate));
}

/// All but what is seen of it.
fn answers(app: &mut App) {
    app.init_resource::<Field>();
    // Names in expressions are those of reflection.
    app.register_type::<Ship>()
        .register_type::<Station>()
        .register_type::<Faction>()
        .register_type::<Order>();
    app.add_systems(PreUpdate, write.after(InputSystems)).add_systems(Update, evaluate.after(Flight));
    app.add_observer(|_: On<Add<Faction>>, mut field: ResMut<Field>| field.stale = true);
}

fn spawn(mut commands: Commands) {
    panel::wide(&mut commands, FieldPanel, |panel| {
        panel.spawn((panel::text("", 14.0, palette::BRIGHT), FieldText));
        panel.spawn((panel::text("", 12.0, palette::DIM), AnswerText));
    });
}

/// Takes letters while the field has the keys.
fn write(mut pressed: MessageReader<KeyboardInput>, mut field: ResMut<Field>) {
    for key in pressed.read().filter(|key| key.state.is_pressed()) {
        if !field.typing {
            field.typing = matches!(key.logical_key, Key::Enter | Key::Tab);
            if key.logical_key != Key::Tab {
                continue;
            }
        }
        let Field { text, cursor, typing, example, stale, .. } = &mut *field;
        let before = text[..*cursor].char_indices().next_back().map(|(at, _)| at);
        let after = text[*cursor..].chars().next().map(|letter| *cursor + letter.len_utf8());
        match &key.logical_key {
            Key::Enter | Key::Escape => *typing = false,
            Key::Tab => {
                EXAMPLES[*example].clone_into(text);
                (*cursor, *example) = (text.len(), (*example + 1) % EXAMPLES.len());
            }
            Key::Backspace => {
                if let Some(before) = before {
                    text.remove(before);
                    *cursor = before;
                }
            }
            Key::Delete if after.is_some() => _ = text.remove(*cursor),
            Key::ArrowLeft => *cursor = before.unwrap_or(0),
            Key::ArrowRight => *cursor = after.unwrap_or(text.len()),
            Key::Home => *cursor = 0,
            Key::End => *cursor = text.len(),
            _ => {
                let letters = key.text.iter().flat_map(|letters| letters.chars());
                for letter in letters.filter(|letter| !letter.is_control()) {
                    text.insert(*cursor, letter);
                    *cursor += letter.len_utf8();
                }
            }
        }
        *stale = true;
    }
}

/// Looks for what the expression says, every frame: ships move on.
fn evaluate(world: &mut World) {
    world.resource_scope(|world, mut field: Mut<Field>| {
        let Field { text, compiled, found, answer, stale, .. } = &mut *field;
        if core::mem::take(stale) {
            *compiled = None;
            match compile(text, world) {
                Ok(expr) => *compiled = expr,
                Err(error) => *answer = (error.to_string(), true),
            }
        }
        found.clear();
        match compiled {
            Some(compiled) => *answer = answer_of(run(compiled, world, found), found.len()),
            None if text.trim().is_empty() => *answer = (String::new(), false),
            None => {}
        }
    });
}

fn compile(text: &str, world: &mut World) -> Result<Option<CompiledExpr>, ExprError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let mut compiled = PairExpr::parse(text)?.compile(world)?;
    compiled.set_step_limit(Some(STEPS));
    Ok(Some(compiled))
}

/// The number of rows, and what they are about.
fn run(compiled: &mut CompiledExpr, world: &World, found: &mut EntityHashSet) -> Result<usize, ExprRunError> {
    let mut rows = 0;
    compiled.for_each(world, |row| {
        rows += 1;
        found.extend(row.this());
    })?;
    Ok(rows)
}

fn answer_of(rows: Result<usize, ExprRunError>, found: usize) -> (String, bool) {
    match rows {
        Ok(rows) => (format!("{rows} rows about {found} entities"), false),
        Err(error) => (error.to_string(), true),
    }
}

fn show(
    field: Res<Field>,
    mut panel: Single<&mut BorderColor, With<FieldPanel>>,
    mut text: Single<&mut Text, With<FieldText>>,
    answer: Single<(&mut Text, &mut TextColor), (With<AnswerText>, Without<FieldText>)>,
) {
    let (mut said, mut color) = answer.into_inner();
    panel.set_if_neq(BorderColor::all(if field.typing { palette::FOUND } else { palette::EDGE }));
    let (before, after) = field.text.split_at(field.cursor);
    let shown = match (field.typing, field.text.is_empty()) {
        (true, _) => format!("{before}|{after}"),
        (false, true) => "Enter: type an expression of the query language, Tab: examples".to_owned(),
        (false, false) => field.text.clone(),
    };
    panel::write(&mut text, shown);
    panel::write(&mut said, &field.answer.0);
    color.set_if_neq(TextColor(if field.answer.1 { palette::BAD } else { palette::FOUND }));
}

/// A ring around whatever was found.
fn mark(mut gizmos: Gizmos, field: Res<Field>, places: Query<(&Transform, Has<Station>)>) {
    for (place, is_station) in places.iter_many(&field.found).flatten() {
        let radius = if is_station { 25.0 } else { 9.0 };
        gizmos.circle_2d(place.translation.truncate(), radius, palette::FOUND).resolution(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{battle, docks, flight, orders, world};
    use bevy::time::TimeUpdateStrategy;
    use bevy_relations::prelude::*;
    use bevy_relations_scenes::{images::Images, stage::STEP};

    /// The scene without a window and without a player.
    fn scene() -> App {
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, RelationsPlugin))
            .insert_resource(TimeUpdateStrategy::ManualDuration(STEP));
        app.init_resource::<Assets<Image>>().init_resource::<Images>();
        app.init_resource::<ButtonInput<KeyCode>>().add_message::<KeyboardInput>();
        app.add_plugins((
            world::plugin,
            orders::plugin,
            battle::plugin,
            docks::plugin,
            flight::plugin,
            answers,
        ));
        app
    }

    fn press(app: &mut App, logical_key: Key) {
        let state = bevy::input::ButtonState::Pressed;
        let text = match &logical_key {
            Key::Character(text) => Some(text.clone()),
            _ => None,
        };
        let (key_code, repeat, window) = (KeyCode::Fn, false, Entity::PLACEHOLDER);
        app.world_mut().write_message(KeyboardInput { key_code, logical_key, state, text, repeat, window });
        app.update();
    }

    #[test]
    fn every_example_is_an_expression_that_finds_something_while_the_scene_goes_on() {
        let mut app = scene();
        app.update();
        let mut left: Vec<_> = EXAMPLES
            .map(|text| {
                let compiled = compile(text, app.world_mut()).unwrap_or_else(|error| panic!("{error}"));
                (text, compiled.expect("it is not empty"))
            })
            .into();
        for _ in 0..900 {
            app.update();
            left.retain_mut(|(text, compiled)| {
                let any = compiled.any(app.world());
                !any.unwrap_or_else(|error| panic!("{text}: {error}"))
            });
        }
        let left: Vec<_> = left.into_iter().map(|(text, _)| text).collect();
        assert!(left.is_empty(), "{left:#?} found nothing");
    }

    #[test]
    fn tab_goes_through_the_examples_whether_or_not_enter_came_before() {
        for first in [None, Some(Key::Enter)] {
            let mut app = scene();
            first.into_iter().for_each(|key| press(&mut app, key));
            for example in EXAMPLES.into_iter().chain([EXAMPLES[0]]) {
                press(&mut app, Key::Tab);
                let field = app.world().resource::<Field>();
                assert!(field.typing && !field.answer.1, "{}", field.answer.0);
                assert_eq!((&*field.text, field.cursor), (example, example.len()));
            }
            press(&mut app, Key::Character("!".into()));
            assert_eq!(app.world().resource::<Field>().text, format!("{}!", EXAMPLES[0]));
        }
    }
}
