//! `diwan object new`: a folder to begin a type with.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::log::failure::{Done, Failure};

/// Stands for the type's name in the templates.
const NAME: &str = "TYPE_NAME";
/// Longest name of a type.
const NAME_BYTES_MAX: usize = 64;

/// Languages that types are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    Python,
    Javascript,
    Go,
}

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// The type's name.
    #[arg(value_name = "NAME", value_parser = type_name)]
    name: String,

    /// The language that it is written in.
    #[arg(long = "lang", value_name = "LANGUAGE")]
    language: Language,

    /// Where the folder is made [default: NAME, here].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// A file of a template: its path, and its text.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($path:literal from $template:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../guests/", $template)))),*]
    };
}

/// The library comes along: it is in no registry.
const RUST: &[File] = files!(
    "Cargo.toml" from "templates/rust/Cargo.toml",
    "src/lib.rs" from "templates/rust/src/lib.rs",
    ".gitignore" from "templates/rust/gitignore",
    "diwan-object/Cargo.toml" from "templates/rust/diwan-object.toml",
    "diwan-object/src/arguments.rs" from "rust/src/arguments.rs",
    "diwan-object/src/buffers.rs" from "rust/src/buffers.rs",
    "diwan-object/src/describe.rs" from "rust/src/describe.rs",
    "diwan-object/src/entry.rs" from "rust/src/entry.rs",
    "diwan-object/src/export.rs" from "rust/src/export.rs",
    "diwan-object/src/host.rs" from "rust/src/host.rs",
    "diwan-object/src/lib.rs" from "rust/src/lib.rs",
    "diwan-object/src/refused.rs" from "rust/src/refused.rs",
    "diwan-object/src/ticket.rs" from "rust/src/ticket.rs",
);

const PYTHON: &[File] = files!("TYPE_NAME.py" from "templates/python/type.py");

/// With the types of `diwan` for editors.
const JAVASCRIPT: &[File] = files!(
    "TYPE_NAME.js" from "templates/javascript/type.js",
    "diwan.d.ts" from "javascript-runner/diwan.d.ts",
);

/// The library comes along: it is in no registry.
const GO: &[File] = files!(
    "go.mod" from "templates/go/go.mod",
    "main.go" from "templates/go/main.go",
    "diwan-object/go.mod" from "go/go.mod",
    "diwan-object/arguments.go" from "go/arguments.go",
    "diwan-object/cluster.go" from "go/cluster.go",
    "diwan-object/describe.go" from "go/describe.go",
    "diwan-object/entries_module.go" from "go/entries_module.go",
    "diwan-object/host_elsewhere.go" from "go/host_elsewhere.go",
    "diwan-object/host_module.go" from "go/host_module.go",
    "diwan-object/object.go" from "go/object.go",
    "diwan-object/refused.go" from "go/refused.go",
);

fn type_name(text: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let is_name = text.len() <= NAME_BYTES_MAX && text.chars().all(is_inner);
    if is_name && text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(text.into());
    }
    Err(format!(
        "a type's name has 1 to {NAME_BYTES_MAX} small letters, digits, `-` and `_`, and begins with a letter"
    ))
}

fn template(language: Language) -> &'static [File] {
    match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Javascript => JAVASCRIPT,
        Language::Go => GO,
    }
}

/// Makes the folder.
pub(super) fn new(arguments: &NewArguments, out: &mut impl Write) -> Done {
    let NewArguments { name, language, dir } = arguments;
    let files = template(*language);
    let folder = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    if folder.exists() {
        return Err(Failure::hinted(
            format!("`{}` is there already", folder.display()),
            "name another folder with `--dir`",
        ));
    }
    for (path, text) in files {
        write_file(&folder.join(path.replace(NAME, name)), &text.replace(NAME, name))?;
    }
    writeln!(out, "wrote `{}`", folder.display())?;
    writeln!(out, "{}", next(*language, name, &folder))?;
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Done {
    let parent = path.parent().expect("a file in a folder");
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, text));
    written.map_err(|error| Failure::new(format!("`{}` cannot be written: {error}", path.display())))
}

/// What to do next.
fn next(language: Language, name: &str, folder: &Path) -> String {
    let runner = match language {
        Language::Rust | Language::Go => String::new(),
        Language::Python | Language::Javascript => format!(" --name {name} --runner FILE.wasm"),
    };
    format!("build and upload it: `diwan object put {}{runner}`", folder.display())
}

#[cfg(test)]
mod tests {
    use super::{GO, PYTHON, RUST, type_name};

    #[test]
    fn names_of_types_are_small_words() {
        for name in ["hits", "h2", "page-hits_2"] {
            assert_eq!(type_name(name).as_deref(), Ok(name));
        }
        for name in ["", "Hits", "2hits", "-hits", "hits/home", &"h".repeat(65)] {
            assert!(type_name(name).is_err(), "{name}");
        }
    }

    /// A module of the library that the template forgot would be missing at the author's.
    #[test]
    fn template_has_every_module_of_the_library() {
        let text = |path: &str| RUST.iter().find(|(own, _)| *own == path).map(|(_, text)| *text);
        let library = text("diwan-object/src/lib.rs").unwrap();
        let modules = library.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let modules: Vec<&str> = modules.collect();
        assert!(modules.len() > 5);
        for module in modules {
            assert!(text(&format!("diwan-object/src/{module}.rs")).is_some(), "{module}");
        }
        assert_eq!(PYTHON.len(), 1);
    }

    #[test]
    fn template_has_every_file_of_the_library_for_go() {
        let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/go");
        let files = std::fs::read_dir(library).unwrap().map(|entry| entry.unwrap().file_name());
        let files = files.map(|name| name.into_string().unwrap());
        let wanted = files.filter(|name| name.contains(".") && !name.ends_with("_test.go"));
        let wanted: Vec<String> = wanted.collect();
        assert!(wanted.len() > 5);
        for file in wanted {
            assert!(GO.iter().any(|(own, _)| *own == format!("diwan-object/{file}")), "{file}");
        }
    }
}
