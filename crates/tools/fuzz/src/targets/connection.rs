//! What a client sends to a whole member: front, core, tree and journal as shipped, on a simulated disk.

use base::{Now, Secret};
use consensus_replica::MemberId;
use council_frontend::auth::SaslConfig;
use council_frontend::{AuthConfig, FrontConfig};
use council_replica::CoreConfig;
use council_tree::Policy;
use council_wire::{ConnectRequest, OpCode, SessionId, Writer};
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::{Node, NodeConfig, STEPS, small_journal};
use storage_raft_log::KeepPolicy;

use super::restart;
use crate::golden;

pub(crate) const START: Now = Now::of_ms(1_000, 1_700_000_000_000);

/// In the first byte: the handshake was done before.
const SHAKEN: u8 = 1;
/// A snapshot is taken meanwhile.
const SNAPSHOT: u8 = 2;
/// The client never reads what it is answered.
const DEAF: u8 = 4;
/// The connection goes away without a word.
const GONE: u8 = 8;
/// Time passes between pieces.
const SLOW: u8 = 16;
/// The process is started again.
const RESTART: u8 = 32;

/// So many that the other client's session outlives them.
const SLOW_PIECES_MAX: usize = 100;

/// The first byte says how, the second how long the pieces are in which the rest arrives.
pub(crate) fn run(bytes: &[u8]) {
    let Some((&[how, piece], bytes)) = bytes.split_first_chunk() else { return };
    let disk = SimDisk::new(1);
    let mut node = Node::start(disk.clone(), &config(), START).expect("the disk is empty and well");
    let mut good = Client::connect(&mut node, 60_000);
    let mut bad = (how & SHAKEN != 0).then(|| Client::connect(&mut node, 60_000));
    node.settle().expect("the member is well");
    good.replies(&mut node);
    let conn = bad.as_ref().map_or_else(|| node.connect(), Client::conn);
    if let Some(bad) = &mut bad {
        bad.replies(&mut node);
    }
    if how & SNAPSHOT != 0 {
        node.core().request_snapshot();
    }
    for (number, part) in bytes.chunks(1 + 8 * usize::from(piece)).enumerate() {
        node.send(conn, part);
        node.step(STEPS[number % STEPS.len()]).expect("the member is well");
        if how & SLOW != 0 && number < SLOW_PIECES_MAX {
            node.pass(500);
        }
        if how & DEAF == 0 {
            node.take(conn);
        }
    }
    node.settle().expect("the member is well");
    if how & GONE != 0 {
        node.disconnect(conn);
    }
    good.ask(&mut node, OpCode::Ping, |_| ());
    good.create(&mut node, "/good-", b"x", 2);
    node.settle().expect("the member is well");
    let answers = good.replies(&mut node);
    assert!(answers.iter().any(|reply| reply.xid == -2), "another client's ping was not answered");
    let created = answers.iter().find(|reply| reply.xid > 0).expect("another client's write was answered");
    // It may have been refused: whoever may change the root's ACL may shut others out.
    assert!([0, council_wire::ErrorCode::NoAuth.code()].contains(&created.err), "{created:?}");
    if how & RESTART != 0 {
        restart::check(node, disk);
    }
}

/// Small files and low limits, so that a short input meets them.
pub(crate) fn config() -> NodeConfig {
    let policy = Policy::standard()
        | Policy::EXTENDED_TYPES
        | Policy::ENFORCE_QUOTA
        | Policy::SASL_KNOWN
        | Policy::RECONFIG_ENABLED;
    let users = [("bob", Secret("secret".into()))].into_iter().collect();
    let sasl =
        SaslConfig { super_users: vec!["bob".into()], allow_failed_clients: true, ..SaslConfig::new(&users) };
    NodeConfig {
        founders: vec![MemberId(1)],
        piece_bytes: 4 << 10,
        chunks_at_once: 4,
        snapshot_bytes_per_second: u64::MAX,
        journal_seed: None,
        core: CoreConfig { tick_ms: 100, ..CoreConfig::new(MemberId(1), 1) },
        front: FrontConfig {
            policy,
            auth: AuthConfig {
                sasl: Some(sasl),
                ensemble_names: Some(vec!["one".into()]),
                ..AuthConfig::default()
            },
            timeout_min_ms: 200,
            timeout_max_ms: 60_000,
            request_bytes_max: 20_000,
            request_skip_bytes_max: 30_000,
            outstanding_max: 20,
            waiting_reads_max: 5,
            in_flight_bytes_max: 40_000,
            watches_per_connection_max: 20,
            output_bytes_max: 20_000,
            output_bytes_close_max: 100_000,
            history_bytes_max: 2_000,
            audit: true,
            ..FrontConfig::default()
        },
        journal: small_journal(),
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        seed: [7; 32],
    }
}

/// Real conversations, behind a handshake of their own and without one.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, frames) in golden::conversations().iter().enumerate() {
        let sent = frames.iter().filter(|frame| frame.kind == "request");
        let stream: Vec<u8> = sent.flat_map(|frame| golden::framed(&frame.bytes)).collect();
        let piece = [200, 3, 20][number % 3];
        let others = [0, SNAPSHOT, DEAF, GONE, SLOW, RESTART, SNAPSHOT | RESTART][number % 7];
        seeds.push([&[SHAKEN | others, piece], stream.as_slice()].concat());
        seeds.push([&[others, piece], handshake().as_slice(), stream.as_slice()].concat());
    }
    for word in [&b"ruok"[..], b"mntr", b"conf", b"wchp", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00"]
    {
        seeds.push([&[0, 1], word].concat());
    }
    seeds
}

fn handshake() -> Vec<u8> {
    let mut body = Vec::new();
    ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout_ms: 10_000,
        session_id: SessionId::NONE.0,
        password: Some(&[0; 16]),
        read_only: Some(false),
    }
    .write(&mut Writer::new(&mut body));
    golden::framed(&body)
}
