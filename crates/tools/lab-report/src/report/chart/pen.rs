//! Writes SVG: shapes as they are, texts in one language or in both. Knows no axis.

use std::fmt::{Arguments, Write as _};

use super::super::{Language, Spoken};

pub(super) struct Pen<'a> {
    out: String,
    /// Nothing if the page that shows the picture chooses the language; otherwise the language, and the style.
    pub(super) alone: Option<(Language, &'a str)>,
}

impl<'a> Pen<'a> {
    pub(super) const fn new(alone: Option<(Language, &'a str)>) -> Self {
        Self { out: String::new(), alone }
    }

    pub(super) fn put(&mut self, what: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(what);
    }

    /// A text in the languages that are shown, each with its class.
    pub(super) fn shown<'t>(&self, text: &'t Spoken) -> Vec<(&'static str, &'t str)> {
        text.shown(self.alone.map(|(language, _)| language))
    }

    pub(super) fn say(&mut self, text: &Spoken, (x, y): (f64, f64), class: &str, anchor: &'static str) {
        for (language, text) in self.shown(text) {
            let (direction, anchor) = direction(text, anchor);
            let text = escaped(text);
            self.put(format_args!(
                "<text class=\"{class} {language}\" x=\"{x:.1}\" y=\"{y:.1}\"{direction} text-anchor=\"{anchor}\">{text}</text>"
            ));
        }
    }

    pub(super) fn drawn(self) -> String {
        self.out
    }
}

/// The direction of a text, and the anchor that keeps it on the same side of its place: from right to left a text starts at
/// its right end.
fn direction(text: &str, anchor: &'static str) -> (&'static str, &'static str) {
    let is_arabic = text.chars().any(|letter| ('\u{600}'..'\u{700}').contains(&letter));
    match (is_arabic, anchor) {
        (false, _) => ("", anchor),
        (true, "start") => (" direction=\"rtl\"", "end"),
        (true, "end") => (" direction=\"rtl\"", "start"),
        (true, _) => (" direction=\"rtl\"", anchor),
    }
}

/// What may not stand in XML as it is.
pub(in super::super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
