//! Rule 34. numChildren and dataLength: a Stat agrees with the data and the children that are shown with it, and with
//! the children that there are.
//!
//! Source: ZooKeeper's programmer's guide, on the Stat structure.

use std::collections::BTreeMap;

use crate::oracle::model::parent;
use crate::rules::{Evidence, Findings, Standing};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for shown in evidence.shown() {
        findings.judged("Stats");
        let stat = shown.stat;
        let is = |count: usize, told: i32| usize::try_from(told) == Ok(count);
        let fits_data = shown.data.is_none_or(|length| is(length, stat.data_length));
        let fits_children = shown.children.is_none_or(|count| is(count, stat.num_children));
        let life = evidence.lives().at(shown.path, shown.zxid);
        let fits_life = life.is_none_or(|life| life.children(shown.zxid) == stat.num_children);
        if !(fits_data && fits_children && fits_life) {
            findings.add(format!("{} at {:x} shows {stat:?}", shown.tell(evidence), shown.zxid));
        }
    }
    for standing in evidence.standings {
        trees(standing, findings);
    }
}

/// A member's tree in the end, counted through.
fn trees(standing: &Standing, findings: &mut Findings) {
    let mut counted: BTreeMap<&str, i32> = BTreeMap::new();
    for path in standing.nodes.keys().filter(|path| *path != "/") {
        *counted.entry(parent(path)).or_default() += 1;
    }
    for (path, held) in &standing.nodes {
        let count = counted.get(path.as_str()).copied().unwrap_or(0);
        if held.stat.num_children != count {
            let (member, told) = (standing.member, held.stat.num_children);
            findings.add(format!("member {member} counts {told} children of `{path}`, and holds {count}"));
        }
    }
}
