//! Opening a browser.

use std::{
    env,
    process::{Command, Stdio},
};

/// Opens a browser, if there is a program that does. The address is printed in any case.
pub fn open_browser(address: &str) {
    let (program, before): (_, &[&str]) = match env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
