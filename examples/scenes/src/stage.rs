//! The window of a scene, and how a scene is run and photographed.
//!
//! Two cameras draw it: what lies behind, such as lines between things, and then the things themselves. Bevy
//! draws gizmos above everything else that a camera sees.

use crate::{
    arguments::{Arguments, USAGE},
    explore::explore,
    film::{self, Film},
    images::Images,
    palette,
    play::{Play, perform},
    pointer::{Pointer, follow_mouse},
};
use bevy::{
    camera::{ScalingMode, visibility::RenderLayers},
    diagnostic::FrameCount,
    gizmos::config::{GizmoConfig, GizmoConfigGroup, GizmoLineConfig, GizmoLineJoint},
    input::InputSystems,
    log::LogPlugin,
    prelude::*,
    render::{
        RenderPlugin,
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    time::TimeUpdateStrategy,
    window::{PresentMode, WindowResolution},
};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use std::{
    env,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

/// How much of the world is to be seen, at least; and the size of pictures in pixels.
pub const SIZE: UVec2 = uvec2(1200, 720);
/// The length of a frame where frames are counted.
pub const STEP: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Frames that are drawn before the one in the picture, for what takes a while to show, such as text. Those
/// before them are not drawn: without a graphics card that takes most of the time.
const WARMUP: u32 = 8;

/// The layer of what lies behind.
pub const BEHIND: RenderLayers = RenderLayers::layer(1);

/// Lines that lie behind everything.
#[derive(Default, Reflect, GizmoConfigGroup)]
pub struct Behind;

/// The camera that sees the things.
#[derive(Component)]
pub struct Foreground;

/// When to stop, and what to leave behind.
#[derive(Resource)]
struct Run {
    frames: u32,
    screenshot: Option<PathBuf>,
}

/// An app with a window, and what the command line asks for. Ends the program if that is help, or makes no sense.
pub fn stage(title: &str) -> App {
    let (arguments, play) = match command_line() {
        Ok(Some(found)) => found,
        // Whether anything reads it is of no concern here.
        Ok(None) => {
            let _ = writeln!(io::stdout(), "{title}\n\n{USAGE}");
            process::exit(0)
        }
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}\n\n{USAGE}");
            process::exit(2)
        }
    };

    let mut app = App::new();
    app.add_plugins(plugins(title, arguments.frames.is_some()));
    app.insert_resource(ClearColor(palette::NIGHT));
    app.init_resource::<Images>().init_resource::<Pointer>();
    app.insert_gizmo_config(DefaultGizmoConfigGroup, lines(1.5, RenderLayers::default()));
    app.insert_gizmo_config(Behind, lines(1.5, BEHIND));
    app.add_systems(Startup, spawn_cameras).add_systems(PreUpdate, scale_panels);
    if arguments.explore {
        explore(&mut app);
    }
    if let Some(play) = play {
        app.insert_resource(play).add_systems(PreUpdate, perform.before(InputSystems));
    }
    // A mouse that happens to lie there is no part of a counted run.
    if arguments.frames.is_none() {
        app.add_systems(PreUpdate, follow_mouse.after(InputSystems));
    }
    if let Some(frames) = arguments.frames {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(STEP));
        if let Some(file) = arguments.film {
            app.insert_resource(Film::new(file, frames));
            app.add_systems(PostUpdate, (film::end, film::shoot).chain());
        } else {
            app.insert_resource(Run { frames, screenshot: arguments.screenshot });
            app.add_systems(PreUpdate, draw_the_end).add_systems(PostUpdate, end);
        }
    }
    app
}

/// What the command line asks for. `None` if it is help.
fn command_line() -> Result<Option<(Arguments, Option<Play>)>, String> {
    let Some(arguments) = Arguments::read(env::args_os().skip(1))? else { return Ok(None) };
    let play = arguments.play.as_deref().map(Play::load).transpose().map_err(|error| error.to_string())?;
    Ok(Some((arguments, play)))
}

fn plugins(title: &str, counted: bool) -> bevy::app::PluginGroupBuilder {
    let size = WindowResolution::new(SIZE.x, SIZE.y);
    let window = Window {
        title: title.to_owned(),
        // Pictures have the same size on every screen, and nobody waits for one to refresh.
        resolution: if counted { size.with_scale_factor_override(1.0) } else { size },
        present_mode: if counted { PresentMode::AutoNoVsync } else { PresentMode::AutoVsync },
        resizable: !counted,
        ..default()
    };
    // Without this the first pictures would lack what is still being compiled.
    let render = RenderPlugin { synchronous_pipeline_compilation: counted, ..default() };
    let log = LogPlugin { filter: "warn,wgpu_hal=error".to_owned(), ..default() };
    DefaultPlugins.set(WindowPlugin { primary_window: Some(window), ..default() }).set(render).set(log)
}

fn lines(width: f32, render_layers: RenderLayers) -> GizmoConfig {
    let line = GizmoLineConfig { width, joints: GizmoLineJoint::Bevel, ..default() };
    GizmoConfig { line, render_layers, ..default() }
}

fn spawn_cameras(mut commands: Commands) {
    let projection = Projection::Orthographic(OrthographicProjection {
        scaling_mode: ScalingMode::AutoMin { min_width: SIZE.x as f32, min_height: SIZE.y as f32 },
        ..OrthographicProjection::default_2d()
    });
    let behind = Camera { order: 0, ..default() };
    commands.spawn((Camera2d, behind, projection.clone(), BEHIND));
    let front = Camera { order: 1, clear_color: ClearColorConfig::None, ..default() };
    commands.spawn((Camera2d, front, projection, Foreground, IsDefaultUiCamera));
}

/// Scales panels with the world, so that they cover no more of it in a smaller window.
fn scale_panels(window: Single<&Window>, mut scale: ResMut<UiScale>) {
    let fits = (window.size() / SIZE.as_vec2()).min_element();
    // A window that is minimized has no size.
    let fits = fits.max(0.1);
    if scale.0 != fits {
        scale.0 = fits;
    }
}

/// Leaves out drawing what will not be in the picture.
fn draw_the_end(run: Res<Run>, frame: Res<FrameCount>, mut cameras: Query<&mut Camera>) {
    let drawn = run.screenshot.is_none() || frame.0 + WARMUP >= run.frames;
    for mut camera in &mut cameras {
        if camera.is_active != drawn {
            camera.is_active = drawn;
        }
    }
}

/// Ends the run after its last frame, with a picture of that if one is wanted.
fn end(mut commands: Commands, run: Res<Run>, frame: Res<FrameCount>, mut exit: MessageWriter<AppExit>) {
    if frame.0 + 1 != run.frames {
        return;
    }
    if run.screenshot.is_some() {
        commands.spawn(Screenshot::primary_window()).observe(save);
    } else {
        exit.write(AppExit::Success);
    }
}

fn save(picture: On<ScreenshotCaptured>, run: Res<Run>, mut exit: MessageWriter<AppExit>) {
    let Some(file) = &run.screenshot else { return };
    exit.write(match write(&picture.image, file) {
        Ok(()) => AppExit::Success,
        Err(problem) => {
            error!("{}: {problem}", file.display());
            AppExit::error()
        }
    });
}

/// Writes a picture, small rather than fast.
fn write(picture: &Image, file: &Path) -> Result {
    // Opacity says nothing in a picture of a window.
    let mut pixels = picture.clone().try_into_dynamic()?.into_rgb8();
    // Glows need half as many shades as there are, and the file is a fifth smaller.
    pixels.iter_mut().for_each(|part| *part = part.saturating_add(1) & !1);
    let file = BufWriter::new(File::create(file)?);
    Ok(pixels.write_with_encoder(PngEncoder::new_with_quality(
        file,
        CompressionType::Best,
        FilterType::NoFilter,
    ))?)
}
