//! What the scenes say about their command line, without a display.

use crate::common::command;
use std::process::{Output, Stdio};

const SCENES: [&str; 2] = ["solar_system", "factions"];

fn run(scene: &str, arguments: &[&str]) -> Output {
    command(scene).args(arguments).output().expect("the scene is built with this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_is_printed_when_asked_for() {
    for scene in SCENES {
        for arguments in [&["--help"][..], &["-h"], &["--frames", "5", "--help"]] {
            let output = run(scene, arguments);
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert!(text(&output.stdout).contains("\nUsage: cargo scene NAME -- [OPTIONS]\n"));
        }
    }
}

#[test]
fn a_mistake_is_named_with_the_usage() {
    for scene in SCENES {
        for (arguments, problem) in [
            (&["--loud"][..], "--loud is not an option\n"),
            (&["--frames", "many"], "many is not a number of frames\n"),
            (&["--screenshot", "now.png"], "--screenshot needs --frames\n"),
            (&["--film", "now.gif"], "--film needs --frames\n"),
            (&["--play", "no such file"], "no such file: "),
        ] {
            let output = run(scene, arguments);
            assert_eq!(output.status.code(), Some(2));
            let said = text(&output.stderr);
            assert!(said.starts_with(problem) && said.contains("\nUsage: cargo scene"), "{said}");
        }
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_is_a_mistake_and_no_panic() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let argument = OsStr::from_bytes(b"\xFF");
    for scene in SCENES {
        for before in [&[][..], &["--frames"], &["--play"], &["--screenshot"]] {
            let output = command(scene).args(before).arg(argument).output().expect("the scene is built");
            assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
            assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    for scene in SCENES {
        for (argument, code) in [("--help", 0), ("--loud", 2)] {
            let pipes = command(scene).arg(argument).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let mut pipes = pipes.expect("the scene is built with this test");
            drop((pipes.stdout.take(), pipes.stderr.take()));
            assert_eq!(pipes.wait().expect("it ends").code(), Some(code));
        }
    }
}
