//! Quotas, as ZooKeeper's administrator's guide says them: `zookeeper_limits` below `/zookeeper/quota` and a path says what
//! may lie there, `zookeeper_stats` beside it what does. Written apart from `tree`.

use std::collections::BTreeMap;

use council_wire::ErrorCode;

use super::{Context, Model, below};

/// Bit of the policy of a server that refuses what goes beyond a hard limit.
const ENFORCED: u8 = 1 << 1;
/// What the numbers of a limit are called: the soft one and what there is, and the hard one.
const COUNT: [&str; 2] = ["count", "countHardLimit"];
const BYTES: [&str; 2] = ["bytes", "byteHardLimit"];

fn limits(path: &str) -> String {
    format!("/zookeeper/quota{path}/zookeeper_limits")
}

fn stats(path: &str) -> String {
    format!("/zookeeper/quota{path}/zookeeper_stats")
}

/// The numbers that such a node says.
fn numbers(text: &[u8]) -> Option<BTreeMap<String, i64>> {
    let text = std::str::from_utf8(text).ok()?;
    let pairs = text.split([',', ';']).filter(|pair| !pair.is_empty());
    let number = |pair: &str| {
        let (key, number) = pair.trim_end_matches('=').split_once('=')?;
        Some((key.to_owned(), number.parse().ok()?))
    };
    pairs.map(number).collect()
}

impl Model {
    /// The path under quota that is nearest to this one: itself or above it.
    fn limited(&self, path: &str) -> Option<String> {
        let all = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
        let all: Vec<_> = all.filter(|above| !above.is_empty() && self.now(&limits(above)).is_ok()).collect();
        all.last().map(|above| (*above).to_owned())
    }

    /// Whether a write may bring so much more to a path. Limits, and what there is, are those before the transaction.
    pub(super) fn fits_quota(
        &self,
        path: &str,
        bytes: i64,
        count: i64,
        by: &Context<'_>,
    ) -> Result<(), ErrorCode> {
        let Some(limited) = self.limited(path).filter(|_| by.policy & ENFORCED != 0) else { return Ok(()) };
        let before = |path: String| self.at(&path, by.zxid - 1).map(|node| numbers(&node.data));
        let Some(allowed) = before(limits(&limited)) else { return Ok(()) };
        let allowed = allowed.ok_or(ErrorCode::MarshallingError)?;
        let limit = |name: &str| allowed.get(name).copied().filter(|limit| *limit > -1);
        let concerned = [(COUNT, count), (BYTES, bytes)]
            .into_iter()
            .filter(|(names, more)| *more != 0 && names.iter().any(|name| limit(name).is_some()));
        let concerned: Vec<_> = concerned.collect();
        let Some(there) = before(stats(&limited)).filter(|_| !concerned.is_empty()) else { return Ok(()) };
        let there = there.ok_or(ErrorCode::MarshallingError)?;
        let is_beyond = |([name, hard], more): &([&str; 2], i64)| {
            limit(hard).is_some_and(|limit| there.get(*name).copied().unwrap_or(-1) + more > limit)
        };
        if concerned.iter().any(is_beyond) { Err(ErrorCode::QuotaExceeded) } else { Ok(()) }
    }

    /// So much more lies at a path: the stats say so.
    pub(super) fn count(&mut self, path: &str, bytes: i64, count: i64, zxid: i64) {
        let Some(limited) = self.limited(path) else { return };
        let Some(mut there) = self.now(&stats(&limited)).ok().and_then(|node| numbers(&node.data)) else {
            return;
        };
        for (name, more) in [(COUNT[0], count), (BYTES[0], bytes)] {
            *there.entry(name.to_owned()).or_insert(-1) += more;
        }
        self.write_stats(&limited, &there, zxid);
    }

    /// If this is the stats node of a path that was just made, it counts what there is.
    pub(super) fn count_anew(&mut self, path: &str, zxid: i64) {
        let counted =
            path.strip_prefix("/zookeeper/quota").and_then(|rest| rest.strip_suffix("/zookeeper_stats"));
        let Some(counted) = counted.filter(|counted| !counted.is_empty()) else { return };
        let (mut nodes, mut bytes, inside) = (0, 0, below(counted));
        for (path, node) in self.all_at(i64::MAX) {
            if path == counted || path.starts_with(&inside) {
                (nodes, bytes) = (nodes + 1, bytes + node.data.len() as i64);
            }
        }
        let there = BTreeMap::from([(COUNT[0].to_owned(), nodes), (BYTES[0].to_owned(), bytes)]);
        self.write_stats(counted, &there, zxid);
    }

    /// Only the data of a stats node changes: no version, no time, no event.
    fn write_stats(&mut self, counted: &str, there: &BTreeMap<String, i64>, zxid: i64) {
        let path = stats(counted);
        let Ok(mut node) = self.now(&path).cloned() else { return };
        let number = |name: &str| there.get(name).copied().unwrap_or(-1);
        let text = format!("count={},bytes={}", number(COUNT[0]), number(BYTES[0]));
        (node.data, node.is_null) = (text.into_bytes(), false);
        node.stat.data_length = node.data.len() as i32;
        self.put(&path, zxid, Some(node));
    }
}
