//! Examples, built and run as a user runs them.

use serde_json::Value;
use std::{
    env,
    path::PathBuf,
    process::{Command, Output},
};

pub(crate) fn cargo(arguments: &[&str]) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).arg("--locked");
    cargo.output().expect("cargo can be run")
}

pub(crate) fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The executable of an example. A plain `cargo test` has built it before, with `--test` it has not. `.ci/run` says that it
/// has, since Cargo, started here, would build it and the library once more without the flags that they were built with.
pub(crate) fn example(name: &str) -> PathBuf {
    if env::var_os("EXAMPLES_ARE_BUILT").is_some() {
        let test = env::current_exe().expect("a test has an executable");
        let profile = test.ancestors().nth(2).expect("it lies in a folder of its profile");
        let built = profile.join("examples").join(name).with_extension(env::consts::EXE_EXTENSION);
        assert!(built.is_file(), "EXAMPLES_ARE_BUILT is set, and there is no {}", built.display());
        return built;
    }
    let built = cargo(&["build", "--offline", "--example", name, "--message-format", "json"]);
    let messages = stdout(&built);
    let messages =
        messages.lines().map(|line| serde_json::from_str::<Value>(line).expect("Cargo writes JSON"));
    let executable =
        messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    executable.expect("an example has an executable")
}
