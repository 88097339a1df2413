//! Opens the explorer on a running app.
//!
//! ```sh
//! cargo explore              # a small world with it
//! cargo run -p bevy_relations_explorer -- 15702
//! ```

use bevy_relations_explorer::{Arguments, Server, USAGE, open_browser};
use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

fn main() -> ExitCode {
    let arguments = match Arguments::read(env::args_os().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            // Whether anything reads it is of no concern here.
            let _ = writeln!(io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let server = match Server::bind(arguments.listen, arguments.app) {
        Ok(server) => server,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "cannot listen at {}: {problem}", arguments.listen);
            return ExitCode::FAILURE;
        }
    };
    let address = server.url();
    let _ = writeln!(io::stdout(), "explorer of the app at {}: {address}", arguments.app);
    if arguments.browser {
        open_browser(&address);
    }
    match server.run() {
        Ok(never) => match never {},
        Err(problem) => {
            let _ = writeln!(io::stderr(), "cannot listen: {problem}");
            ExitCode::FAILURE
        }
    }
}
