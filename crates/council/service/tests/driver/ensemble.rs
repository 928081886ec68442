//! Three members in one process: what each tells of itself and of the others, in words, on pages, in metrics.

use std::collections::BTreeSet;

use council_service::Server;
use serde_json::Value;

use crate::fixture::{Client, get, until, word};
use crate::metrics::number;
use crate::trio::Ensemble;

/// What a leader of ZooKeeper 3.9.5 shows beyond a server alone; the first two its followers show, too.
const OF_A_LEADER: [&str; 11] = [
    "zk_peer_state",
    "zk_quorum_size",
    "zk_last_proposal_size",
    "zk_leader_uptime",
    "zk_learners",
    "zk_max_proposal_size",
    "zk_min_proposal_size",
    "zk_pending_syncs",
    "zk_synced_followers",
    "zk_synced_non_voting_followers",
    "zk_synced_observers",
];

fn page(server: &Server, command: &str) -> Value {
    let (status, body) = get(server.admin_addr().unwrap(), &format!("/commands/{command}"));
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn keys(server: &Server) -> BTreeSet<String> {
    let mntr = word(server, b"mntr");
    mntr.lines().map(|line| String::from(line.split('\t').next().unwrap())).collect()
}

#[test]
fn words_tell_a_leader_from_its_followers() {
    let ensemble = Ensemble::start(false);
    let (leaders, followers) = (ensemble.by_mode("leader"), ensemble.by_mode("follower"));
    assert_eq!((leaders.len(), followers.len()), (1, 2));
    let (leader, follower) = (&ensemble.members[&leaders[0]], &ensemble.members[&followers[0]]);
    let mut client = Client::connect(follower);
    assert_eq!(client.create("/a", b"x", 0), 0);

    let srvr = word(leader, b"srvr");
    let last = srvr.lines().last().unwrap();
    assert!(last.starts_with("Proposal sizes last/min/max: ") && !last.contains("-1"), "{srvr}");
    assert!(word(follower, b"stat").lines().last().unwrap().starts_with("Node count: "));
    assert_eq!(word(follower, b"isro"), "rw");

    let conf = word(follower, b"conf");
    assert!(conf.contains(&format!("\nserverId={}\ninitLimit=7\nsyncLimit=0\n", followers[0])), "{conf}");
    assert!(conf.contains("\nelectionAlg=3\nelectionPort=3888\nquorumPort="), "{conf}");
    assert!(conf.contains("\npeerType=0\nmembership: \nserver.1=127."), "{conf}");
    assert!(conf.ends_with(":participant;0.0.0.0:2181\nversion=0"), "{conf}");

    let more: BTreeSet<_> = keys(leader).difference(&keys(follower)).cloned().collect();
    let theirs: BTreeSet<_> = OF_A_LEADER[2..].iter().map(|key| String::from(*key)).collect();
    let ours = |key: &&String| key.contains("_diwan_");
    let strange: Vec<_> = more.difference(&theirs).filter(|key| !ours(key)).collect();
    assert!(strange.is_empty(), "{strange:?}");
    let shown = keys(leader);
    assert!(OF_A_LEADER.iter().all(|key| shown.contains(*key)), "{shown:?}");
    assert!(word(leader, b"mntr").contains("\nzk_peer_state\tleading - broadcast\n"));
    assert!(word(follower, b"mntr").contains("\nzk_peer_state\tfollowing - broadcast\n"));
    until("all followers are in step", || number(leader, "zk_synced_followers") == 2.0);
    assert_eq!(number(leader, "zk_quorum_size"), 3.0);
    assert_eq!(number(follower, "zk_diwan_council_leader"), leaders[0] as f64);
    assert!(number(leader, "zk_proposal_count") >= 2.0);
    assert!(number(follower, "zk_learner_commit_received_count") >= 1.0);
}

#[test]
fn pages_tell_who_is_there_and_who_leads() {
    let ensemble = Ensemble::start(true);
    let (leader, observer) = (ensemble.by_mode("leader")[0], &ensemble.members[&3]);
    assert_eq!(ensemble.by_mode("observer"), [3]);
    for (number, server) in &ensemble.members {
        let told = page(server, "leader");
        assert_eq!((&told["leader_id"], &told["is_leader"]), (&leader.into(), &(*number == leader).into()));
        assert!(told["leader_ip"].as_str().unwrap().starts_with("127."), "{told}");
        let view = page(server, "voting_view");
        let voters: Vec<_> = view["current_config"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(voters, ["1", "2"]);
        assert_eq!(view["current_config"]["1"]["client_address"], "0.0.0.0:2181");
        let state = page(server, "zabstate");
        assert_eq!((&state["myid"], &state["voting"]), (&(*number).into(), &(*number != 3).into()));
    }
    let leader = &ensemble.members[&leader];
    until("the observer is in step", || page(leader, "observers")["synced_observers"] == 1);
    assert_eq!(page(leader, "observers")["observers"][0]["sid"], 3);
    assert_eq!(page(observer, "observers")["synced_observers"], 0);
    assert!(page(leader, "server_stats")["proposal_stats"].is_object());
    assert!(page(observer, "server_stats")["proposal_stats"].is_null());
    let monitor = page(observer, "monitor");
    assert_eq!(monitor["peer_state"], "observing - broadcast");
    assert_eq!(monitor["observer_master_id"], page(observer, "leader")["leader_id"]);
}

#[test]
fn whoever_is_left_tells_that_one_is_gone() {
    let mut ensemble = Ensemble::start(false);
    let leader = ensemble.by_mode("leader")[0];
    let told = page(&ensemble.members[&leader], "ensemble");
    assert_eq!((&told["role"], &told["leader"]), (&"leader".into(), &leader.into()));
    assert!(told["lease_ms"].as_u64().unwrap() > 0 && told["serving"] == true, "{told}");
    let members = told["members"].as_array().unwrap();
    let lags = members.iter().filter(|member| member["lag_entries"].is_u64()).count();
    assert_eq!((members.len(), lags), (3, 2), "{told}");
    assert!(members.iter().all(|member| member["connected"] == true), "{told}");

    drop(ensemble.members.remove(&leader));
    until("another leads", || ensemble.by_mode("leader").len() == 1);
    for server in ensemble.members.values() {
        let gone = format!("zk_{leader}_diwan_council_peer_connected");
        until("both have noticed", || number(server, &gone) == 0.0);
        assert!(number(server, "zk_diwan_council_elections") >= 2.0);
        assert!(number(server, "zk_cnt_election_time") >= 1.0);
    }
    // Alone, the last one has no leader, and says so itself.
    let last = *ensemble.members.keys().next().unwrap();
    ensemble.members.retain(|number, _| *number == last);
    let last = &ensemble.members[&last];
    until("it stops serving", || word(last, b"srvr").contains("not currently serving"));
    until("it looks for the others", || page(last, "ensemble")["role"] == "looking");
    assert_eq!(page(last, "ensemble")["members"].as_array().unwrap().len(), 3);
    assert_eq!(page(last, "leader")["error"], "This ZooKeeper instance is not currently serving requests");
}
