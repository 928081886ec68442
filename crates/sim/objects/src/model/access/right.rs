//! A right as it is written: `TYPE/NAME:RIGHT,..`.

use std::collections::BTreeSet;

use objects_state::Grant;
use serde_json::Value;

/// What a right allows, in the order in which it is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    Query,
    Call,
    Create,
    Admin,
    Method(String),
}

/// What `*` stands for.
const USUAL: [Word; 3] = [Word::Query, Word::Call, Word::Create];

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Right {
    /// `*`, or the name of a type.
    kind: String,
    /// The name of an object; it ends in `*` if names begin so.
    name: String,
    pub(super) words: BTreeSet<Word>,
}

impl Right {
    /// Reads it as people write it, so that nothing is known here of how the product keeps it.
    pub(super) fn of(grant: &Grant) -> Self {
        let text = grant.to_string();
        let (pattern, words) = text.rsplit_once(':').unwrap_or_default();
        let (kind, name) = pattern.split_once('/').unwrap_or(("*", "*"));
        let mut all = BTreeSet::new();
        for word in words.split(',').filter(|word| !word.is_empty()) {
            match word {
                "*" => all.extend(USUAL),
                "query" => drop(all.insert(Word::Query)),
                "call" => drop(all.insert(Word::Call)),
                "create" => drop(all.insert(Word::Create)),
                "admin" => drop(all.insert(Word::Admin)),
                method => {
                    all.insert(Word::Method(method.strip_prefix("method=").unwrap_or(method).into()));
                }
            }
        }
        Self { kind: kind.into(), name: name.into(), words: all }
    }

    /// Whether it says anything of anything.
    pub(super) fn is_valid(&self) -> bool {
        !self.name.is_empty() && !self.words.is_empty()
    }

    /// Whether both are written for the same objects.
    pub(super) fn has_pattern_of(&self, other: &Self) -> bool {
        (&self.kind, &self.name) == (&other.kind, &other.name)
    }

    /// Whether it is about an object.
    pub(super) fn is_about(&self, kind: &str, name: &str) -> bool {
        let is_named = match self.name.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.name,
        };
        is_named && self.has_type(kind)
    }

    /// Whether it is about all objects of a type whose names begin so.
    pub(super) fn is_about_all(&self, kind: &str, beginning: &str) -> bool {
        self.has_type(kind) && self.name.strip_suffix('*').is_some_and(|own| beginning.starts_with(own))
    }

    /// The same of all types.
    pub(super) fn is_about_all_types(&self, beginning: &str) -> bool {
        self.kind == "*" && self.name.strip_suffix('*').is_some_and(|own| beginning.starts_with(own))
    }

    /// Whether it is about all objects of some type.
    pub(super) fn is_about_all_of_a_type(&self) -> bool {
        self.name == "*"
    }

    fn has_type(&self, kind: &str) -> bool {
        ["*", kind].contains(&&*self.kind)
    }

    /// Whether it says this word, or `admin`, which says all.
    pub(super) fn says(&self, word: &Word) -> bool {
        self.words.contains(word) || self.words.contains(&Word::Admin)
    }

    /// Whether it is the right to everything.
    pub(super) fn is_admin(&self) -> bool {
        self.kind == "*" && self.name == "*" && self.words.contains(&Word::Admin)
    }

    fn text(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let is_usual = USUAL.iter().all(|word| self.words.contains(word));
        if is_usual {
            words.push("*".into());
        }
        for word in &self.words {
            match word {
                word if is_usual && USUAL.contains(word) => {}
                Word::Query => words.push("query".into()),
                Word::Call => words.push("call".into()),
                Word::Create => words.push("create".into()),
                Word::Admin => words.push("admin".into()),
                Word::Method(name) if ["query", "call", "create", "admin"].contains(&&**name) => {
                    words.push(format!("method={name}"));
                }
                Word::Method(name) => words.push(name.clone()),
            }
        }
        let is_all = self.kind == "*" && self.name == "*";
        let pattern = if is_all { "*".into() } else { format!("{}/{}", self.kind, self.name) };
        format!("{pattern}:{}", words.join(","))
    }
}

/// As they are shown.
pub(super) fn texts(rights: &[Right]) -> Vec<Value> {
    rights.iter().map(|right| right.text().into()).collect()
}
