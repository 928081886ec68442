//! One member over a simulated disk: sessions, order, expiry, snapshots, a full disk, crashes.

mod crash;
mod expiry;
mod order;
mod session;
mod shards;
mod snapshot;
mod space;
mod turns;

use base::Now;
use consensus_replica::MemberId;
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use council_wire::ErrorCode;
use sim_council::client::{Client, Reply};
use sim_council::disk::SimDisk;
use sim_council::node::{Node, NodeConfig, small_journal};
use storage_raft_log::KeepPolicy;

/// Small files and short times, so that a short run meets their ends.
fn config() -> NodeConfig {
    NodeConfig {
        founders: vec![base::MemberId(1)],
        core: CoreConfig { tick_ms: 100, ..CoreConfig::new(MemberId(1), 1) },
        front: FrontConfig { timeout_min_ms: 200, timeout_max_ms: 60_000, ..FrontConfig::default() },
        journal: small_journal(),
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        chunks_at_once: 4,
        snapshot_bytes_per_second: u64::MAX,
        journal_seed: None,
        seed: [7; 32],
    }
}

const START: Now = Now::of_ms(1_000, 1_700_000_000_000);

fn start(disk: &SimDisk) -> Node<SimDisk> {
    Node::start(disk.clone(), &config(), START).expect("the disk is well")
}

/// A client with a session.
fn client(node: &mut Node<SimDisk>) -> Client {
    let mut client = Client::connect(node, 10_000);
    node.settle().expect("the disk is well");
    assert_eq!(client.replies(node), []);
    assert!(client.is_connected() && client.session.0 != 0);
    client
}

/// Lets everything happen and gives what the client was answered.
fn answers(node: &mut Node<SimDisk>, client: &mut Client) -> Vec<Reply> {
    node.settle().expect("the disk is well");
    client.replies(node)
}

/// The data in a getData's reply.
fn data(reply: &Reply) -> Result<Option<Vec<u8>>, ErrorCode> {
    match ErrorCode::from_code(reply.err) {
        Some(ErrorCode::Ok) => {
            Ok(council_wire::Reader::new(&reply.body).buffer().expect("a reply is whole").map(<[u8]>::to_vec))
        }
        Some(error) => Err(error),
        None => panic!("{} is no error code", reply.err),
    }
}
