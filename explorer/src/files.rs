//! The files of the page, which are part of the program.

/// A file of the page.
#[derive(Debug)]
pub(crate) struct File {
    path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! files {
    ($($name:literal: $content_type:expr),* $(,)?) => {
        &[$(File {
            path: concat!("/", $name),
            content_type: $content_type,
            text: include_str!(concat!("../page/", $name)),
        }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JS: &str = "text/javascript; charset=utf-8";

const FILES: &[File] = files! {
    "index.html": HTML,
    "style.css": CSS,
    "icon.svg": SVG,
    "app.js": JS,
    "complete.js": JS,
    "details.js": JS,
    "dom.js": JS,
    "editor.js": JS,
    "graph.js": JS,
    "insertion.js": JS,
    "pairs.js": JS,
    "plan.js": JS,
    "query.js": JS,
    "rpc.js": JS,
    "statistics.js": JS,
    "tree.js": JS,
    "cytoscape.min.js": JS,
};

/// The file at a path.
pub(crate) fn find(path: &str) -> Option<&'static File> {
    let path = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_loads_is_there() {
        assert!(find("/").is_some() && find("/missing.js").is_none() && find("/../Cargo.toml").is_none());
        for file in FILES.iter().filter(|file| !file.path.ends_with(".min.js")) {
            for (before, after) in [("from \"./", "\""), ("src=\"", "\""), ("href=\"", "\"")] {
                for found in file.text.split(before).skip(1) {
                    let name = found.split(after).next().unwrap_or_default();
                    assert!(find(&format!("/{name}")).is_some(), "{} loads {name}", file.path);
                }
            }
        }
    }
}
