//! Starts a server and two clients, plays the story, and compares the worlds after each step.

use crate::{process::say, server::STORY};
use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The second client joins before this step.
const JOINS_LATE: usize = 2;

/// Plays the story.
///
/// # Errors
/// Says which process has not done what, or ended.
pub(crate) fn play() -> Result<(), String> {
    let mut server = Role::start("the server", &["server", "0"])?;
    let port = server.wait_for("its port", |line| line.strip_prefix("port ").map(str::to_owned))?;
    let mut clients = vec![Role::start("the first client", &["client", &port])?];
    for (number, step) in STORY.iter().enumerate() {
        tell(step.title)?;
        if number == JOINS_LATE {
            clients.push(Role::start("the second client", &["client", &port])?);
        }
        server.send("next")?;
        let world = server.wait_for(step.title, |line| line.strip_prefix("world ").map(str::to_owned))?;
        for client in &mut clients {
            let is_same = |line: &str| (line.strip_prefix("world ") == Some(&world)).then_some(());
            client.wait_for(&world, is_same)?;
        }
        tell(&format!("  {world}"))?;
    }
    for mut role in clients.into_iter().chain([server]) {
        role.end()?;
    }
    tell("all worlds were the same after each step")
}

fn tell(line: &str) -> Result<(), String> {
    say(line).map_err(|error| error.to_string())
}

/// A process of this program in another role. It is ended when this is dropped.
struct Role {
    name: &'static str,
    process: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Role {
    fn start(name: &'static str, arguments: &[&str]) -> Result<Self, String> {
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("{name} does not start: {error}"))?;
        let (send, lines) = channel();
        if let Some(output) = process.stdout.take() {
            // It ends with the process.
            thread::spawn(move || {
                let read = BufReader::new(output).lines().map_while(Result::ok);
                read.map(|line| send.send(line)).take_while(Result::is_ok).for_each(drop);
            });
        }
        let input = process.stdin.take();
        Ok(Self { name, process, input, lines })
    }

    fn send(&mut self, line: &str) -> Result<(), String> {
        let name = self.name;
        let Some(input) = &mut self.input else { return Ok(()) };
        writeln!(input, "{line}").map_err(|error| format!("{name} has ended: {error}"))
    }

    /// Waits for a line in which `find` finds something.
    fn wait_for<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let name = self.name;
        let until = Instant::now() + PATIENCE;
        let mut last = "nothing".to_owned();
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line.starts_with("secrets ") => {
                    return Err(format!("{name} knows what only the server may know: {line}"));
                }
                Ok(line) => match find(&line) {
                    Some(found) => return Ok(found),
                    None => last = line,
                },
                Err(reason) => {
                    let how = match reason {
                        RecvTimeoutError::Timeout => "waited for in vain",
                        RecvTimeoutError::Disconnected => "has ended instead of",
                    };
                    return Err(format!("{name}, {how}:\n  {what}\nit said last:\n  {last}"));
                }
            }
        }
    }

    /// Ends it by ending its input.
    fn end(&mut self) -> Result<(), String> {
        let name = self.name;
        drop(self.input.take());
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            match self.process.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("{name} has failed: {status}")),
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(error) => return Err(format!("{name}: {error}")),
            }
        }
        Err(format!("{name} does not end"))
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
