//! Scene files with pairs of every kind.

mod again;
mod common;
mod hostile;
mod round_trip;
mod runtime;
#[path = "../../examples/scene_file.rs"]
mod scene_file;
mod wrong;

#[test]
fn the_example_runs() {
    scene_file::main().unwrap();
}
