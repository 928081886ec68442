//! Backups: read, refused, and made data directories of.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use council_service::backup;
use council_service::config::{MemberConfig, MemberNumber, Roster};
use council_service::{Server, ServerConfig};

use crate::fixture::{Client, Directory, SUPER, get, read_all, until, word};
use crate::trio::Ensemble;

const ONE: MemberNumber = MemberNumber(1);

fn config(directory: &Directory) -> ServerConfig {
    let mut config = directory.config();
    config.admin.address = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    config
}

/// Has a server give a snapshot, and puts it into a file.
fn back_up(server: &Server, directory: &Directory) -> PathBuf {
    let mut stream = TcpStream::connect(server.admin_addr().unwrap()).unwrap();
    write!(stream, "GET /commands/snapshot HTTP/1.1\r\n{SUPER}\r\n").unwrap();
    let bytes = read_all(&mut stream);
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    directory.write("tree.snap", &bytes[end + 4..])
}

/// A server's backup, and what it gave out after that.
fn backup_of_a_server(directory: &Directory) -> (PathBuf, i64) {
    let server = Server::start(config(directory)).unwrap();
    let mut client = Client::connect(&server);
    for number in 0..20 {
        assert_eq!(client.create(&format!("/n{number}"), b"kept", 0), 0);
    }
    let file = back_up(&server, directory);
    assert_eq!(client.create("/late", b"", 0), 0);
    (file, zxid(&server))
}

fn zxid(server: &Server) -> i64 {
    let text = word(server, b"srvr");
    let digits = text.split("Zxid: 0x").nth(1).unwrap().split('\n').next().unwrap();
    i64::from_str_radix(digits, 16).unwrap()
}

fn has_all(server: &Server) -> bool {
    let mut client = Client::connect(server);
    (0..20).all(|number| client.get(&format!("/n{number}")) == Ok(b"kept".to_vec()))
}

#[test]
fn backup_says_what_it_holds_and_damage_is_found() {
    let directory = Directory::new();
    let (file, _) = backup_of_a_server(&directory);
    let summary = backup::read(&file).unwrap().summary;
    assert_eq!((summary.sessions, summary.bytes), (1, fs::metadata(&file).unwrap().len()));
    assert!(summary.nodes >= 20 && summary.last_zxid.0 == 0x1_0000_0015, "{summary:?}");

    let sound = fs::read(&file).unwrap();
    let refused = |content: &[u8], what: &str| {
        let file = directory.write("other.snap", content);
        let error = backup::read(&file).unwrap_err().to_string();
        assert!(error.contains(what) && !error.contains("data directory"), "{error}");
    };
    refused(b"", "empty");
    refused(b"{\n  \"command\" : \"snapshot\",\n  \"error\" : null\n}\n", "a server that refused");
    refused(b"ZKSN\0\0\0\x02", "ZooKeeper's");
    refused(&[0x1f, 0x8b, 8, 0], "gzip");
    refused(b"nonsense, and more than a head's bytes of it", "it does not begin as ours do");
    refused(&sound[..sound.len() - 1], "no end");
    for at in (0..sound.len()).step_by(sound.len() / 64) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x10;
        refused(&damaged, "");
    }
    let longer = [&sound[..], b"x"].concat();
    refused(&longer, "no end");
}

#[test]
fn restored_server_goes_on_behind_every_zxid_of_the_lost_one() {
    let (old, new) = (Directory::new(), Directory::new());
    let (file, last) = backup_of_a_server(&old);
    let config = config(&new);
    let gone_on_from =
        backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now()).unwrap();
    assert!(gone_on_from.0 > last && gone_on_from.epoch() > 2, "{gone_on_from}");
    let server = Server::start(config.clone()).unwrap();
    assert!(has_all(&server) && zxid(&server) > gone_on_from.0);
    assert_eq!(Client::connect(&server).get("/late"), Err(-101));
    server.stop();
    // It is a data directory like any other from now on.
    assert!(has_all(&Server::start(config.clone()).unwrap()));
    let again =
        backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now()).unwrap_err();
    assert!(again.to_string().contains("there is data already"), "{again}");
    assert!(has_all(&Server::start(config).unwrap()), "what is there is left alone");
}

#[test]
fn log_in_a_directory_of_its_own_is_restored_there() {
    let (old, new) = (Directory::new(), Directory::new());
    let (file, _) = backup_of_a_server(&old);
    let mut config = config(&new);
    config.storage.log_dir = Some(new.0.join("apart"));
    backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now()).unwrap();
    assert!(new.0.join("apart/log").is_dir() && !new.0.join("data/log").exists());
    assert!(has_all(&Server::start(config).unwrap()));
}

#[test]
fn backup_that_is_restored_twice_gives_out_other_zxids() {
    let (old, first, second) = (Directory::new(), Directory::new(), Directory::new());
    let (file, _) = backup_of_a_server(&old);
    let now = SystemTime::now();
    let storage = |directory| config(directory).storage;
    let before = backup::restore(backup::read(&file).unwrap(), &storage(&first), ONE, now).unwrap();
    let server = Server::start(config(&first)).unwrap();
    assert_eq!(Client::connect(&server).create("/given-out", b"", 0), 0);
    let given_out = zxid(&server);
    let later = now + Duration::from_secs(60);
    let after = backup::restore(backup::read(&file).unwrap(), &storage(&second), ONE, later).unwrap();
    assert!(after.0 > given_out && given_out > before.0, "{after} behind {given_out:#x}");
}

#[test]
fn another_restoration_leaves_the_log_of_another_server_alone() {
    let (old, new) = (Directory::new(), Directory::new());
    let (file, _) = backup_of_a_server(&old);
    let mut config = config(&new);
    let restore = |config: &ServerConfig| {
        backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now())
    };
    let apart = |name: &str| Some(new.0.join(name));
    config.storage.log_dir = apart("mine");
    restore(&config).unwrap();
    let data = config.storage.data_dir.clone();
    let own_log = new.0.canonicalize().unwrap().join("mine/log");
    fs::write(data.join(".restore-unfinished"), own_log.to_str().unwrap()).unwrap();
    // The configuration names another server's log now.
    fs::create_dir_all(new.0.join("theirs/log")).unwrap();
    fs::write(new.0.join("theirs/log/1.seg"), b"theirs").unwrap();
    config.storage.log_dir = apart("theirs");
    for mark in [own_log.to_str().unwrap(), ""] {
        fs::write(data.join(".restore-unfinished"), mark).unwrap();
        let refused = restore(&config).unwrap_err().to_string();
        assert!(refused.contains("there is data already") && refused.contains("theirs/log"), "{refused}");
        assert_eq!(fs::read(new.0.join("theirs/log/1.seg")).unwrap(), b"theirs");
        assert!(own_log.is_dir() && data.join("meta").exists(), "nothing was changed");
    }
    // An empty place is taken, and what the interrupted restoration made elsewhere goes.
    fs::write(data.join(".restore-unfinished"), own_log.to_str().unwrap()).unwrap();
    config.storage.log_dir = apart("third");
    restore(&config).unwrap();
    assert!(!own_log.exists() && new.0.join("third/log").is_dir());
    assert!(has_all(&Server::start(config).unwrap()));
}

#[test]
fn zookeepers_data_directory_is_restored_into_by_no_means() {
    let (old, new) = (Directory::new(), Directory::new());
    let (file, _) = backup_of_a_server(&old);
    let config = config(&new);
    let data = &config.storage.data_dir;
    fs::create_dir_all(data.join("version-2")).unwrap();
    let refused = backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now());
    assert!(refused.unwrap_err().to_string().contains("`version-2`"));
    assert_eq!(fs::read_dir(data).unwrap().count(), 1, "nothing was changed");
}

/// Every state that a crash can leave: the mark, and then no part, some part, or all of what is written.
#[test]
fn interrupted_restoration_starts_no_server_and_can_be_run_again() {
    let (old, new) = (Directory::new(), Directory::new());
    let (file, _) = backup_of_a_server(&old);
    let config = config(&new);
    let data = config.storage.data_dir.clone();
    let remove = |part: &str| {
        let path = data.join(part);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    };
    let states: [&[&str]; 4] = [&[], &["meta"], &["meta", "snapshot"], &["meta", "snapshot", "log"]];
    for missing in states {
        backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now()).unwrap();
        fs::write(data.join(".restore-unfinished"), "").unwrap();
        missing.iter().for_each(|part| remove(part).unwrap());
        let refused = Server::start(config.clone()).err().unwrap().to_string();
        assert!(refused.contains("was interrupted; hint: run `diwan council restore` again"), "{refused}");
        backup::restore(backup::read(&file).unwrap(), &config.storage, ONE, SystemTime::now()).unwrap();
        let server = Server::start(config.clone()).unwrap();
        assert!(has_all(&server), "{missing:?} was missing");
        drop(server);
        ["meta", "snapshot", "log"].iter().for_each(|part| remove(part).unwrap());
    }
}

fn all_have(ensemble: &Ensemble, path: &str) -> bool {
    ensemble.members.values().all(|member| Client::connect(member).get(path).is_ok())
}

fn restore_member(ensemble: &Ensemble, number: u64, file: &Path) -> i64 {
    let storage = ensemble.config(number).storage;
    let number = MemberNumber::try_from(number).unwrap();
    backup::restore(backup::read(file).unwrap(), &storage, number, SystemTime::now()).unwrap().0
}

#[test]
fn ensemble_goes_on_from_a_backup_and_old_members_stay_out() {
    let mut ensemble = Ensemble::start(false);
    assert_eq!(Client::connect(&ensemble.members[&2]).create("/kept", b"", 0), 0);
    until("all have it", || all_have(&ensemble, "/kept"));
    let elsewhere = Directory::new();
    let file = back_up(&ensemble.members[&2], &elsewhere);
    let mut late = Client::connect(&ensemble.members[&1]);
    assert_eq!(late.create("/late", b"", 0), 0);
    let last = ensemble.members.values().map(zxid).max().unwrap();
    // All disks are lost but that of member 3.
    ensemble.members.clear();
    for number in [1, 2] {
        ensemble.directories.insert(number, Directory::new());
    }
    assert!(restore_member(&ensemble, 2, &file) > last);

    ensemble.start_member(2);
    ensemble.until_all_serve();
    // A client that saw what is lost is not sent away for being ahead: its session is the backup's no more.
    assert!(Client::resume(&ensemble.members[&2], late.session).is_none());
    ensemble.start_member(1);
    ensemble.until_all_serve();
    assert!(all_have(&ensemble, "/kept"));
    assert!(ensemble.members.values().all(|member| zxid(member) > last));

    // Member 3 comes with its old data: it gets no part in this ensemble, and serves no client.
    ensemble.start_member(3);
    let told = || get(ensemble.members[&2].admin_addr().unwrap(), "/commands/ensemble").1;
    let mut writer = Client::connect(&ensemble.members[&2]);
    for number in 0..50 {
        assert_eq!(writer.create(&format!("/w{number}"), b"", 0), 0);
    }
    assert!(!ensemble.members[&3].is_serving(), "{}", told());
    drop(ensemble.members.remove(&3));
    ensemble.directories.insert(3, Directory::new());
    ensemble.start_member(3);
    ensemble.until_all_serve();
    until("the empty one has caught up", || all_have(&ensemble, "/w49"));
    assert!(Client::connect(&ensemble.members[&3]).get("/late") == Err(-101));
}

#[test]
fn members_are_those_of_the_configuration_whatever_the_backup_says() {
    let (old, elsewhere) = (Directory::new(), Directory::new());
    // A server that was alone names nobody; an ensemble of other hosts names others.
    let (alone, _) = backup_of_a_server(&old);
    let others = Ensemble::start(false);
    let of_others = back_up(&others.members[&1], &elsewhere);
    drop(others);
    for file in [alone, of_others] {
        let mut ensemble = Ensemble::named();
        restore_member(&ensemble, 3, &file);
        ensemble.start_member(3);
        ensemble.until_all_serve();
        for number in [1, 2] {
            ensemble.start_member(number);
        }
        ensemble.until_all_serve();
        let text = Client::connect(&ensemble.members[&1]).get("/zookeeper/config").unwrap();
        let places = |roster: &Roster| -> Vec<_> {
            let place = |member: &MemberConfig| (member.number, member.host.clone(), member.peer_port);
            roster.members().map(place).collect()
        };
        let own = ensemble.config(1).ensemble.unwrap().roster();
        assert_eq!(places(&Roster::parse(&text).unwrap()), places(&own));
    }
}
