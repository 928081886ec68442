//! `diwan shell` as a script meets it: one command, or lines from a pipe.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::io::Write;
use std::process::Stdio;

use council_client::{Client, CreateMode};
use server::{Server, diwan, said};

/// A node that is the root of one test.
fn chroot(server: &Server, name: &str) -> String {
    let client = Client::connect(&server.address()).unwrap();
    client.create(&format!("/{name}"), b"", CreateMode::Persistent).wait().unwrap();
    format!("{}/{name}", server.address())
}

fn one(at: &str, command: &[&str]) -> (bool, String, String) {
    said(diwan().args(["shell", "--server", at]).args(command).output().unwrap())
}

fn lines(at: &str, text: &str) -> (bool, String, String) {
    let mut child = diwan().args(["shell", "--server", at]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    said(child.wait_with_output().unwrap())
}

#[test]
fn one_command_prints_its_data_and_nothing_else() {
    let server = Server::start();
    let at = chroot(&server, "shell-one");
    let fine = |text: &str| (true, String::from(text), String::new());
    assert_eq!(one(&at, &["create", "/a", "hello world"]), fine("Created /a\n"));
    assert_eq!(one(&at, &["create", "-s", "/a/n-", "-1"]), fine("Created /a/n-0000000000\n"));
    assert_eq!(one(&at, &["get", "/a"]), fine("hello world\n"));
    assert_eq!(one(&at, &["get", "-b", "/a"]), fine("aGVsbG8gd29ybGQ=\n"));
    assert_eq!(one(&at, &["ls", "/a"]), fine("[n-0000000000]\n"));
    assert_eq!(one(&at, &["ls", "-R", "/"]), fine("/\n/a\n/a/n-0000000000\n"));
    assert_eq!(one(&at, &["set", "-v", "0", "/a", "two"]), fine(""));
    assert_eq!(one(&at, &["getAllChildrenNumber", "/"]), fine("2\n"));
    assert_eq!(one(&at, &["getAcl", "/a"]), fine("'world,'anyone\n: cdrwa\n"));
    assert_eq!(one(&at, &["deleteall", "/a"]), fine(""));
    assert_eq!(one(&at, &["ls", "/"]), fine("[]\n"));
}

#[test]
fn a_stat_has_zkcli_s_lines() {
    let server = Server::start();
    let at = chroot(&server, "shell-stat");
    one(&at, &["create", "/a", "abc"]);
    let (_, out, _) = one(&at, &["stat", "/a"]);
    let names: Vec<&str> = out.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    let expected =
        "cZxid ctime mZxid mtime pZxid cversion dataVersion aclVersion ephemeralOwner dataLength numChildren";
    assert_eq!(names.join(" "), expected);
    assert!(out.contains("dataLength = 3\n") && out.contains("ephemeralOwner = 0x0\n"), "{out}");
}

#[test]
fn errors_go_beside_the_data_with_what_to_do() {
    let server = Server::start();
    let at = chroot(&server, "shell-errors");
    for (command, words) in [
        (&["get", "/none"][..], &["Node does not exist: /none", "hint: `ls /`"][..]),
        (&["set", "-v", "7", "/", "x"], &["version No is not valid : /", "hint: `stat /`"]),
        (&["create", "/", "x"], &["Node already exists: /"]),
        (&["lss", "/"], &["Command not found: lss", "hint: did you mean `ls`?"]),
        (&["ls"], &["usage: ls [-s] [-w] [-R] path"]),
        (&["ls", "-q", "/"], &["Unrecognized option: -q"]),
        (&["ls", "none"], &["`none` is not a path"]),
        (&["setAcl", "/", "bogus"], &["bogus does not have the form scheme:id:perm"]),
        (&["listquota", "/"], &["quota for / does not exist."]),
        (&["create", "/none/a"], &["Node does not exist: /none/a", "hint: ", "`create /none`"]),
        (&["create", "-t", "0", "/t"], &["ttl must be positive"]),
        (&["delete", "/", "x"], &["'delete path [version]' has been deprecated.", "must be a number: x"]),
    ] {
        let (success, out, errors) = one(&at, command);
        assert!(!success && out.is_empty(), "{command:?}: {out}");
        for word in words {
            assert!(errors.contains(word), "{command:?}: {errors}");
        }
    }
}

#[test]
fn lines_of_a_pipe_share_a_session_and_hear_its_events() {
    let server = Server::start();
    let at = chroot(&server, "shell-pipe");
    let text = "create -e /e 'one two'\ngetEphemerals\nget -w /e\nset /e x\n\nls -w /\ndelete /e\nhistory\nquit\nls /\n";
    let (success, out, errors) = lines(&at, text);
    assert!(success, "{errors}");
    assert_eq!(errors, "");
    let mut rest = out.as_str();
    for expected in [
        "Created /e\n[/e]\none two\n",
        "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:NodeDataChanged path:/e zxid: ",
        "[e]\n",
        "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:NodeChildrenChanged path:/ zxid: ",
        "0 - create -e /e 'one two'\n1 - getEphemerals\n",
    ] {
        let at = rest.find(expected).unwrap_or_else(|| panic!("no {expected:?} in {out}"));
        rest = &rest[at + expected.len()..];
    }
    assert!(!rest.contains("[]"), "nothing runs after `quit`: {rest}");
}

#[test]
fn old_forms_mean_what_they_meant() {
    let server = Server::start();
    let at = chroot(&server, "shell-old");
    one(&at, &["create", "/a", "x"]);
    for command in [&["set", "/a", "y", "7"][..], &["delete", "/a", "7"]] {
        let (success, _, errors) = one(&at, command);
        assert!(!success && errors.contains("version No is not valid : /a"), "{command:?}: {errors}");
    }
    let (success, out, errors) = lines(&at, "get /a watch\nset /a y 0\ndelete /a 1\n");
    assert!(success, "{errors}");
    assert!(errors.starts_with("'get path [watch]' has been deprecated."), "{errors}");
    assert!(out.starts_with("x\n") && out.contains("type:NodeDataChanged path:/a"), "{out}");
}

#[test]
fn what_stands_in_the_way_of_many_is_named() {
    let server = Server::start();
    let at = chroot(&server, "shell-many");
    for (path, acl) in [("/a", "world:anyone:cdrwa"), ("/a/b", "world:anyone:r"), ("/a/b2", "digest:x:y:r")] {
        one(&at, &["create", path, "x", acl]);
    }
    let (_, _, errors) = one(&at, &["deleteall", "/a"]);
    assert!(errors.contains("Insufficient permission : /a/b2"), "{errors}");
    let (_, _, errors) = one(&at, &["setAcl", "-R", "/a", "world:anyone:r"]);
    assert!(errors.contains("Insufficient permission : /a/b2"), "{errors}");
}

#[test]
fn a_session_is_closed_once_and_opened_again() {
    let server = Server::start();
    let at = chroot(&server, "shell-close");
    let (success, out, errors) = lines(&at, "create -e /e\nclose\nls /\nclose\nconnect\nls /\n");
    assert!(!success && out == "Created /e\n[]\n", "{out}");
    assert_eq!(errors.matches("Not connected\nhint: `connect` opens a new session\n").count(), 2, "{errors}");
}

#[test]
fn what_needs_no_server_does_not_wait_for_one() {
    for (command, word) in [("help", "getAcl"), ("version", "Diwan"), ("lss", "did you mean `ls`?")] {
        let (_, out, errors) = one("127.0.0.1:1", &[command]);
        assert!(out.contains(word) || errors.contains(word), "{out}{errors}");
        assert!(!errors.contains("no server"), "{errors}");
    }
}

#[test]
fn a_line_can_be_done_again() {
    let server = Server::start();
    let at = chroot(&server, "shell-redo");
    let (success, out, errors) = lines(&at, "create -s /n- x\nredo 0\nredo 7\nredo 1\nls /\n");
    assert!(!success);
    assert!(errors.contains("Command index out of range"), "{errors}");
    assert!(out.ends_with("[n-0000000000, n-0000000001, n-0000000002]\n"), "{out}");
}

#[test]
fn quotas_are_set_shown_and_taken_off() {
    let server = Server::start();
    let root = Client::connect(&server.address()).unwrap();
    root.create("/shell-quota", b"", CreateMode::Persistent).wait().unwrap();
    let at = server.address();
    let (success, out, errors) = lines(
        &at,
        "setquota -n 5 /shell-quota\nsetquota -B 100 /shell-quota\ncreate /shell-quota/a abc\nlistquota /shell-quota\n\
         delquota -n /shell-quota\nlistquota /shell-quota\n",
    );
    assert!(success, "{errors}");
    assert!(
        out.contains("Output quota for /shell-quota count=5,bytes=-1=;byteHardLimit=100;countHardLimit=-1\n"),
        "{out}"
    );
    assert!(out.contains("Output stat for /shell-quota count=2,bytes=3\n"), "{out}");
    assert!(
        out.contains(
            "Output quota for /shell-quota count=-1,bytes=-1=;byteHardLimit=100;countHardLimit=-1\n"
        ),
        "{out}"
    );
    let (_, _, errors) = one(&at, &["setquota", "-n", "1", "/shell-quota/a"]);
    assert!(errors.contains("has a parent /shell-quota which has a quota"), "{errors}");
    assert!(one(&at, &["delquota", "/shell-quota"]).0);
    assert_eq!(root.exists("/zookeeper/quota/shell-quota").wait().unwrap(), None);
}

#[test]
fn identities_are_named_and_count() {
    let server = Server::start();
    let at = chroot(&server, "shell-auth");
    let (success, out, errors) =
        lines(&at, "addauth digest bob:secret\nwhoami\ncreate /a x auth::cdrwa\ngetAcl /a\nget /a\n");
    assert!(success, "{errors}");
    assert!(out.contains("Auth scheme: User\n") && out.contains("digest: bob\n"), "{out}");
    assert!(out.contains("'digest,'bob:") && out.ends_with("x\n"), "{out}");
    assert!(one(&at, &["get", "/a"]).2.contains("Insufficient permission : /a"));
    let (success, out, _) = said(
        diwan()
            .args(["shell", "--server", &at, "--auth", "digest:bob:secret", "get", "/a"])
            .output()
            .unwrap(),
    );
    assert!(success && out == "x\n", "{out}");
}

#[test]
fn a_watch_of_one_command_is_waited_for() {
    let server = Server::start();
    let at = chroot(&server, "shell-watch");
    one(&at, &["create", "/a", "x"]);
    let child = diwan().args(["shell", "--server", &at, "stat", "-w", "/a"]).spawn().unwrap();
    // The event may only be caused once the watch is there: the server shows no sign of it, so cause it until it was.
    let watching = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !watching.is_finished() {
        one(&at, &["set", "/a", "y"]);
    }
    let (success, out, _) = said(watching.join().unwrap());
    assert!(
        success && out.contains("WATCHER::\n\nWatchedEvent state:SyncConnected type:NodeDataChanged path:/a"),
        "{out}"
    );
}
