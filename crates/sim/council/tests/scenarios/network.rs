//! The network between members: what is under way, what is held there, and what does not come through. Knows no member.

use std::collections::BTreeSet;

use council_replica::PeerMessage;

use crate::message::kind;

/// A message under way.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) message: PeerMessage,
}

/// Between whom.
#[derive(Clone)]
pub(crate) enum Ends {
    All,
    /// Between one of these and one that is not.
    Group(BTreeSet<u64>),
    /// From the first to the second.
    OneWay(u64, u64),
}

impl Ends {
    fn cover(&self, from: u64, to: u64) -> bool {
        match self {
            Self::All => true,
            Self::Group(group) => group.contains(&from) != group.contains(&to),
            Self::OneWay(one, other) => (*one, *other) == (from, to),
        }
    }
}

/// What befalls some messages.
#[derive(Clone)]
pub(crate) struct Rule {
    pub(crate) ends: Ends,
    /// Messages of this kind alone.
    pub(crate) kind: Option<String>,
    /// So many of them.
    pub(crate) left: u64,
    /// Whether they stay under way; otherwise they are lost.
    pub(crate) holds: bool,
    /// Whether the members notice that.
    pub(crate) noticed: bool,
}

impl Rule {
    fn fits(&self, sent: &Sent) -> bool {
        let is_kind = self.kind.as_ref().is_none_or(|one| one == kind(&sent.message));
        self.left > 0 && is_kind && self.ends.cover(sent.from, sent.to)
    }
}

/// What became of a message.
pub(crate) enum Fate {
    Sent,
    /// It is held, and whether that was asked for by its kind.
    Held(bool),
    /// It is lost, and whether that was asked for by its kind.
    Lost(bool),
}

/// See the module.
#[derive(Default)]
pub(crate) struct Network {
    rules: Vec<Rule>,
    ready: Vec<Sent>,
    held: Vec<Sent>,
}

impl Network {
    pub(crate) fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// Everything comes through again. Gives what did not.
    pub(crate) fn heal(&mut self) -> Vec<Rule> {
        self.rules.extract_if(.., |rule| !rule.holds).collect()
    }

    /// Nothing is held any more.
    pub(crate) fn release(&mut self) {
        self.rules.retain(|rule| !rule.holds);
        self.ready.append(&mut self.held);
    }

    pub(crate) fn send(&mut self, sent: Sent) -> Fate {
        let Some(rule) = self.rules.iter_mut().find(|rule| rule.fits(&sent)) else {
            self.ready.push(sent);
            return Fate::Sent;
        };
        if rule.left != u64::MAX {
            rule.left -= 1;
        }
        let is_by_kind = rule.kind.is_some();
        if rule.holds {
            self.held.push(sent);
            return Fate::Held(is_by_kind);
        }
        Fate::Lost(is_by_kind)
    }

    /// Takes what is to arrive now.
    pub(crate) fn take_ready(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.ready)
    }

    /// It could not arrive yet.
    pub(crate) fn put_back(&mut self, sent: Sent) {
        self.ready.push(sent);
    }

    /// Takes held messages: so many, from the newest if `last`. A copy stays if `copy`.
    pub(crate) fn take_held(
        &mut self,
        (from, to): (u64, u64),
        of: Option<&str>,
        most: usize,
        last: bool,
        copy: bool,
    ) -> Vec<Sent> {
        let fits =
            |sent: &Sent| (sent.from, sent.to) == (from, to) && of.is_none_or(|of| of == kind(&sent.message));
        let mut places: Vec<_> = (0..self.held.len()).filter(|place| fits(&self.held[*place])).collect();
        if last {
            places.reverse();
        }
        places.truncate(most);
        let taken = places.iter().map(|place| self.held[*place].clone()).collect();
        if !copy {
            let mut place = 0;
            self.held.retain(|_| {
                place += 1;
                !places.contains(&(place - 1))
            });
        }
        taken
    }

    pub(crate) fn held(&self) -> &[Sent] {
        &self.held
    }

    /// Whether nothing of one member comes through to the other.
    pub(crate) fn is_cut(&self, from: u64, to: u64) -> bool {
        let cuts = |rule: &&Rule| !rule.holds && rule.kind.is_none() && rule.ends.cover(from, to);
        self.rules.iter().any(|rule| cuts(&rule))
    }

    /// Nothing that one member has sent to the other arrives: their connection ended.
    pub(crate) fn forget_pair(&mut self, from: u64, to: u64) {
        self.ready.retain(|sent| (sent.from, sent.to) != (from, to));
        self.held.retain(|sent| (sent.from, sent.to) != (from, to));
    }

    /// Nothing that was sent to or by that member arrives: its connections ended.
    pub(crate) fn forget(&mut self, id: u64) {
        self.ready.retain(|sent| sent.from != id && sent.to != id);
        self.held.retain(|sent| sent.from != id && sent.to != id);
    }
}
