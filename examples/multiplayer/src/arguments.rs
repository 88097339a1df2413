//! The command line.

/// How to run this.
pub(crate) const USAGE: &str = "\
Usage: cargo multiplayer [ROLE]

  (no role)      play a story on a server with two clients, all processes of this machine, and compare the worlds
  server PORT    a server; each line of its input is the next step of the story. Port 0: one that is free
  client PORT    a client of the server that has this port on this machine

A server and a client end with their input.";

/// What this process is.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Arguments {
    /// Starts the others.
    Demo,
    /// Has the world.
    Server {
        /// Where it listens.
        port: u16,
    },
    /// Has a copy of it.
    Client {
        /// Where the server listens.
        port: u16,
    },
    /// Says how to run this.
    Help,
}

impl Arguments {
    /// Reads the arguments that follow the program's name.
    ///
    /// # Errors
    /// Says what is wrong, in a sentence.
    pub(crate) fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments.into_iter().collect();
        let port = |text: &str| text.parse::<u16>().map_err(|_| format!("{text} is not a port"));
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Ok(Self::Demo),
            ["--help" | "-h"] => Ok(Self::Help),
            ["server", text] => Ok(Self::Server { port: port(text)? }),
            ["client", text] => Ok(Self::Client { port: port(text)? }),
            ["server" | "client"] => Err(format!("{} needs a port", arguments[0])),
            _ => Err(format!("{} is not a role", arguments.join(" "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_role_is_read() {
        assert_eq!(read(""), Ok(Arguments::Demo));
        assert_eq!(read("server 0"), Ok(Arguments::Server { port: 0 }));
        assert_eq!(read("client 5000"), Ok(Arguments::Client { port: 5000 }));
        assert_eq!(read("--help"), Ok(Arguments::Help));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(read("server"), Err("server needs a port".to_owned()));
        assert_eq!(read("client 70000"), Err("70000 is not a port".to_owned()));
        assert_eq!(read("guest 1"), Err("guest 1 is not a role".to_owned()));
    }
}
