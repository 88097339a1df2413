//! The command line.

use std::{
    ffi::OsString,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// How to run the explorer.
pub const USAGE: &str = "\
Usage: explorer [OPTIONS] [APP]

  APP              where the app listens: a port, or an address and a port [127.0.0.1:15702]
  --listen AT      where the page is served: a port of this machine, or an address and a port [127.0.0.1:15780]
  --no-browser     do not open a browser
  --help           print this";

const APP_PORT: u16 = 15702;
const PAGE_PORT: u16 = 15780;

/// The options of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// Where the app listens.
    pub app: SocketAddr,
    /// Where the page is served.
    pub listen: SocketAddr,
    /// Whether to open a browser.
    pub browser: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self { app: at(APP_PORT), listen: at(PAGE_PORT), browser: true }
    }
}

impl Arguments {
    /// Reads the arguments that follow the program's name. `None` for `--help`.
    ///
    /// ```
    /// # use bevy_relations_explorer::Arguments;
    /// let arguments = Arguments::read(["--no-browser", "15700"].map(Into::into))?.expect("no `--help`");
    /// assert!(!arguments.browser && arguments.app.port() == 15700);
    /// assert_eq!(Arguments::read(["--help".into()]), Ok(None));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// Says what is wrong, in a sentence.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut read = Self::default();
        let mut arguments = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned());
        let mut app = None;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--no-browser" => read.browser = false,
                "--listen" => {
                    read.listen = address(&arguments.next().ok_or("--listen needs a value")?)?;
                }
                option if option.starts_with('-') => return Err(format!("{option} is not an option")),
                _ if app.is_some() => return Err(format!("there is one app, {argument} is too much")),
                _ => app = Some(address(&argument)?),
            }
        }
        read.app = app.unwrap_or(read.app);
        Ok(Some(read))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let wrong = || format!("{text} is not a port, nor an address and a port such as 127.0.0.1:{APP_PORT}");
    let local = || {
        let port = text.strip_prefix("localhost:")?.parse().ok()?;
        Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    };
    port.ok().or_else(|| text.parse().ok()).or_else(local).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_page_is_for_this_machine_unless_asked_otherwise() {
        let read = |line| read(line).unwrap().unwrap();
        let plain = read("");
        assert_eq!(plain.app.to_string(), "127.0.0.1:15702");
        assert!(plain.listen.ip().is_loopback() && plain.browser);
        assert!(read("--listen 80").listen.ip().is_loopback());
        assert_eq!(read("--listen 0.0.0.0:80").listen.to_string(), "0.0.0.0:80");
        let other = read("--no-browser [::1]:99");
        assert!(!other.browser);
        assert_eq!(other.app.to_string(), "[::1]:99");
        assert_eq!(read("localhost:7").app.to_string(), "127.0.0.1:7");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(read("--help"), Ok(None));
        assert_eq!(read("--listen"), Err("--listen needs a value".to_owned()));
        assert_eq!(read("--loud"), Err("--loud is not an option".to_owned()));
        assert_eq!(read("1 2"), Err("there is one app, 2 is too much".to_owned()));
        assert!(read("example.org:80").unwrap_err().starts_with("example.org:80 is not a port"));
        assert!(read("70000").unwrap_err().starts_with("70000 is not a port"));
    }
}
