//! What no file of the project may say: where some machine keeps its files, which hosts its registries
//! are, and that work was left for later. Also names files that grew too long (a note, not a failure).

use std::path::Path;

use anyhow::bail;

use super::Verdict;
use crate::workspace::Workspace;

/// Beyond this a file is a candidate for being split.
const LINES_MAX: usize = 900;

const SOURCES: &[&str] = &["rs", "py", "java", "go", "js", "mjs", "ts", "c", "h", "sh"];

/// Written in two halves, so that this file passes its own gate.
const HOMES: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("C:\\", "Users")];

const REGISTRIES: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("yarnpkg", ".com"),
    concat!("proxy.", "golang.org"),
    concat!("sum.", "golang.org"),
    concat!("maven", ".org"),
    concat!("repo.", "maven.apache.org"),
    concat!("deb.", "debian.org"),
    concat!("arti", "factory"),
];

/// Stubs and switched-off tests, in Rust sources.
const LEFT_FOR_LATER: &[&str] =
    &[concat!("to", "do!"), concat!("unimple", "mented!"), concat!("#[ig", "nore")];

/// Documents for every reader, and how many lines each may have.
const DOCUMENTS: &[(&str, usize)] = &[("README.md", 119), ("ARCHITECTURE.md", 249)];

pub(crate) fn run(workspace: &Workspace) -> Verdict {
    let checkout = workspace.root.to_string_lossy().into_owned();
    let (mut wrongs, mut notes) = (Vec::new(), Vec::new());
    for path in workspace.tracked()? {
        // A file that git still lists but that was just deleted has nothing to say.
        let Ok(bytes) = std::fs::read(workspace.root.join(&path)) else { continue };
        let Ok(text) = String::from_utf8(bytes) else { continue };
        wrongs.extend(wrong_lines(&path, &text, &checkout));
        let length = text.lines().count();
        let limit = DOCUMENTS.iter().find(|(document, _)| *document == path);
        wrongs.extend(limit.filter(|(_, most)| length > *most).map(|(_, most)| {
            format!("{path}: {length} lines, and its readers were promised at most {most}")
        }));
        if length > LINES_MAX && is_source(&path) {
            notes.push(format!("{path}: {length} lines, more than {LINES_MAX}"));
        }
    }
    if wrongs.is_empty() {
        return Ok(notes.join("\n"));
    }
    wrongs.extend(notes);
    bail!("{}", wrongs.join("\n"))
}

fn extension(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

fn is_source(path: &str) -> bool {
    SOURCES.contains(&extension(path))
}

fn wrong_lines(path: &str, text: &str, checkout: &str) -> Vec<String> {
    // Written by cargo, which names the registry of every package.
    let is_cargo_lock = Path::new(path).file_name().is_some_and(|name| name == "Cargo.lock");
    let is_rust = extension(path) == "rs";
    let mut wrongs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut say = |what: &str, word: &str| wrongs.push(format!("{path}:{}: {what} `{word}`", index + 1));
        for home in HOMES.iter().chain([&checkout]).filter(|home| line.contains(**home)) {
            say("a path of one machine,", home);
        }
        for host in REGISTRIES.iter().filter(|host| !is_cargo_lock && line.contains(**host)) {
            say("a registry's host,", host);
        }
        for stub in LEFT_FOR_LATER.iter().filter(|stub| is_rust && line.contains(**stub)) {
            say("left for later,", stub);
        }
    }
    wrongs
}

#[cfg(test)]
mod tests {
    use super::{HOMES, LEFT_FOR_LATER, REGISTRIES, wrong_lines};

    const CHECKOUT: &str = "/somewhere/diwan";

    fn wrongs(path: &str, text: &str) -> usize {
        wrong_lines(path, text, CHECKOUT).len()
    }

    #[test]
    fn every_forbidden_word_is_caught() {
        for word in HOMES.iter().chain(REGISTRIES).chain(LEFT_FOR_LATER).chain(&[CHECKOUT]) {
            assert_eq!(wrongs("crates/a/src/lib.rs", &format!("fine\nsays {word}x\n")), 1, "{word}");
        }
        assert_eq!(wrongs("crates/a/src/lib.rs", "nothing to say"), 0);
    }

    #[test]
    fn cargo_may_name_its_registry_and_prose_may_speak_of_stubs() {
        assert_eq!(wrongs("Cargo.lock", REGISTRIES[0]), 0);
        assert_eq!(wrongs("interop/rust/Cargo.lock", REGISTRIES[0]), 0);
        assert_eq!(wrongs("STYLE.md", LEFT_FOR_LATER[0]), 0);
    }

    #[test]
    fn the_line_is_named() {
        let text = format!("\n\n{}", LEFT_FOR_LATER[2]);
        assert!(wrong_lines("a.rs", &text, CHECKOUT)[0].starts_with("a.rs:3: "));
    }
}
