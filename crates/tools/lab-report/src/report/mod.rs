//! The report: one self-contained HTML page in both languages, and Markdown with SVG for documents, one a language.
//!
//! Ratios to the peers of the same run stand first; published figures stand beside, as of their time and machines; what
//! was left out or failed is marked as such. Nothing is fetched from a network.
//!
//! Knows runs and described experiments, and not how either was made.

mod chart;
mod html;
mod markdown;
mod picture;
mod summary;
mod verdict;
mod words;

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::describe::{Catalogue, Text};
use crate::record::Run;

/// What the page and the pictures look like.
const STYLE: &str = include_str!("style.css");
/// What chooses the page's language.
const SCRIPT: &str = include_str!("page.js");

/// A language of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    English,
    Arabic,
}

impl Language {
    const ALL: [Self; 2] = [Self::English, Self::Arabic];

    /// Its tag, which is also the class of its texts.
    const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Arabic => "ar",
        }
    }

    const fn direction(self) -> &'static str {
        match self {
            Self::English => "ltr",
            Self::Arabic => "rtl",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// A text in both languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spoken {
    en: String,
    ar: String,
}

impl Spoken {
    /// As a reader of each sees a name.
    fn name(text: &str) -> Self {
        Self { en: words::name(text, Language::English), ar: words::name(text, Language::Arabic) }
    }

    fn of(&self, language: Language) -> &str {
        match language {
            Language::English => &self.en,
            Language::Arabic => &self.ar,
        }
    }

    /// In one language, or in both if they differ; each with its class.
    fn shown(&self, only: Option<Language>) -> Vec<(&'static str, &str)> {
        match only {
            Some(language) => vec![("", self.of(language))],
            None if self.en == self.ar => vec![("", &self.en)],
            None => Language::ALL.map(|language| (language.tag(), self.of(language))).to_vec(),
        }
    }
}

impl From<Text> for Spoken {
    fn from(text: Text) -> Self {
        Self { en: text.en.to_owned(), ar: text.ar.to_owned() }
    }
}

impl From<words::Word> for Spoken {
    fn from(word: words::Word) -> Self {
        Self { en: word.0.to_owned(), ar: word.1.to_owned() }
    }
}

/// How a reader of Arabic sees the name of a figure, a series, a place or a system; the name itself if it has no other.
#[must_use]
pub fn arabic(text: &str) -> String {
    words::name(text, Language::Arabic)
}

/// Writes `report.html`, `report.md`, `report.ar.md` and the pictures of the latter two into the run's folder; gives the
/// files that a reader opens.
///
/// # Errors
/// They cannot be written.
pub fn write(run: &Run, catalogue: &Catalogue) -> io::Result<Vec<PathBuf>> {
    let page = run.folder().join("report.html");
    fs::write(&page, html::page(run, catalogue))?;
    let mut files = vec![page];
    let pictures = run.folder().join("figures");
    fs::create_dir_all(&pictures)?;
    for language in Language::ALL {
        let (text, figures) = markdown::document(run, catalogue, language);
        for (name, svg) in figures {
            fs::write(pictures.join(name), svg)?;
        }
        let name = match language {
            Language::English => "report.md",
            Language::Arabic => "report.ar.md",
        };
        let file = run.folder().join(name);
        fs::write(&file, text)?;
        files.push(file);
    }
    Ok(files)
}
