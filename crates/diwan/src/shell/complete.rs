//! Completion of verbs and paths, and the colours of the prompt.

use std::borrow::Cow;
use std::time::Duration;

use council_client::Client;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::{Context, Helper as LineHelper, Hinter, Validator};

use super::verbs;

/// How long a completion may keep its user waiting.
const PATIENCE: Duration = Duration::from_secs(1);

/// Completes lines with what the shell knows and the server has.
#[derive(Hinter, Validator)]
pub(super) struct Helper {
    client: Client,
    colours: bool,
}

impl LineHelper for Helper {}

impl Helper {
    pub(super) fn new(client: Client, colours: bool) -> Self {
        Self { client, colours }
    }

    fn children(&self, parent: &str) -> Vec<String> {
        if !self.client.state().is_connected() {
            return Vec::new();
        }
        match self.client.children(parent).wait_for(PATIENCE) {
            Ok(Ok(names)) => names,
            _ => Vec::new(),
        }
    }
}

impl Completer for Helper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(line.get(..position).unwrap_or(line), |parent| self.children(parent)))
    }
}

/// Where the word that is completed begins, and what it may become.
fn complete(line: &str, children: impl Fn(&str) -> Vec<String>) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let word = line.get(start..).unwrap_or_default();
    let mut found: Vec<String> = if line.get(..start).unwrap_or_default().trim().is_empty() {
        verbs::all()
            .filter(|verb| verb.name.starts_with(word))
            .map(|verb| format!("{} ", verb.name))
            .collect()
    } else if let Some(at) = word.rfind('/').filter(|_| word.starts_with('/')) {
        let (parent, beginning) = word.split_at(at + 1);
        let list = if parent == "/" { parent } else { parent.trim_end_matches('/') };
        let fits = |name: &String| name.starts_with(beginning);
        children(list).into_iter().filter(fits).map(|name| format!("{parent}{name}")).collect()
    } else {
        Vec::new()
    };
    found.sort();
    (start, found)
}

impl Highlighter for Helper {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        if self.colours { Cow::Owned(format!("\x1b[36m{prompt}\x1b[0m")) } else { Cow::Borrowed(prompt) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (usize, Vec<String>) {
        complete(line, |parent| match parent {
            "/" => vec!["zookeeper".into(), "a".into(), "ab".into()],
            "/a" => vec!["x".into()],
            other => panic!("{other}"),
        })
    }

    #[test]
    fn verbs_and_paths_are_completed() {
        assert_eq!(of("getA"), (0, vec!["getAcl ".into(), "getAllChildrenNumber ".into()]));
        assert_eq!(of("  who"), (2, vec!["whoami ".into()]));
        assert_eq!(of("ls /"), (3, vec!["/a".into(), "/ab".into(), "/zookeeper".into()]));
        assert_eq!(of("ls -s /a"), (6, vec!["/a".into(), "/ab".into()]));
        assert_eq!(of("ls /a/"), (3, vec!["/a/x".into()]));
        assert_eq!(of("set data"), (4, vec![]));
    }
}
