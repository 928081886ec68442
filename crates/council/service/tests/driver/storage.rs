//! What outlives a server, and what keeps one from starting.

use base::{LogIndex, MemberId, Term};
use std::fs;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use council_service::disk::DirDisk;
use council_service::{Server, StartError};
use council_tree::{Command, Operation};
use council_wire::{OpCode, Writer};
use storage_raft_log::{Batch, Entry, EntryKind, HardState, Identity, Journal, JournalConfig};

use crate::fixture::{Client, Directory};

#[test]
fn nodes_and_sessions_are_there_after_a_restart() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/kept", b"value", 0), 0);
    assert_eq!(client.create("/mine", b"", 1), 0);
    server.stop();
    assert!(client.reply().is_none(), "a stopping server closes its connections");
    drop(server);

    let server = Server::start(directory.config()).unwrap();
    let mut again = Client::resume(&server, client.session).unwrap();
    assert_eq!(again.get("/kept"), Ok(b"value".to_vec()));
    assert_eq!(again.get("/mine"), Ok(Vec::new()));
    assert_eq!(again.ask(OpCode::CloseSession, |_| {}).0, 0);
    assert_eq!(Client::connect(&server).get("/mine"), Err(-101));
}

#[test]
fn snapshots_are_taken_while_writes_go_on_and_carry_a_restart() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.storage.snapshot_after_transactions = 300;
    config.storage.snapshots_kept = 1;
    let server = Server::start(config.clone()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/s", b"", 0), 0);
    let snapshots = directory.0.join("data/snapshot");
    let count = || {
        fs::read_dir(&snapshots).map_or(0, |files| {
            files.flatten().filter(|file| file.file_name().to_string_lossy().ends_with(".snap")).count()
        })
    };
    let mut written = 0;
    while count() == 0 {
        assert_eq!(client.create(&format!("/s/{written:06}"), &[7; 500], 0), 0);
        written += 1;
    }
    drop(server);
    let server = Server::start(config).unwrap();
    let mut client = Client::resume(&server, client.session).unwrap();
    let (_, body) = client.ask(OpCode::GetAllChildrenNumber, |writer| {
        writer.text("/s");
    });
    assert_eq!(council_wire::Reader::new(&body).i32(), Ok(written));
}

#[test]
fn a_data_directory_in_use_is_refused() {
    let directory = Directory::new();
    let _first = Server::start(directory.config()).unwrap();
    let refusal = Server::start(directory.config()).err().unwrap();
    assert!(matches!(refusal, StartError::Directory(_)), "{refusal}");
    assert!(refusal.to_string().contains("in use by another process"), "{refusal}");
}

#[test]
fn the_data_of_a_zookeeper_is_left_alone() {
    let directory = Directory::new();
    let data = directory.0.join("data/version-2");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("log.1"), b"precious").unwrap();
    let refusal = Server::start(directory.config()).err().unwrap();
    assert!(refusal.to_string().contains("version-2"), "{refusal}");
    let names: Vec<_> =
        fs::read_dir(directory.0.join("data")).unwrap().flatten().map(|file| file.file_name()).collect();
    assert_eq!(names, ["version-2"]);
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let directory = Directory::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = directory.config();
    config.listen.client = Some(taken.local_addr().unwrap());
    let refusal = Server::start(config).err().unwrap().to_string();
    assert!(refusal.contains(&taken.local_addr().unwrap().to_string()), "{refusal}");
    assert!(refusal.contains("hint: another server listens there"), "{refusal}");
    assert!(!directory.0.join("data").exists(), "nothing was touched");
}

#[test]
fn a_log_on_a_disk_of_its_own() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.storage.log_dir = Some(directory.0.join("log-disk"));
    let server = Server::start(config.clone()).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/kept", b"value", 0), 0);
    drop(server);
    assert!(!directory.0.join("data/log").exists());
    assert!(fs::read_dir(directory.0.join("log-disk/log")).unwrap().count() > 0);
    for elsewhere in [None, Some(directory.0.join("other-disk"))] {
        let mut config = config.clone();
        config.storage.log_dir = elsewhere;
        let refusal = Server::start(config).err().unwrap().to_string();
        assert!(refusal.contains("its log is not in") && refusal.contains("hint: "), "{refusal}");
    }
    let server = Server::start(config).unwrap();
    assert_eq!(Client::connect(&server).get("/kept"), Ok(b"value".to_vec()));
}

/// The content of a log entry that sets the root's data so many times.
fn many_writes(count: usize) -> Vec<u8> {
    let mut body = Vec::new();
    Writer::new(&mut body).text("/").buffer(Some(b"last")).i32(-1);
    let mut command = Vec::new();
    Command::internal(Operation::Client { opcode: OpCode::SetData, body: &body }).encode(&mut command);
    let mut content = vec![1];
    content.extend(1_700_000_000_000_i64.to_le_bytes());
    for _ in 0..count {
        content.extend((command.len() as u32).to_le_bytes());
        content.extend(&command);
    }
    content
}

#[test]
fn a_log_of_more_transactions_than_a_shard_may_have_waiting_is_recovered() {
    let directory = Directory::new();
    let disk = DirDisk::open(&directory.0.join("data")).unwrap();
    let identity = Identity { member: MemberId(1), ..Identity::default() };
    let config = JournalConfig { identity, ..JournalConfig::default() };
    let (mut journal, _) = Journal::open(disk, config).unwrap();
    journal.append(&consensus_replica::start::founding(vec![MemberId(1)], Vec::new())).unwrap();
    let data = bytes::Bytes::from(many_writes(5_000));
    let entry =
        |index| Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Normal, data: data.clone() };
    let hard_state = Some(HardState { term: Term(1), vote: Some(MemberId(1)), commit: LogIndex::ZERO });
    journal.append(&Batch { hard_state, membership: None, entries: (1..=60).map(entry).collect() }).unwrap();
    drop(journal.close().unwrap());

    let (told, outcome) = mpsc::channel();
    let config = directory.config();
    // Nobody listens any more if this took too long.
    thread::spawn(move || drop(told.send(Server::start(config))));
    let server = outcome.recv_timeout(Duration::from_secs(120)).expect("it starts").unwrap();
    assert_eq!(Client::connect(&server).get("/"), Ok(b"last".to_vec()));
}
