//! As much of SVG as the plots need.

use std::fmt::{Display, Write};

/// What every picture knows: colours that can be read on white and on black, and text that follows the theme where
/// the viewer tells it.
const STYLE: &str = "\
    text { font: 12px system-ui, sans-serif; fill: #6e7781; }\n\
    .title { font-weight: 600; fill: #6e7781; }\n\
    .grid { stroke: #8c959f; stroke-opacity: 0.3; }\n\
    .spread { stroke-opacity: 0.5; stroke-width: 4; }\n\
    .leader { stroke-opacity: 0.4; }\n\
    .curve { fill: none; stroke-width: 2; }\n\
    .ours { stroke: #2f81f7; } .ours.dot, .ours.label { fill: #2f81f7; stroke: none; }\n\
    .flecs { stroke: #d9682b; } .flecs.dot, .flecs.label { fill: #d9682b; stroke: none; }\n\
    .bevy { stroke: #2a9d5c; } .bevy.dot, .bevy.label { fill: #2a9d5c; stroke: none; }\n\
    .hand { stroke: #8c7ae6; } .hand.dot, .hand.label { fill: #8c7ae6; stroke: none; }\n\
    @media (prefers-color-scheme: dark) { text { fill: #9198a1; } .title { fill: #e6edf3; } }\n\
    @media (prefers-color-scheme: light) { text { fill: #57606a; } .title { fill: #24292f; } }\n";

/// Where the text is that is written at a point.
#[derive(Clone, Copy)]
pub(super) enum Side {
    /// It ends there.
    Left,
    /// Half of it is on either side.
    Middle,
    /// It begins there.
    Right,
}

/// A picture in the making.
pub(super) struct Svg {
    body: String,
    size: (f64, f64),
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { body: String::new(), size: (width, height) }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    /// A line through points; `dashes` distinguishes it from others of the same colour.
    pub(super) fn curve(&mut self, class: &str, dashes: &str, points: &[(f64, f64)]) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.element(format_args!(
            r#"<polyline class="curve {class}" stroke-dasharray="{dashes}" points="{points}"/>"#
        ));
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64)) {
        self.element(format_args!(r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="3.5"/>"#));
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), side: Side, text: &str) {
        let anchor = match side {
            Side::Left => "end",
            Side::Middle => "middle",
            Side::Right => "start",
        };
        let text = escaped(text);
        self.element(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    fn element(&mut self, element: impl Display) {
        writeln!(self.body, "{element}").expect("writing to a string cannot fail");
    }

    /// The whole picture, with a title for screen readers.
    pub(super) fn finish(self, title: &str) -> String {
        let (width, height) = self.size;
        let title = escaped(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n{}</svg>\n",
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What is wrong with the text as XML: elements closed in order, attributes quoted, nothing left to escape.
    pub(in crate::report) fn fault(text: &str) -> Option<String> {
        let mut open = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            let (before, tag) = rest.split_at(start);
            if before.contains('>') || before.replace("&amp;", "").replace("&lt;", "").contains("& ") {
                return Some(format!("not escaped: {before}"));
            }
            let Some(end) = tag.find('>') else { return Some(format!("not closed: {tag}")) };
            let inner = &tag[1..end];
            if inner.matches('"').count() % 2 == 1 || inner.contains('<') {
                return Some(format!("not quoted: {inner}"));
            }
            let name = inner.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default();
            if inner.starts_with('/') {
                let last = open.pop();
                if last != Some(name) {
                    return Some(format!("{last:?} closed by {name}"));
                }
            } else if !inner.ends_with('/') {
                open.push(name);
            }
            rest = &tag[end + 1..];
        }
        (!open.is_empty()).then(|| format!("still open: {open:?}"))
    }

    #[test]
    fn a_picture_is_well_formed_whatever_is_written_in_it() {
        let mut svg = Svg::new(100.0, 50.0);
        svg.line("grid", (0.0, 0.0), (100.0, 50.0));
        svg.curve("ours", "", &[(0.0, 1.0), (2.0, 3.0)]);
        svg.dot("ours", (2.0, 3.0));
        svg.text("title", (5.0, 5.0), Side::Middle, "a < b & \"c\" > d");
        let text = svg.finish("<all>");
        assert_eq!(fault(&text), None, "{text}");
        assert!(text.contains("a &lt; b &amp; &quot;c&quot; &gt; d"));
    }

    #[test]
    fn the_check_of_form_finds_faults() {
        for bad in ["<a><b></a></b>", "<a", "<a b=\"></a>", "<a>", "x > y<a/>"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
        assert_eq!(fault("<a><b c=\"d\"/></a>"), None);
    }
}
