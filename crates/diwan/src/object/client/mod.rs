//! `diwan object client`: a class for the objects of a type of your own, for a library of `clients/`, made from the type's
//! description.
//!
//! What comes from the description is only used as it is where it can be nothing but a name: others are refused, so nothing that a
//! type's author writes becomes code of its callers.

mod described;
mod golang;
mod java;
mod javascript;
mod naming;
mod python;
mod rust;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::described::Described;
use super::access::{AccessArguments, Request, escaped};
use super::export::unwritable;
use crate::log::failure::{Done, Failure};

/// Languages that there are libraries for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Go,
    Java,
    Javascript,
    Python,
    Rust,
    Typescript,
}

#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// The type.
    #[arg(value_name = "TYPE")]
    name: String,

    /// The language that the class is for.
    #[arg(long = "lang", value_name = "LANGUAGE")]
    language: Language,

    /// The package that it is in, in Go and Java [default: objects, in Java none].
    #[arg(long, value_name = "NAME", value_parser = naming::package)]
    package: Option<String>,

    /// Where it is written [default: to the standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    access: AccessArguments,
}

/// Writes the class.
pub(super) fn client(arguments: &ClientArguments, out: &mut impl Write) -> Done {
    let path = format!("/v1/types/{}", escaped(&arguments.name));
    let told = arguments.access.ask(&Request::get(path))?;
    let described = Described::read(&told.body).map_err(Failure::new)?;
    let source = source(arguments.language, arguments.package.as_deref(), &described);
    if !described.left_out.is_empty() {
        let left_out = described.left_out.join(", ");
        eprintln!("left out, for they take and give bytes, which the libraries do not: {left_out}");
    }
    match &arguments.out {
        Some(file) => {
            fs::write(file, source).map_err(|error| unwritable(file, &error))?;
            writeln!(out, "{}", file.display())?;
        }
        None => out.write_all(source.as_bytes())?,
    }
    Ok(())
}

fn source(language: Language, package: Option<&str>, described: &Described) -> String {
    match language {
        Language::Go => golang::source(described, package.unwrap_or("objects")),
        Language::Java => java::source(described, package),
        Language::Javascript => javascript::source(described, javascript::Form::JavaScript),
        Language::Typescript => javascript::source(described, javascript::Form::TypeScript),
        Language::Python => python::source(described),
        Language::Rust => rust::source(described),
    }
}

#[cfg(test)]
mod tests;
