//! What writes SVG: shapes as they are, texts in one language or in both. Knows no axis.

use std::fmt::{Arguments, Write as _};

use super::super::{Language, Spoken};

pub(super) struct Pen<'a> {
    out: String,
    /// Nothing where whoever shows the picture chooses the language; else that, and the style.
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

    pub(super) fn say(&mut self, text: &Spoken, (x, y): (f64, f64), class: &str, anchor: &str) {
        for (language, text) in self.shown(text) {
            let text = escaped(text);
            self.put(format_args!(
                "<text class=\"{class} {language}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
            ));
        }
    }

    pub(super) fn drawn(self) -> String {
        self.out
    }
}

/// What may not stand in XML as it is.
pub(in super::super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
