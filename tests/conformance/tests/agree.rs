//! The program, with fewer cases than by hand.

use std::process::Command;

fn assert_agrees(subject: &str, cases: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_bevy_relations_conformance"))
        .args([subject, "--cases", cases])
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn random_expressions_have_the_rows_that_flecs_finds() {
    assert_agrees("queries", "1000");
}

#[test]
fn random_histories_end_as_in_flecs() {
    assert_agrees("histories", "300");
}
