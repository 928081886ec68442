//! The metrics of a member among others: ZooKeeper's names for what has a counterpart here, then ours. A server alone
//! has none of them.

use std::sync::atomic::Ordering::Relaxed;

use base::MemberNumber;

use super::catalog::{Inputs, big, whole};
use crate::counters::leadership::ProposalSizes;
use crate::ensemble::EnsembleView;
use node_metrics::Sample;

/// See the module.
pub(super) fn samples(known: &Inputs<'_>) -> Vec<Sample> {
    let Some(ensemble) = known.ensemble else { return Vec::new() };
    let mut list = gauges(ensemble);
    if ensemble.stand.leads {
        list.extend(of_leader(known, ensemble));
    }
    list.extend(counted(known));
    list.extend(own(known, ensemble));
    list
}

fn gauges(ensemble: &EnsembleView) -> Vec<Sample> {
    let voters = ensemble.members.iter().filter(|member| member.votes).count();
    vec![Sample::gauge("quorum_size", "Members that vote", whole(voters))]
}

/// What only a leader shows, as in ZooKeeper.
fn of_leader(known: &Inputs<'_>, ensemble: &EnsembleView) -> Vec<Sample> {
    let synced = |votes: bool| {
        whole(ensemble.others().filter(|member| member.votes == votes && member.is_synced()).count())
    };
    let learners = ensemble.others().filter(|member| member.is_connected()).count();
    let [last, min, max] = ProposalSizes::shown(known.leadership.proposal_sizes());
    vec![
        Sample::gauge("learners", "Members connected to their leader", whole(learners)),
        Sample::gauge("synced_followers", "Followers that keep up", synced(true)),
        Sample::gauge("synced_observers", "Observers that keep up", synced(false)),
        Sample::gauge(
            "synced_non_voting_followers",
            "Followers without a vote: there are none, whoever has no vote is an observer",
            0,
        ),
        Sample::gauge("pending_syncs", "Syncs that wait for a leader: they wait at their own member here", 0),
        Sample::gauge("leader_uptime", "Milliseconds of this reign", big(ensemble.leading_ms.unwrap_or(0))),
        Sample::gauge("last_proposal_size", "Bytes of the last log entry proposed", last),
        Sample::gauge("min_proposal_size", "Bytes of the smallest log entry proposed", min),
        Sample::gauge("max_proposal_size", "Bytes of the largest log entry proposed", max),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn counted(known: &Inputs<'_>) -> Vec<Sample> {
    let leadership = known.leadership;
    vec![
        Sample::counter(
            "looking_count",
            "Times that this member had no leader",
            leadership.looked.load(Relaxed),
        ),
        Sample::counter(
            "proposal_count",
            "Log entries proposed while this member led; each holds many writes",
            leadership.proposals.load(Relaxed),
        ),
        Sample::counter(
            "commit_count",
            "Log entries applied while this member led; each holds many writes",
            leadership.commits.load(Relaxed),
        ),
        Sample::counter(
            "learner_proposal_received_count",
            "Log entries received from a leader; each holds many writes",
            leadership.learner_proposals.load(Relaxed),
        ),
        Sample::counter(
            "learner_commit_received_count",
            "Log entries applied under a leader elsewhere; each holds many writes",
            leadership.learner_commits.load(Relaxed),
        ),
        Sample::summary(
            "election_time",
            "From when no leader was known until one was, ms",
            leadership.election_ms.snapshot(),
        ),
        Sample::summary(
            "leader_unavailable_time",
            "How long clients were not served until this member served them as leader, ms",
            leadership.leader_unavailable_ms.snapshot(),
        ),
        Sample::summary(
            "unavailable_time",
            "How long clients were not served here, ms",
            leadership.unavailable_ms.snapshot(),
        ),
        Sample::summary(
            "follower_sync_time",
            "From when a leader was known until clients were served under it, ms",
            leadership.follower_sync_ms.snapshot(),
        ),
        Sample::detailed(
            "quorum_ack_latency",
            "From handing a proposal to the disk until a majority has it and it is applied, ms",
            leadership.quorum_ack_us.snapshot().scaled(1000),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn own(known: &Inputs<'_>, ensemble: &EnsembleView) -> Vec<Sample> {
    let number = |number: MemberNumber| number.to_string();
    let mut list = vec![
        Sample::gauge("diwan_council_member", "This member's number", i64::from(ensemble.number.0)),
        Sample::gauge("diwan_council_leader", "The number of who leads, 0 for nobody", leader(ensemble)),
        Sample::gauge("diwan_council_leading", "Whether this member leads", i64::from(ensemble.stand.leads)),
        Sample::counter(
            "diwan_council_elections",
            "Leaders and terms that this member has seen",
            known.leadership.leaders_followed.load(Relaxed),
        ),
        Sample::counter(
            "diwan_council_leadership_transfers",
            "How often this member has handed the lead to another",
            ensemble.handed_over,
        ),
        Sample::counter(
            "diwan_council_peer_messages_refused",
            "Messages of other members that were refused: no member that works sends them",
            ensemble.refused_messages,
        ),
        Sample::gauge(
            "diwan_council_members_of_other_ensembles",
            "Members heard of in the last 10 s that have data of another ensemble than this one",
            ensemble.other_ensembles.len() as i64,
        ),
        Sample::gauge(
            "diwan_council_lease_ms",
            "For how long this member may serve without another word of its leader, ms",
            big(ensemble.lease_ms),
        ),
    ];
    list.extend(ensemble.others().map(|member| {
        let connected = i64::from(member.is_connected());
        Sample::gauge("diwan_council_peer_connected", "Whether that member is connected", connected)
            .labelled("member", number(member.number))
    }));
    let lags: Vec<_> = ensemble.others().filter_map(|member| Some((member.number, member.lag?))).collect();
    list.extend(lags.iter().map(|(member, lag)| {
        let help = "Log entries by which that member is behind, as its leader knows";
        Sample::gauge("diwan_council_member_lag_entries", help, big(lag.entries))
            .labelled("member", number(*member))
    }));
    list.extend(lags.iter().map(|(member, lag)| {
        let help = "For how long that member has been behind, as its leader knows, ms";
        Sample::gauge("diwan_council_member_lag_ms", help, big(lag.ms)).labelled("member", number(*member))
    }));
    list
}

fn leader(ensemble: &EnsembleView) -> i64 {
    ensemble.stand.leader.map_or(0, |leader| leader.0.into())
}
