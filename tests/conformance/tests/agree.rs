//! The program, with fewer cases than by hand.

use std::process::Command;

fn assert_succeeds(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_bevy_relations_conformance"))
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn random_expressions_have_the_rows_that_flecs_finds_or_a_rule_says_why_not() {
    assert_succeeds(&["queries", "--cases", "2000"]);
}

#[test]
fn every_rule_has_a_small_expression_that_flecs_answers_as_listed() {
    assert_succeeds(&["golden"]);
}

#[test]
fn each_side_accepts_and_refuses_the_texts_that_are_listed() {
    assert_succeeds(&["texts"]);
}

#[test]
fn random_histories_end_as_in_flecs() {
    assert_succeeds(&["histories", "--cases", "300"]);
}

#[test]
fn random_prefabs_and_instances_are_as_in_flecs() {
    assert_succeeds(&["prefabs", "--cases", "500"]);
}

#[test]
fn each_rule_of_prefabs_is_as_in_flecs_or_listed_with_a_reason() {
    assert_succeeds(&["prefab-cases"]);
}
