//! Groups: what their members were told, and whether that fits together (L48, L49, L52, L54).

use std::collections::{BTreeMap, BTreeSet};

use super::History;
use super::offsets::Register;
use crate::served::Served;

/// Who a member is for others: a static one stays the same through its starts.
pub(crate) type Identity = String;

/// What a generation of a classic group is.
#[derive(Debug, Default)]
struct Generation {
    leader: Option<Identity>,
    /// What its leader has sent: for each time, what each member is to get.
    sent: Vec<BTreeMap<Identity, Vec<u8>>>,
    /// Which of these is in force, as somebody was told.
    in_force: Option<usize>,
}

/// A member of a classic group, as far as it knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synced {
    pub(crate) generation: i32,
    /// Since when it has done nothing but to send heartbeats.
    pub(crate) since: u64,
    pub(crate) heard: Served,
    pub(crate) session_ms: u64,
}

/// A member that owns partitions (KIP-848).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    /// When the last request was sent that was answered.
    pub(crate) heard: Served,
    /// The same, of the last answer behind which it had nothing to give up.
    pub(crate) confirmed: Served,
    pub(crate) session_ms: u64,
    pub(crate) rebalance_ms: u64,
}

impl Holder {
    /// Whether the coordinator may have removed it.
    pub(crate) fn may_be_gone(&self, now: Served) -> bool {
        now.may_have_passed(self.heard, self.session_ms)
            || now.may_have_passed(self.confirmed, self.rebalance_ms)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The highest generation or epoch that a member was told.
    known: BTreeMap<&'static str, i32>,
    generations: BTreeMap<(&'static str, i32), Generation>,
    synced: BTreeMap<(&'static str, u32), Synced>,
    /// Ids of members that were told that they are none, or that left.
    gone: BTreeSet<String>,
    holders: BTreeMap<u32, Holder>,
    owners: BTreeMap<Register, BTreeSet<u32>>,
}

impl History {
    /// The highest generation or epoch of a group that a member was told.
    pub(crate) fn known_generation(&self, group: &'static str) -> i32 {
        self.groups.known.get(group).copied().unwrap_or(-1)
    }

    /// A member was told a generation or an epoch, having asked when a certain one was known. It may lag if it is not new.
    pub(crate) fn told_generation(&mut self, group: &'static str, generation: i32, known_before: i32) {
        self.judge(49);
        if generation < known_before {
            self.wrong(49, format!("{group}: {generation} was told behind {known_before}"));
        }
        let known = self.groups.known.entry(group).or_insert(-1);
        *known = generation.max(*known);
    }

    /// A member of a classic group has joined a generation, and may be its leader.
    pub(crate) fn joined(
        &mut self,
        group: &'static str,
        generation: i32,
        known: i32,
        leader: Option<Identity>,
    ) {
        self.told_generation(group, generation, known);
        self.generation_follows(group, generation);
        let of = self.groups.generations.entry((group, generation)).or_default();
        let Some(leader) = leader else { return };
        let first = of.leader.get_or_insert_with(|| leader.clone()).clone();
        self.judge(48);
        if first != leader {
            self.wrong(48, format!("generation {generation} of {group} has leaders {first} and {leader}"));
        }
    }

    /// The leader of a generation gives its members what is theirs.
    pub(crate) fn leader_assigns(
        &mut self,
        group: &'static str,
        generation: i32,
        each: BTreeMap<Identity, Vec<u8>>,
    ) {
        self.groups.generations.entry((group, generation)).or_default().sent.push(each);
    }

    /// A member was given its assignment (L48): what the leader of its generation has sent for it, and at one time for all.
    pub(crate) fn assigned(&mut self, group: &'static str, generation: i32, identity: &Identity, got: &[u8]) {
        self.judge(48);
        let of = self.groups.generations.entry((group, generation)).or_default();
        let is_sent = |sent: &BTreeMap<Identity, Vec<u8>>| sent.get(identity).is_some_and(|own| own == got);
        let found = of.sent.iter().position(is_sent);
        let in_force = of.in_force;
        if found.is_some() && in_force.is_none() {
            of.in_force = found;
        }
        if found.is_none() || in_force.is_some_and(|in_force| Some(in_force) != found) {
            let text = format!("{identity} got {got:?} in {generation} of {group}: {found:?}, {in_force:?}");
            self.wrong(48, text);
        }
    }

    /// A member of a classic group is at rest since a moment, or not any more.
    pub(crate) fn member_is(&mut self, group: &'static str, member: u32, synced: Option<Synced>) {
        match synced {
            Some(synced) => drop(self.groups.synced.insert((group, member), synced)),
            None => drop(self.groups.synced.remove(&(group, member))),
        }
    }

    /// A static member that started anew was told a generation, having asked at that moment; before, it had another one. All
    /// members of its group are static, and there are so many. If the others have done nothing, it must be the same (L54).
    pub(crate) fn static_joined_again(
        &mut self,
        (group, member): (&'static str, u32),
        members: usize,
        asked: u64,
        before: Synced,
        (generation, now): (i32, Served),
    ) {
        let at_rest = |((of, other), synced): (&(&'static str, u32), &Synced)| {
            *of == group
                && *other != member
                && synced.generation == before.generation
                && synced.since < asked
                && !now.may_have_passed(synced.heard, synced.session_ms)
        };
        let others = self.groups.synced.iter().filter(|(key, synced)| at_rest((key, synced))).count();
        if others + 1 != members || now.may_have_passed(before.heard, before.session_ms) {
            return;
        }
        self.judge(54);
        if generation != before.generation {
            let before = before.generation;
            self.wrong(54, format!("static member {member} of {group} came back in {before}: {generation}"));
        }
    }

    /// The older one of two with an instance id was answered: it must be fenced (L54).
    pub(crate) fn replaced_member_answered(&mut self, group: &'static str, member: u32, error: i16) {
        const FENCED: [i16; 5] = [14, 15, 16, 25, 82];
        self.judge(54);
        if !FENCED.contains(&error) {
            self.wrong(54, format!("the replaced member {member} of {group} was answered with {error}"));
        }
    }

    /// A member was told that it is none, though it was heard when `heard`; its timeout is so long (L52).
    pub(crate) fn expelled(&mut self, id: &str, is_early: bool, why: String) {
        self.judge(52);
        self.groups.gone.insert(id.to_owned());
        if is_early {
            self.wrong(52, why);
        }
    }

    /// A member has left.
    pub(crate) fn left(&mut self, id: &str) {
        self.groups.gone.insert(id.to_owned());
    }

    /// Whether a member was told that it is none, or has left.
    pub(crate) fn is_gone(&self, id: &str) -> bool {
        self.groups.gone.contains(id)
    }

    /// A member that owns partitions was heard.
    pub(crate) fn holder_is(&mut self, member: u32, holder: Holder) {
        self.groups.holders.insert(member, holder);
    }

    /// A member was given a partition: nobody else may own it still (L48).
    pub(crate) fn given(&mut self, register: Register, member: u32, now: Served) {
        self.judge(48);
        let owners = self.groups.owners.entry(register).or_default();
        let holders = &self.groups.holders;
        owners.retain(|owner| holders.get(owner).is_some_and(|holder| !holder.may_be_gone(now)));
        let other = owners.iter().copied().find(|owner| *owner != member);
        owners.insert(member);
        if let Some(other) = other {
            let holder = self.groups.holders.get(&other);
            let text =
                format!("{register:?} was given to {member}, and {other} owns it: {holder:?} at {now:?}");
            self.wrong(48, text);
        }
        self.owner_follows(register, member);
    }

    /// A member says that it owns a partition no more, or it has been told so.
    pub(crate) fn given_up(&mut self, register: Register, member: u32) {
        if let Some(owners) = self.groups.owners.get_mut(&register) {
            owners.remove(&member);
        }
    }

    /// Whether somebody else owns a partition, and this member does not.
    pub(crate) fn is_of_another(&self, register: Register, member: u32) -> bool {
        let owners = self.groups.owners.get(&register);
        owners.is_some_and(|owners| !owners.is_empty() && !owners.contains(&member))
    }
}
