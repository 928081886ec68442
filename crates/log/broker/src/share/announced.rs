//! Which share groups have states on other brokers: their holders tell those who coordinate the groups' members, when that
//! changes, and again every now and then. What is not told again is forgotten.

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_coordinators::Text;

use super::Share;
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::peer_calls::share_codec::ToldGroups;

/// How often everything is told, milliseconds.
const AGAIN_MS: u64 = 3_000;
/// How long what was told holds, milliseconds.
const HOLDS_MS: u64 = 4 * AGAIN_MS;
/// Names of so many bytes are told at once: a call is not longer than 1 MiB.
const TOLD_BYTES_MAX: usize = 256 << 10;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Announced {
    /// What was heard, and until when it holds.
    heard: BTreeMap<Text, MonoTime>,
    /// What is to be told to each broker.
    to_tell: BTreeMap<i32, ToldGroups>,
    due: MonoTime,
}

impl Announced {
    /// Whether all was told.
    pub(super) fn is_told(&self) -> bool {
        self.to_tell.is_empty()
    }

    /// Whether another broker holds states of a group.
    pub(super) fn has(&self, group: &str) -> bool {
        self.heard.contains_key(group)
    }

    /// A group is deleted.
    pub(super) fn forget(&mut self, group: &str) {
        self.heard.remove(group);
    }

    /// The coordinator of a group's members is to be told whether there are states, if this broker holds them.
    pub(super) fn tell(&mut self, broker: i32, group: &str, (is_holder, has_state): (bool, bool)) {
        if is_holder {
            let told = self.to_tell.entry(broker).or_default();
            let list = if has_state { &mut told.groups } else { &mut told.gone };
            list.push(group.into());
        }
    }
}

impl Share {
    /// Takes what is to be told to other brokers.
    pub(crate) fn take_told(&mut self) -> Vec<(i32, ToldGroups)> {
        let told = std::mem::take(&mut self.announced.to_tell);
        told.into_iter()
            .flat_map(|(broker, told)| parts(told).into_iter().map(move |of| (broker, of)))
            .collect()
    }

    /// Another broker tells of groups.
    pub(crate) fn told(&mut self, told: ToldGroups, now: Now) {
        let until = now.mono().plus_ms(HOLDS_MS);
        for group in told.groups {
            let group = Text::from(group);
            self.announced.heard.insert(Text::clone(&group), until);
            self.touched.insert(group);
        }
        for group in told.gone {
            self.announced.heard.remove(group.as_str());
            self.touched.insert(group.into());
        }
    }

    /// Everything is told again, and what was not is forgotten.
    pub(super) fn announce(&mut self, node: &Node, now: Now) {
        if self.announced.due > now.mono() {
            return;
        }
        self.announced.due = now.mono().plus_ms(AGAIN_MS);
        if node.brokers.live().count() > 1 {
            self.touch_all();
        }
        let heard = &mut self.announced.heard;
        let over = heard.extract_if(.., |_, until| *until <= now.mono());
        self.touched.extend(over.map(|(group, _)| group));
    }

    fn touch_all(&mut self) {
        let held = self.coordinators.machines().flat_map(|machine| machine.states(None));
        self.touched.extend(held.map(|(key, _)| Text::clone(&key.group)));
    }
}

/// The broker that coordinates a group's members, as the council says; nothing while that is open.
pub(super) fn coordinator_of(node: &Node, group: &str) -> Option<i32> {
    let partition = OFFSETS.partition_of(&node.catalog, group)?;
    OFFSETS.leader_of(&node.catalog, partition)
}

/// What fits into calls.
fn parts(told: ToldGroups) -> Vec<ToldGroups> {
    let (mut parts, mut bytes) = (vec![ToldGroups::default()], 0);
    let all = told.groups.into_iter().map(|group| (group, true));
    for (group, has_state) in all.chain(told.gone.into_iter().map(|group| (group, false))) {
        bytes += group.len();
        if bytes > TOLD_BYTES_MAX {
            parts.push(ToldGroups::default());
            bytes = group.len();
        }
        let Some(last) = parts.last_mut() else { break };
        if has_state { last.groups.push(group) } else { last.gone.push(group) }
    }
    parts
}
