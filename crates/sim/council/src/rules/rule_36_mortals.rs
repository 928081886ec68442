//! Rule 36. Containers and TTL nodes: a container is removed only when it has lost its last child (or never had one for
//! long enough), a TTL node only when it has no child and was not written to for its time, by the clock of the log;
//! and an idle container does go.
//!
//! Source: ZooKeeper's ContainerManager; the recheck at commit is ours.

use crate::oracle::model::Mortality;
use crate::rules::lives::{Life, StepKind};
use crate::rules::{Evidence, Findings, Standing};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for step in &evidence.lives().steps {
        let StepKind::Reaped { mortality, made, children, written_ms, never_used_ms } = step.kind else {
            continue;
        };
        findings.judged(if mortality == Mortality::Container {
            "containers removed"
        } else {
            "TTL nodes removed"
        });
        let idle_ms = step.time_ms - written_ms;
        let is_due = match mortality {
            Mortality::None => false,
            Mortality::Container => made > 0 || (never_used_ms != 0 && idle_ms > never_used_ms),
            Mortality::Ttl(ttl_ms) => idle_ms > ttl_ms,
        };
        if children != 0 || !is_due {
            findings.add(format!(
                "`{}`, {mortality:?}, was removed at {:x} with {children} of {made} children, idle for {idle_ms} ms",
                step.path, step.zxid
            ));
        }
    }
    for standing in evidence.standings {
        linger(evidence, standing, findings);
    }
}

/// Containers that should have gone in the calm.
fn linger(evidence: &Evidence<'_>, standing: &Standing, findings: &mut Findings) {
    let Some(reap_max_ms) = evidence.settings.reap_max_ms() else { return };
    for path in standing.nodes.keys() {
        let Some(life) = evidence.lives().at(path, standing.zxid) else { continue };
        let left_zxid = Life::last(&life.went, standing.zxid);
        let is_idle = life.mortality == Mortality::Container && life.children(standing.zxid) == 0;
        let Some(left_zxid) = left_zxid.filter(|_| is_idle) else { continue };
        let left_ms = evidence.oracle.behind(left_zxid - 1).first().map_or(0, |done| done.at_ms);
        if evidence.history.ended_ms > left_ms + reap_max_ms {
            findings.add(format!(
                "member {} holds the container `{path}`, empty since {left_zxid:x} ({left_ms} ms)",
                standing.member
            ));
        }
    }
}
