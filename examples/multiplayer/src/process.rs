//! A role as a process: what comes in is read line by line on a thread, and the process ends with it.

use bevy::prelude::*;
use std::{
    io::{self, BufRead, Write},
    sync::{
        Mutex,
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
};

/// Lines that were read and not looked at yet. What they say is no matter.
#[derive(Resource)]
pub(crate) struct Input(Mutex<Receiver<String>>);

/// A state of the input.
pub(crate) enum Line {
    /// There is one.
    Read,
    /// There is none for now.
    None,
    /// It is over.
    End,
}

impl Input {
    /// Reads from now on.
    pub(crate) fn start() -> Self {
        let (lines, input) = channel();
        thread::spawn(move || {
            let read = io::stdin().lock().lines().map_while(Result::ok);
            // If nothing takes them any more, the process is about to end.
            read.map(|line| lines.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Self(Mutex::new(input))
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Line {
        let input = self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        match input.try_recv() {
            Ok(_) => Line::Read,
            Err(TryRecvError::Empty) => Line::None,
            Err(TryRecvError::Disconnected) => Line::End,
        }
    }
}

/// Prints a line at once.
///
/// # Errors
/// If nothing reads it.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
