//! Names that the shell completes: it runs this program, which asks the brokers that the line names.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::engine::CompletionCandidate;
use log_client::Cluster;

use super::access::ClusterArguments;

/// Names of topics.
pub(super) fn topics(begun: &OsStr) -> Vec<CompletionCandidate> {
    let topics = connect().and_then(|mut cluster| cluster.look(None, false).ok()).unwrap_or_default();
    let names = topics.into_iter().filter(|topic| !topic.is_internal).filter_map(|topic| topic.name);
    candidates(begun, names)
}

/// Names of groups.
pub(super) fn groups(begun: &OsStr) -> Vec<CompletionCandidate> {
    let groups = connect().and_then(|mut cluster| cluster.groups().ok()).unwrap_or_default();
    candidates(begun, groups.into_iter().map(|group| group.group_id))
}

fn candidates(begun: &OsStr, names: impl Iterator<Item = String>) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    names.filter(|name| name.starts_with(&*begun)).map(CompletionCandidate::new).collect()
}

/// Who cannot be reached completes nothing.
fn connect() -> Option<Cluster> {
    let words: Vec<String> = std::env::args().collect();
    let server = named(&words, &["-b", "--bootstrap-server", "--broker"], "DIWAN_BOOTSTRAP_SERVER");
    let access = ClusterArguments {
        bootstrap_server: server.unwrap_or_else(|| String::from("127.0.0.1:9092")),
        command_config: named(&words, &["--command-config"], "DIWAN_COMMAND_CONFIG").map(PathBuf::from),
    };
    access.connect().ok()
}

/// The value that a line gives an option, or that a variable has.
pub(crate) fn named(words: &[String], options: &[&str], variable: &str) -> Option<String> {
    let after = |place: usize| words.get(place + 1).cloned();
    let named = words.iter().enumerate().find_map(|(place, word)| match word.split_once('=') {
        _ if options.contains(&word.as_str()) => after(place),
        Some((name, value)) if options.contains(&name) => Some(value.into()),
        _ => None,
    });
    named.or_else(|| std::env::var(variable).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_where_the_brokers_are() {
        let of = |line: &str| {
            let words: Vec<_> = line.split(' ').map(String::from).collect();
            named(&words, &["-b", "--bootstrap-server"], "NO_SUCH_VARIABLE")
        };
        assert_eq!(of("diwan topic describe -b h:1 o").as_deref(), Some("h:1"));
        assert_eq!(of("diwan topic --bootstrap-server=h:1,i:2 describe o").as_deref(), Some("h:1,i:2"));
        assert_eq!(of("diwan topic describe o"), None);
    }

    #[test]
    fn only_what_begins_so_is_offered() {
        let offered = candidates(OsStr::new("or"), ["orders", "other"].into_iter().map(String::from));
        assert_eq!(offered.len(), 1);
    }
}
