//! Live objects over TLS, in real processes: whom either side refuses, and what it says; what the holder of a certificate may do;
//! clients that never end their handshake; certificates that are renewed; a leader that is killed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
#[path = "objects/keys.rs"]
mod keys;
mod server;
#[path = "objects/wire.rs"]
mod wire;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use group::Group;
use keys::Keys;
use server::{Folder, diwan, said};
use wire::Wire;

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where members serve: an address of each test alone.
const SETTING: &str = "objects.tls.key-store=";

/// One member with a certificate for its host, and further settings.
fn member(keys: &Keys, settings: &[String]) -> Group {
    members(1, keys, settings)
}

fn members(count: usize, keys: &Keys, settings: &[String]) -> Group {
    let mut settings = settings.to_vec();
    settings.push(format!("{SETTING}{}", keys.file("server.pem")));
    let mut group = Group::prepare(count, &settings);
    keys.issue("server", &[&group.host().to_string(), "localhost"]);
    group.restart_all();
    group
}

fn object(group: &Group, arguments: &[&str]) -> (bool, String, String) {
    object_at(&group.addresses().join(","), arguments)
}

fn object_at(servers: &str, arguments: &[&str]) -> (bool, String, String) {
    said(diwan().arg("object").args(arguments).args(["--server", servers]).output().unwrap())
}

#[test]
fn call_over_tls_is_answered_to_who_trusts_the_right_authority_alone() {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let (keys, others) = (Keys::new(folder.path()), Keys::new(other_folder.path()));
    let group = member(&keys, &[]);
    let call = ["call", "counter/visits", "increment", "--tls-ca"];
    let (success, out, errors) = object(&group, &[&call[..], &[&keys.file("ca.pem")]].concat());
    assert!(success && out == "{\"value\":1}\n", "{out}{errors}");
    let https = format!("https://{}", group.addresses()[0]);
    let (success, out, _) = object_at(&https, &[&call[..], &[&keys.file("ca.pem")]].concat());
    assert!(success && out == "{\"value\":2}\n");

    let began = Instant::now();
    let (success, _, errors) = object(&group, &[&call[..], &[&others.file("ca.pem")]].concat());
    assert!(
        !success && errors.contains("authority that is not trusted") && errors.contains("--tls-ca"),
        "{errors}"
    );
    let (success, _, errors) = object(&group, &["call", "counter/visits", "increment"]);
    assert!(!success && errors.contains("tls-required") && errors.contains("--tls-ca"), "{errors}");
    let (success, _, errors) = object_at(&https, &["call", "counter/visits", "increment"]);
    assert!(!success && errors.contains("nobody is trusted"), "{errors}");
    assert!(began.elapsed() < PATIENCE, "what cannot change is not tried again and again");

    let (success, out, _) =
        object(&group, &["call", "counter/visits", "get", "--tls-ca", &keys.file("ca.pem")]);
    assert!(success && out == "{\"value\":2}\n", "who was refused has changed nothing: {out}");
    let log = group.log_of(0);
    assert!(log.contains("it does not speak TLS"), "{log}");
    assert!(log.contains("it does not trust this server's certificate"), "{log}");
}

#[test]
fn certificate_of_another_host_or_of_the_past_is_refused_by_the_client() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let group = member(&keys, &[]);
    let ca = keys.file("ca.pem");
    for (hosts, year, words) in
        [(vec!["elsewhere.example"], 2999, "for another name"), (vec!["127.0.0.1"], 2021, "has expired")]
    {
        let host = group.host().to_string();
        let hosts = if year < 2999 { vec![host.as_str()] } else { hosts };
        keys.issue_until("server", &hosts, year);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (success, _, errors) = object(&group, &["list", "counter", "--tls-ca", &ca]);
            if !success && errors.contains(words) {
                break;
            }
            assert!(Instant::now() < deadline, "never refused as {words}: {errors}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn client_without_a_certificate_is_refused_where_one_is_required_and_named_where_it_shows_one() {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let (keys, others) = (Keys::new(folder.path()), Keys::new(other_folder.path()));
    let (alice, stranger) = (keys.issue("alice", &["alice"]), others.issue("stranger", &["stranger"]));
    let old = keys.issue_until("old", &["old"], 2021);
    let trust = format!("objects.tls.trust-store={}", keys.file("ca.pem"));
    let group = member(&keys, &[trust]);
    let ca = keys.file("ca.pem");
    let call = |more: &[&str]| {
        let words = [&["call", "counter/visits", "increment", "--tls-ca", &ca], more].concat();
        object(&group, &words)
    };
    let (success, out, errors) = call(&["--tls-cert", &alice]);
    assert!(success && out == "{\"value\":1}\n", "{errors}");
    let (success, _, errors) = call(&[]);
    assert!(
        !success && errors.contains("it wants a certificate") && errors.contains("--tls-cert"),
        "{errors}"
    );
    for refused in [&stranger, &old] {
        let (success, _, errors) = call(&["--tls-cert", refused]);
        assert!(!success && errors.contains("it refuses this client"), "{errors}");
    }
    let (success, out, errors) = call(&["--tls-cert", &alice]);
    assert!(success && out == "{\"value\":2}\n", "{errors}");
    let log = group.log_of(0);
    assert!(log.contains("it shows no certificate") && log.contains("objects.tls.client-auth"), "{log}");
}

fn wants_certificates(keys: &Keys) -> [String; 2] {
    [format!("objects.tls.trust-store={}", keys.file("ca.pem")), "objects.tls.client-auth=want".into()]
}

#[test]
fn optional_certificate_need_not_be_shown_and_must_be_sound_if_it_is() {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let (keys, others) = (Keys::new(folder.path()), Keys::new(other_folder.path()));
    let stranger = others.issue("stranger", &["stranger"]);
    let group = member(&keys, &wants_certificates(&keys));
    let list = ["list", "counter", "--tls-ca", &keys.file("ca.pem")];
    assert!(object(&group, &list).0);
    assert!(object(&group, &[&list[..], &["--tls-cert", &keys.issue("alice", &["alice"])]].concat()).0);
    let (success, _, errors) = object(&group, &[&list[..], &["--tls-cert", &stranger]].concat());
    assert!(!success && errors.contains("refuses this client"), "{errors}");
}

fn is_refused((success, _, errors): (bool, String, String), why: &str) {
    assert!(!success && errors.contains(why), "{errors}");
}

#[test]
fn right_of_a_certificate_is_its_holders_alone() {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let (keys, others) = (Keys::new(folder.path()), Keys::new(other_folder.path()));
    let (alice, bob) = (keys.issue("alice", &["alice"]), keys.issue("bob", &["bob"]));
    let impostor = others.issue("alice", &["alice"]);
    let group = members(3, &keys, &wants_certificates(&keys));
    let (addresses, ca) = (group.addresses(), keys.file("ca.pem"));
    let at = |place: usize, more: &[&str], words: &[&str]| {
        object_at(&addresses[place], &[words, &["--tls-ca", &ca], more].concat())
    };
    let must = |more: &[&str], words: &[&str]| {
        let (success, out, errors) = at(0, more, words);
        assert!(success, "{words:?}: {out}{errors}");
        out.trim().to_owned()
    };
    let admin = must(&[], &["token", "create", "--name", "admin", "--allow", "*:admin"]);
    let admin = ["--token", admin.as_str()];
    must(&admin, &["access", "allow", "cert:CN=alice", "counter/visits:*"]);
    let poor = must(&admin, &["token", "create", "--name", "ci", "--allow", "queue/jobs:query"]);
    must(&admin, &["access", "close"]);
    let increment = ["call", "counter/visits", "increment"];
    for place in 0..3 {
        let (success, out, errors) = at(place, &["--tls-cert", &alice], &increment);
        assert!(success && out.trim() == format!("{{\"value\":{}}}", place + 1), "{out}{errors}");
        for words in [&increment[..], &["call", "counter/visits", "get"]] {
            is_refused(at(place, &["--tls-cert", &bob], words), "principal `cert:CN=bob` may not");
            // Nobody is named.
            is_refused(at(place, &[], words), "unauthenticated");
            // Who sends a token asks by that, whatever the connection has shown.
            is_refused(at(place, &["--tls-cert", &alice, "--token", &poor], words), "principal `ci` may not");
            is_refused(at(place, &["--tls-cert", &impostor], words), "it refuses this client");
        }
        let other = at(place, &["--tls-cert", &alice], &["call", "counter/other", "get"]);
        is_refused(other, "principal `cert:CN=alice` may not");
    }
    // A connection that stays open has the rights of the moment, not those of its handshake.
    let mut wire = Wire::encrypted(&addresses[1], &ca, Some(&alice)).unwrap();
    let path = "/v1/objects/counter/visits/increment";
    assert_eq!(wire.call("POST", path, "").unwrap().1.trim_end(), "{\"value\":4}");
    must(&admin, &["access", "deny", "cert:CN=alice"]);
    let (status, body) = wire.call("POST", path, "").unwrap();
    assert!(status == 403 && body.contains("cert:CN=alice"), "{status} {body}");
    must(&admin, &["access", "allow", "cert:CN=alice", "counter/visits:increment"]);
    assert_eq!(wire.call("POST", path, "").unwrap().1.trim_end(), "{\"value\":5}");
}

#[test]
fn plain_text_is_refused_in_plain_text_and_tls_at_a_plain_port_in_the_log() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let group = member(&keys, &[]);
    let mut plain = TcpStream::connect(&group.addresses()[0]).unwrap();
    plain.set_read_timeout(Some(PATIENCE)).unwrap();
    plain.write_all(b"GET /v1/ready HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("urn:diwan:problem:tls-required"),
        "{answer}"
    );

    let without = Group::start(1);
    let ca = keys.file("ca.pem");
    let (success, _, errors) = object(&without, &["list", "counter", "--tls-ca", &ca]);
    assert!(!success && errors.contains("it does not speak TLS"), "{errors}");
    let log = without.log_of(0);
    assert!(
        log.contains("it speaks TLS at a port without") && log.contains("objects.tls.key-store"),
        "{log}"
    );
}

#[test]
fn thousand_handshakes_that_never_end_hold_up_nobody_and_end() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let group = member(&keys, &["objects.tls.handshake-timeout-ms=3000".into()]);
    let began = Instant::now();
    // Half of them say nothing, half of them half a greeting.
    let silent: Vec<TcpStream> = (0..1_000)
        .map(|number| {
            let mut stream = TcpStream::connect(&group.addresses()[0]).unwrap();
            if number % 2 == 0 {
                stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1]).unwrap();
            }
            stream
        })
        .collect();
    let (mut longest, mut calls) = (Duration::ZERO, 0);
    while began.elapsed() < Duration::from_secs(2) {
        let asked = Instant::now();
        let mut wire = Wire::encrypted(&group.addresses()[0], &keys.file("ca.pem"), None).unwrap();
        let (status, _) = wire.call("POST", "/v1/objects/counter/visits/increment", "").unwrap();
        assert_eq!(status, 200);
        (longest, calls) = (longest.max(asked.elapsed()), calls + 1);
    }
    eprintln!(
        "{calls} calls, each with a handshake, beside a thousand that never end; the longest took {longest:?}"
    );
    assert!(calls > 0);
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Closed or reset: it came to its end.
        assert!(!matches!(stream.read(&mut [0; 1]), Ok(1..)), "a client that never spoke was answered");
    }
    eprintln!("all of them had ended after {:?}", began.elapsed());
    group.wait_for_figure(0, ("diwan_objects_tls_handshakes", 0), "handshakes end");
    assert!(group.figure(0, "diwan_objects_tls_handshakes_failed_total").unwrap() >= 1_000);
}

#[test]
fn big_bodies_pipelined_calls_waits_and_events_pass_through_tls() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let group = member(&keys, &[]);
    let (address, ca) = (&group.addresses()[0], keys.file("ca.pem"));
    let mut wire = Wire::encrypted(address, &ca, None).unwrap();
    let big = format!("{{\"value\":\"{}\"}}", "x".repeat(1_000_000));
    assert_eq!(wire.call("POST", "/v1/objects/value/big/set", &big).unwrap().0, 200);
    let (status, body) = wire.call("GET", "/v1/objects/value/big/get", "").unwrap();
    assert!(status == 200 && body.len() > 1_000_000, "{status}, {} bytes", body.len());

    for _ in 0..16 {
        wire.send("POST", "/v1/objects/counter/ahead/increment", "").unwrap();
    }
    for number in 1..=16 {
        let (status, body) = wire.read().unwrap();
        assert_eq!((status, body.trim_end()), (200, format!("{{\"value\":{number}}}").as_str()));
    }

    let mut events = Wire::encrypted(address, &ca, None).unwrap();
    events.send("GET", "/v1/objects/latch/start/events", "").unwrap();
    let mut waiter = Wire::encrypted(address, &ca, None).unwrap();
    assert_eq!(wire.call("PUT", "/v1/objects/latch/start", "{\"count\":1}").unwrap().0, 201);
    waiter.send("POST", "/v1/objects/latch/start/await", "").unwrap();
    events.until("event: created").unwrap();
    group.wait_for_figure(0, ("diwan_objects_tickets", 1), "the call waits");
    assert_eq!(wire.call("POST", "/v1/objects/latch/start/count_down", "").unwrap().0, 200);
    let (status, body) = waiter.read().unwrap();
    assert!(status == 200 && body.contains("\"open\":true"), "{status} {body}");
    assert_eq!(wire.call("GET", "/v1/ready", "").unwrap().0, 200);
}

#[test]
fn renewed_certificate_is_shown_without_a_restart_and_connections_stay() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let group = member(&keys, &[]);
    let (address, ca) = (&group.addresses()[0], keys.file("ca.pem"));
    let mut before = Wire::encrypted(address, &ca, None).unwrap();
    assert_eq!(before.call("POST", "/v1/objects/counter/visits/increment", "").unwrap().0, 200);
    let shown = before.certificate();
    keys.issue("server", &[&group.host().to_string()]);
    let deadline = Instant::now() + PATIENCE;
    while Wire::encrypted(address, &ca, None).unwrap().certificate() == shown {
        assert!(Instant::now() < deadline, "the new certificate is never shown");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (_, body) = before.call("POST", "/v1/objects/counter/visits/increment", "").unwrap();
    assert_eq!(body.trim_end(), "{\"value\":2}");
    // What cannot be used changes nothing.
    std::fs::write(keys.file("server.pem"), "no key").unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !group.log_of(0).contains("those read before stay in force") {
        assert!(Instant::now() < deadline, "{}", group.log_of(0));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(Wire::encrypted(address, &ca, None).is_ok());
}

#[test]
fn settings_that_contradict_each_other_stop_the_start() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let server = keys.issue("server", &["localhost"]);
    let ca = keys.file("ca.pem");
    let missing = keys.file("missing.pem");
    for (settings, words) in [
        (vec![format!("objects.tls.trust-store={ca}")], "their port speaks plain text"),
        (vec!["objects.tls.client-auth=need".into()], "their port speaks plain text"),
        (
            vec![format!("{SETTING}{server}"), "objects.tls.client-auth=need".into()],
            "no trusted authority is configured",
        ),
        (vec![format!("{SETTING}{missing}")], "cannot be offered TLS"),
        (vec![format!("{SETTING}{ca}")], "cannot be offered TLS"),
    ] {
        let lines: Vec<String> = settings
            .iter()
            .map(|setting| {
                setting.split_once('=').map(|(key, value)| format!("{key} = \"{value}\"")).unwrap()
            })
            .collect();
        let (file, data) = (keys.file("diwan.toml"), keys.file("data"));
        let always = "objects.listen = \"127.0.0.1:0\"\nmetrics.listen = \"off\"\nadmin.listen = \"off\"";
        let text = format!("node.data-dir = \"{data}\"\n{always}\n{}\n", lines.join("\n"));
        std::fs::write(&file, text).unwrap();
        let (success, out, errors) = said(diwan().args(["config", "check", &file]).output().unwrap());
        assert!(!success && out.contains(words), "{settings:?}: {out}{errors}");
    }
}

#[test]
fn counter_over_tls_counts_each_increment_once_while_its_leader_is_killed() {
    let folder = Folder::new();
    let keys = Keys::new(folder.path());
    let mut group = members(3, &keys, &[format!("objects.tls.trust-store={}", keys.file("ca.pem"))]);
    let alice = keys.issue("alice", &["alice"]);
    let (ca, addresses) = (keys.file("ca.pem"), group.addresses());
    let (mut wire, mut place) = (None, 0);
    for number in 1..=200 {
        if number == 70 || number == 140 {
            let leader = group.leader();
            group.kill(leader);
        }
        let path = "/v1/objects/counter/visits/increment";
        let deadline = Instant::now() + PATIENCE;
        let body = loop {
            assert!(Instant::now() < deadline, "increment {number} is never answered");
            let connected =
                wire.take().map_or_else(|| Wire::encrypted(&addresses[place], &ca, Some(&alice)), Ok);
            let answer = connected.and_then(|mut connected| {
                let answer = connected.call_under(path, &format!("number-{number}"))?;
                Ok((connected, answer))
            });
            match answer {
                Ok((connected, (200, body))) => {
                    wire = Some(connected);
                    break body;
                }
                _ => place = (place + 1) % addresses.len(),
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(body.trim_end(), format!("{{\"value\":{number}}}"), "none is lost, and none counts twice");
        if number == 100 || number == 170 {
            group.restart_all();
        }
    }
}
