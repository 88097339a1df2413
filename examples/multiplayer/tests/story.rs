//! Plays the story in three processes.

use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multiplayer"));
    // A role ends with its input.
    command.args(arguments).stdin(Stdio::null());
    command.output().expect("the program is built with this test")
}

#[test]
fn the_clients_have_the_world_of_the_server_after_each_step_of_the_story() {
    let output = run(&[]);
    let [said, problem] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{problem}\nafter\n{said}");
    assert!(said.ends_with("all worlds were the same after each step\n"), "{said}");
    assert!(said.contains("PartOf: boat->ship, hull->ship, mast->hull, sail->mast"), "{said}");
    assert!(said.contains("ann->? 1") && said.contains("ann->cat 1"), "{said}");
    assert!(said.contains("PartnerOf: ann-cy, ben-dee"), "{said}");
}

#[test]
fn a_mistake_on_the_command_line_is_said() {
    let output = run(&["server", "many"]);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && problem.starts_with("many is not a port\n"), "{problem}");
}
