//! The verbs of zkCli, one row each.

mod quota;
mod read;
mod session;
mod watch;
mod write;

use super::Shell;
use super::failure::Failure;
use super::words::Arguments;

/// What a verb comes to.
pub(super) type Done = Result<Next, Failure>;

/// What is to be done after a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The next line.
    Go,
    /// Nothing more.
    Quit,
}

/// One verb.
#[derive(Clone, Copy)]
pub(super) struct Verb {
    /// Its name.
    pub(super) name: &'static str,
    /// How it is called.
    pub(super) usage: &'static str,
    /// What it does.
    pub(super) about: &'static str,
    /// Its options: `name`, or `name=` with a value.
    pub(super) options: &'static [&'static str],
    /// How many arguments it needs.
    pub(super) words_min: usize,
    run: fn(&mut Shell<'_>, &Arguments) -> Done,
}

/// All verbs, in the order of the help.
pub(super) fn all() -> impl Iterator<Item = &'static Verb> {
    [read::VERBS, write::VERBS, watch::VERBS, quota::VERBS, session::VERBS].into_iter().flatten()
}

/// The verb of a name.
pub(super) fn find(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

pub(super) use session::{is_of_connection, state_name};

impl Verb {
    /// Whether it is of no use without a server.
    pub(super) fn needs_server(&self) -> bool {
        !session::LOCAL.contains(&self.name)
    }

    /// Runs it with the words behind its name.
    pub(super) fn run(&self, shell: &mut Shell<'_>, words: &[String]) -> Done {
        let arguments = Arguments::read(words, self.options)
            .map_err(|what| Failure::Said(what, Some(self.usage.into())))?;
        if arguments.words.len() < self.words_min {
            return Err(Failure::Usage(self.usage));
        }
        (self.run)(shell, &arguments)
    }
}

/// The value of an option as a number.
fn number<T: std::str::FromStr>(arguments: &Arguments, option: &str, standard: T) -> Result<T, Failure> {
    match arguments.value(option) {
        None => Ok(standard),
        Some(text) => text
            .parse()
            .map_err(|_| Failure::Said(format!("-{option} argument must be a number: {text}"), None)),
    }
}

/// An argument that is there: [`Verb::words_min`] says so.
fn path(arguments: &Arguments) -> &str {
    arguments.word(0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_of_zkcli_is_there() {
        for name in [
            "addWatch",
            "addauth",
            "close",
            "config",
            "connect",
            "create",
            "delete",
            "deleteall",
            "delquota",
            "get",
            "getAcl",
            "getAllChildrenNumber",
            "getEphemerals",
            "history",
            "listquota",
            "ls",
            "printwatches",
            "quit",
            "reconfig",
            "redo",
            "removewatches",
            "set",
            "setAcl",
            "setquota",
            "stat",
            "sync",
            "version",
            "whoami",
        ] {
            let verb = find(name).unwrap_or_else(|| panic!("no `{name}`"));
            assert!(verb.usage.starts_with(name) && !verb.about.is_empty());
        }
    }
}
