//! The command line of a scene.

use std::{ffi::OsString, path::PathBuf};

/// How to run any scene.
pub const USAGE: &str = "\
Usage: cargo scene NAME -- [OPTIONS]

  --frames N           run N frames of 1/60 s each, whatever the clock says, then exit
  --screenshot FILE    save the last of these frames as a PNG (needs --frames)
  --film FILE          save these frames as an animated GIF of half the size (needs --frames)
  --play FILE          take keys and mouse from a file, see assets/plays
  --explore            answer tools and open the explorer (needs the feature `explore`)
  --help               print this";

/// What the command line asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Exit after so many frames of fixed length.
    pub frames: Option<u32>,
    /// Save the last frame here.
    pub screenshot: Option<PathBuf>,
    /// Save an animation of all frames here.
    pub film: Option<PathBuf>,
    /// Take input from here.
    pub play: Option<PathBuf>,
    /// Open the explorer.
    pub explore: bool,
}

impl Arguments {
    /// Reads the arguments that follow the program's name. `None` if it is help that is asked for.
    ///
    /// # Errors
    /// Says what is wrong, in a sentence.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Self>, String> {
        let mut read = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(option) = arguments.next() {
            let option = option.to_string_lossy().into_owned();
            let mut value = || arguments.next().ok_or_else(|| format!("{option} needs a value"));
            match option.as_str() {
                "--help" | "-h" => return Ok(None),
                "--frames" => {
                    let number = value()?.to_string_lossy().into_owned();
                    let frames = number.parse().ok().filter(|&frames| frames > 0);
                    read.frames = Some(frames.ok_or_else(|| format!("{number} is not a number of frames"))?);
                }
                "--screenshot" => read.screenshot = Some(value()?.into()),
                "--film" => read.film = Some(value()?.into()),
                "--explore" => read.explore = true,
                "--play" => read.play = Some(value()?.into()),
                _ => return Err(format!("{option} is not an option")),
            }
        }
        if read.frames.is_none() {
            if read.screenshot.is_some() {
                return Err("--screenshot needs --frames".to_owned());
            }
            if read.film.is_some() {
                return Err("--film needs --frames".to_owned());
            }
        }
        if read.screenshot.is_some() && read.film.is_some() {
            return Err("--film and --screenshot do not go together".to_owned());
        }
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::read(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn every_option_is_read() {
        let wanted = Arguments {
            frames: Some(90),
            screenshot: Some("a.png".into()),
            play: Some("b.play".into()),
            ..Arguments::default()
        };
        assert_eq!(read("--frames 90 --screenshot a.png --play b.play"), Ok(Some(wanted)));
        let film = Arguments { frames: Some(90), film: Some("a.gif".into()), ..Arguments::default() };
        assert_eq!(read("--film a.gif --frames 90"), Ok(Some(film)));
        let explored = Arguments { explore: true, ..Arguments::default() };
        assert_eq!(read("--explore"), Ok(Some(explored)));
        assert_eq!(read(""), Ok(Some(Arguments::default())));
        assert_eq!(read("--help"), Ok(None));
        assert_eq!(read("--frames 90 -h"), Ok(None));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(read("--frames"), Err("--frames needs a value".to_owned()));
        assert_eq!(read("--frames 0"), Err("0 is not a number of frames".to_owned()));
        assert_eq!(read("--frames ten"), Err("ten is not a number of frames".to_owned()));
        assert_eq!(read("--loud"), Err("--loud is not an option".to_owned()));
        assert_eq!(read("--screenshot a.png"), Err("--screenshot needs --frames".to_owned()));
        assert_eq!(read("--film a.gif"), Err("--film needs --frames".to_owned()));
        let both = Err("--film and --screenshot do not go together".to_owned());
        assert_eq!(read("--film a.gif --frames 9 --screenshot a.png"), both);
    }
}
