//! What the members of a group read: topics by name, and topics that match regular expressions. It is derived from the members,
//! and from the topics that the broker shows with a request; nothing of it is durable but a hash.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;

use crate::pattern::Pattern;
use crate::stored_consumer::StoredConsumerMember;
use crate::{ConsumerLimits, Text, TopicId, Topics};

/// The hash of no topics: FNV-1a's start.
pub(super) const NO_TOPICS_HASH: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0100_0000_01b3;

/// A hash that is the same on every host and in every version of this program: FNV-1a.
struct Hash(u64);

impl Hash {
    fn take(&mut self, parts: &[&[u8]]) {
        for byte in parts.iter().copied().flatten() {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(HASH_PRIME);
        }
    }
}

/// A regular expression that members subscribe to.
#[derive(Clone, Debug, Default)]
struct Regex {
    members: usize,
    /// The topics that match, once it was looked for them.
    topics: Option<BTreeSet<Text>>,
}

#[derive(Clone, Debug)]
pub(super) struct Subscriptions {
    /// How many members name a topic.
    names: BTreeMap<Text, usize>,
    regexes: BTreeMap<Text, Regex>,
    /// The topics of these that there are, with their partitions.
    found: BTreeMap<TopicId, (Text, i32)>,
    hash: u64,
    /// The version of the topics in which they were found; nothing if members have changed since.
    seen: Option<u64>,
    /// The version of the topics, and the time, in which all regular expressions were matched.
    matched: Option<(u64, MonoTime)>,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self {
            names: BTreeMap::new(),
            regexes: BTreeMap::new(),
            found: BTreeMap::new(),
            hash: NO_TOPICS_HASH,
            seen: None,
            matched: None,
        }
    }
}

impl Subscriptions {
    pub(super) fn add(&mut self, member: &StoredConsumerMember) {
        for name in &member.topics {
            match self.names.get_mut(name) {
                Some(count) => *count += 1,
                None => {
                    self.names.insert(name.clone(), 1);
                    self.seen = None;
                }
            }
        }
        if !member.regex.is_empty() {
            let regex = self.regexes.entry(member.regex.clone()).or_default();
            regex.members += 1;
            if regex.members == 1 {
                self.seen = None;
            }
        }
    }

    pub(super) fn remove(&mut self, member: &StoredConsumerMember) {
        for name in &member.topics {
            if let Some(count) = self.names.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.names.remove(name);
                    self.seen = None;
                }
            }
        }
        if let Some(regex) = self.regexes.get_mut(&member.regex) {
            regex.members -= 1;
            if regex.members == 0 {
                self.regexes.remove(&member.regex);
                self.seen = None;
            }
        }
    }

    /// Looks for the topics, if there may be others than before.
    pub(super) fn look(&mut self, topics: &dyn Topics, limits: &ConsumerLimits, now: MonoTime) {
        let matched = self.match_names(topics, limits, now);
        if !matched && self.seen == Some(topics.version()) {
            return;
        }
        self.seen = Some(topics.version());
        let of_regexes = self.regexes.values().flat_map(|regex| regex.topics.iter().flatten());
        let all: BTreeSet<&Text> = self.names.keys().chain(of_regexes).collect();
        let mut hash = Hash(NO_TOPICS_HASH);
        self.found.clear();
        for name in all {
            if let Some((id, partitions)) = topics.find(name) {
                self.found.insert(id, (name.clone(), partitions));
                hash.take(&[name.as_bytes(), &[0], &id, &partitions.to_be_bytes()]);
            }
        }
        // Another member may read such a topic by its name already: then only this tells that a regular expression matches it now.
        for (text, regex) in &self.regexes {
            hash.take(&[&[1], text.as_bytes()]);
            for name in regex.topics.iter().flatten().filter(|name| topics.find(name).is_some()) {
                hash.take(&[&[2], name.as_bytes()]);
            }
        }
        self.hash = hash.0;
    }

    /// Matches topics: new expressions at once, the others if there may be other topics, but not too often. Says whether it did.
    fn match_names(&mut self, topics: &dyn Topics, limits: &ConsumerLimits, now: MonoTime) -> bool {
        let due = match self.matched {
            None => true,
            Some((version, at)) => {
                let others = version != topics.version() && now.since(at) >= limits.regex_refresh_min_ms;
                others || now.since(at) >= limits.regex_refresh_max_ms
            }
        };
        let wanted = |regex: &Regex| due || regex.topics.is_none();
        if !self.regexes.values().any(wanted) {
            return false;
        }
        let mut matches: Vec<(&str, Pattern, BTreeSet<Text>)> = Vec::new();
        for (text, _) in self.regexes.iter().filter(|(_, regex)| wanted(regex)) {
            // It was valid when the member sent it.
            if let Ok(pattern) = Pattern::new(text, limits.regex_compiled_bytes_max) {
                matches.push((text, pattern, BTreeSet::new()));
            }
        }
        topics.each(&mut |name| {
            for (_, pattern, matching) in &mut matches {
                if pattern.matches(name) {
                    matching.insert(name.clone());
                }
            }
        });
        let matches: BTreeMap<Text, _> =
            matches.into_iter().map(|(text, _, matching)| (text.into(), matching)).collect();
        for (text, matching) in matches {
            if let Some(regex) = self.regexes.get_mut(&text) {
                regex.topics = Some(matching);
            }
        }
        if due {
            self.matched = Some((topics.version(), now));
        }
        true
    }

    /// Of the topics that were found, with their partitions, and of what regular expressions match.
    pub(super) const fn hash(&self) -> u64 {
        self.hash
    }

    /// The topics that there are, with their partitions.
    pub(super) const fn found(&self) -> &BTreeMap<TopicId, (Text, i32)> {
        &self.found
    }

    pub(super) fn has_regex(&self, text: &Text) -> bool {
        self.regexes.contains_key(text)
    }

    pub(super) fn regexes(&self) -> usize {
        self.regexes.len()
    }

    /// Whether the member reads this topic, which there is.
    pub(super) fn reads(&self, member: &StoredConsumerMember, id: &TopicId) -> bool {
        self.found.get(id).is_some_and(|(name, _)| self.reads_name(member, name))
    }

    pub(super) fn reads_name(&self, member: &StoredConsumerMember, name: &Text) -> bool {
        let matching = self.regexes.get(&member.regex).and_then(|regex| regex.topics.as_ref());
        member.topics.contains(name) || matching.is_some_and(|topics| topics.contains(name))
    }

    /// Whether a member reads a topic of this name, or may do so.
    pub(super) fn covers(&self, name: &str) -> bool {
        let matches = |regex: &Regex| regex.topics.as_ref().is_none_or(|topics| topics.contains(name));
        self.names.contains_key(name) || self.regexes.values().any(matches)
    }
}
