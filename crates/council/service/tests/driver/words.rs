//! Four-letter words over real sockets.

use std::io::Write;

use council_service::Server;
use council_service::config::WordConfig;
use council_wire::OpCode;

use crate::fixture::{Client, Directory, dial, read_all, word};

#[test]
fn every_word_is_answered_in_full_behind_a_half_close() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 2;
    let server = Server::start(config).unwrap();
    let mut client = Client::connect(&server);
    assert_eq!(client.create("/e", b"", 1), 0);
    let (error, _) = client.ask(OpCode::GetData, |writer| {
        writer.text("/e").bool(true);
    });
    assert_eq!(error, 0);
    let session = format!("{:#x}", client.session.id);

    assert_eq!(word(&server, b"ruok"), "imok");
    assert_eq!(word(&server, b"isro"), "rw");
    assert_eq!(word(&server, b"gtmk"), "306");
    assert_eq!(word(&server, b"stmk\0\0\0\0\0\0\0\x05"), "5");
    assert_eq!(word(&server, b"gtmk"), "5");
    // The start itself is a transaction: the first of its epoch.
    let hash = word(&server, b"hash");
    assert!(hash.starts_with("100000000: ") && hash.lines().count() == 1, "{hash}");
    let srvr = word(&server, b"srvr");
    assert!(srvr.starts_with("Zookeeper version: 3.9.5-diwan-"), "{srvr}");
    assert!(srvr.ends_with("Mode: standalone\nNode count: 6\n"), "{srvr}");
    let stat = word(&server, b"stat");
    assert!(stat.contains("\nClients:\n /127.0.0.1:"), "{stat}");
    let cons = word(&server, b"cons");
    assert!(cons.contains(&format!("sid={session},lop=GETD")), "{cons}");
    let dump = word(&server, b"dump");
    assert!(dump.contains(&format!("Sessions with Ephemerals (1):\n{session}:\n\t/e\n")), "{dump}");
    assert!(dump.contains("Session Sets (1)/(1):\n1 expire at "), "{dump}");
    assert_eq!(word(&server, b"wchs"), "1 connections watching 1 paths\nTotal watches:1\n");
    assert_eq!(word(&server, b"wchc"), format!("{session}\n\t/e\n\n"));
    assert_eq!(word(&server, b"wchp"), format!("/e\n\t{session}\n\n"));
    assert!(
        word(&server, b"conf").contains(&format!("clientPort={}\n", server.client_addr().unwrap().port()))
    );
    assert!(word(&server, b"dirs").starts_with("datadir_size: "));
    assert!(word(&server, b"envi").starts_with("Environment:\nzookeeper.version=3.9.5"));
    let mntr = word(&server, b"mntr");
    assert!(mntr.contains("\nzk_znode_count\t6\n") && mntr.contains("\nzk_watch_count\t1\n"), "{mntr}");
    assert_eq!(word(&server, b"crst"), "Connection stats reset.\n");
    assert_eq!(word(&server, b"srst"), "Server stats reset.\n");
}

#[test]
fn a_word_without_a_half_close_is_answered_and_the_connection_closed() {
    let directory = Directory::new();
    let server = Server::start(directory.config()).unwrap();
    for bytes in [&b"ruok"[..], b"ruok\n", b"ruokruokruok"] {
        let mut stream = dial(&server);
        stream.write_all(bytes).unwrap();
        assert_eq!(read_all(&mut stream), b"imok");
    }
}

#[test]
fn a_word_off_the_list_is_refused_by_name() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.words = WordConfig::default();
    let server = Server::start(config).unwrap();
    assert_eq!(word(&server, b"ruok"), "ruok is not executed because it is not in the whitelist.\n");
    assert!(word(&server, b"srvr").starts_with("Zookeeper version: "));
}

#[test]
fn many_ask_at_once() {
    let directory = Directory::new();
    let mut config = directory.config();
    config.listen.shards = 2;
    let server = Server::start(config).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(word(&server, b"mntr").contains("zk_znode_count\t5\n"));
                }
            });
        }
    });
}
