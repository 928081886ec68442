//! What outlives a server, and what keeps one from starting.

use std::fs;
use std::net::TcpListener;

use jute::OpCode;
use server::{Server, StartError};

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
    assert_eq!(jute::Reader::new(&body).i32(), Ok(written));
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
    let server = Server::start(config).unwrap();
    assert_eq!(Client::connect(&server).get("/kept"), Ok(b"value".to_vec()));
}
