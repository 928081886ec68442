//! Names and beginnings of names, and which of them cover a name. What is looked for costs a few searches in sorted maps, also
//! among very many patterns.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::kinds::{ANY_NAME, PatternType};

/// A value for each pattern.
#[derive(Clone, Debug)]
pub(super) struct Patterns<T> {
    literal: BTreeMap<Arc<str>, T>,
    prefixed: BTreeMap<Arc<str>, T>,
}

impl<T> Default for Patterns<T> {
    fn default() -> Self {
        Self { literal: BTreeMap::new(), prefixed: BTreeMap::new() }
    }
}

impl<T> Patterns<T> {
    pub(super) const fn of_type(&self, kind: PatternType) -> &BTreeMap<Arc<str>, T> {
        match kind {
            PatternType::Literal => &self.literal,
            PatternType::Prefixed => &self.prefixed,
        }
    }

    pub(super) const fn of_type_mut(&mut self, kind: PatternType) -> &mut BTreeMap<Arc<str>, T> {
        match kind {
            PatternType::Literal => &mut self.literal,
            PatternType::Prefixed => &mut self.prefixed,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.prefixed.is_empty()
    }

    /// Calls `visit` for each pattern that covers the name, perhaps twice for the same.
    pub(super) fn each_covering<'p>(&'p self, name: &str, mut visit: impl FnMut(&'p T)) {
        [name, ANY_NAME].into_iter().filter_map(|name| self.literal.get(name)).for_each(&mut visit);
        self.each_prefix(name, visit);
    }

    /// Whether there is a beginning of the name among the beginnings of names.
    pub(super) fn has_prefix_of(&self, name: &str) -> bool {
        let mut has = false;
        self.each_prefix(name, |_| has = true);
        has
    }

    /// From the longest beginning on. The greatest key up to a text is either a beginning of it, or only as much of the text
    /// as both have in common can still have beginnings among the keys before.
    fn each_prefix<'p>(&'p self, name: &str, mut visit: impl FnMut(&'p T)) {
        let mut upper = Bound::Included(name);
        while let Some((prefix, value)) = self.prefixed.range::<str, _>((Bound::Unbounded, upper)).next_back()
        {
            if name.starts_with(&**prefix) {
                visit(value);
                upper = Bound::Excluded(prefix);
            } else {
                upper = Bound::Included(common(name, prefix));
            }
        }
    }
}

/// The beginning that both have in common.
fn common<'n>(name: &'n str, other: &str) -> &'n str {
    let same = name.char_indices().zip(other.chars()).find(|((_, one), other)| one != other);
    same.map_or(name, |((at, _), _)| name.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    fn covering(patterns: &Patterns<String>, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        patterns.each_covering(name, |value| found.push(value.clone()));
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn patterns_that_cover_a_name_are_found_as_by_looking_at_each() {
        let mut random = Random::new(7);
        let mut text = |most: u64| {
            let length = random.below(most);
            (0..length).map(|_| ['a', 'b', 'ü', '*'][random.below(4) as usize]).collect::<String>()
        };
        for _ in 0..2_000 {
            let mut patterns = Patterns::default();
            for _ in 0..8 {
                let (literal, prefix) = (text(5), text(5));
                patterns.literal.insert(literal.as_str().into(), format!("L{literal}"));
                patterns.prefixed.insert(prefix.as_str().into(), format!("P{prefix}"));
            }
            let name = text(7);
            let literal = patterns.literal.iter().filter(|(key, _)| ***key == *name || &***key == "*");
            let prefixed = patterns.prefixed.iter().filter(|(key, _)| name.starts_with(&***key));
            let mut expected: Vec<_> = literal.chain(prefixed).map(|(_, value)| value.clone()).collect();
            expected.sort();
            assert_eq!(covering(&patterns, &name), expected, "{name}");
        }
    }

    #[test]
    fn many_patterns_with_a_common_beginning_cost_few_searches() {
        let mut patterns = Patterns::default();
        for number in 0..100_000 {
            let name: Arc<str> = format!("app-{number:06}").into();
            patterns.prefixed.insert(name, String::new());
        }
        let mut visits = 0;
        patterns.each_covering("app-099999-x", |_| visits += 1);
        patterns.each_covering("zzz", |_| visits += 1);
        assert_eq!(visits, 1);
    }
}
