//! `diwan council` and `diwan digest`: backing up, checking and restoring as an operator does it, and what the audit log
//! says of it.
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected ends")]

mod server;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server with an AdminServer; its log is read line by line.
struct Live {
    child: Child,
    lines: Receiver<String>,
    client: String,
    admin: String,
}

impl Live {
    /// On these data, with the super user `super:secret` and an audit log.
    fn start(data: &Path) -> Self {
        let mut command = diwan();
        command.args([
            "serve",
            "--log",
            "off",
            "--objects",
            "off",
            "--listen",
            "127.0.0.1:0",
            "--metrics",
            "off",
            "--admin",
            "127.0.0.1:0",
        ]);
        command.args(["-D", "audit.enable=true", "-D", &super_line("secret", &[]), "--data-dir"]).arg(data);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut live = Self { child, lines, client: String::new(), admin: String::new() };
        let ready = live.until_line(" ready ");
        let address = |name: &str| {
            let (_, rest) = ready.split_once(&format!("{name}=\"")).unwrap();
            String::from(rest.split_once('"').unwrap().0)
        };
        (live.client, live.admin) = (address("client"), address("admin"));
        live
    }

    /// The next line that has this in it.
    fn until_line(&self, what: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("the log never said `{what}`: {error}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    fn shell(&self, words: &[&str]) -> (bool, String, String) {
        said(diwan().args(["shell", "--server", &self.client]).args(words).output().unwrap())
    }

    /// Ends it in good order; what is left of its log.
    fn end(mut self) -> Vec<String> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.lines.iter().collect()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn super_line(password: &str, more: &[&str]) -> String {
    let output =
        diwan().args(["digest", "super"]).args(more).env("DIWAN_PASSWORD", password).output().unwrap();
    let (fine, line, _) = said(output);
    assert!(fine);
    String::from(line.trim_end())
}

fn council(words: &[&str]) -> Command {
    let mut command = diwan();
    command.arg("council").args(words).env("DIWAN_PASSWORD", "secret");
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A server's backup, made by the command.
fn backed_up(folder: &Folder, live: &Live) -> PathBuf {
    let file = folder.path().join("tree.snap");
    let output = council(&["backup", "--server", &live.admin, "--output", text(&file)]).output().unwrap();
    let (fine, shown, errors) = said(output);
    assert!(fine, "{errors}");
    assert!(shown.contains("\nzxid      0x1000000") && shown.contains("\nnodes     "), "{shown}");
    file
}

#[test]
fn backup_is_kept_whole_and_verified() {
    let folder = Folder::new();
    let live = Live::start(&folder.path().join("data"));
    assert!(live.shell(&["create", "/a", "one"]).0);
    let file = backed_up(&folder, &live);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (fine, shown, _) = said(council(&["verify", text(&file)]).output().unwrap());
    assert!(
        fine && shown.contains(&format!("\nbytes     {}\n", fs::metadata(&file).unwrap().len())),
        "{shown}"
    );

    let before = fs::read(&file).unwrap();
    let again = council(&["backup", "--server", &live.admin, "--output", text(&file)]).output().unwrap();
    let (fine, _, errors) = said(again);
    assert!(!fine && errors.contains("exists\nhint: ") && errors.contains("--force"), "{errors}");
    // A refusal of the server's is no backup.
    let again = council(&["backup", "--server", &live.admin, "--force", "--output", text(&file)]).output();
    let (fine, _, errors) = said(again.unwrap());
    assert!(
        !fine && errors.contains("a snapshot was taken") && errors.contains("hint: try again in"),
        "{errors}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left behind: {left:?}");
}

#[test]
fn wrong_password_gets_no_backup_and_is_written_down() {
    let folder = Folder::new();
    let live = Live::start(&folder.path().join("data"));
    let file = folder.path().join("tree.snap");
    let mut command = council(&["backup", "--server", &live.admin, "--output", text(&file)]);
    let (fine, _, errors) = said(command.env("DIWAN_PASSWORD", "nope").output().unwrap());
    assert!(!fine && errors.contains("Not authorized\nhint: "), "{errors}");
    assert!(!file.exists());
    let audited = "user=super,127.0.0.1\tip=127.0.0.1\toperation=snapshot\tresult=failure";
    assert!(live.until_line("operation=snapshot").ends_with(audited));
    // From a file, as a timer would.
    fs::write(folder.path().join("password"), "secret\n").unwrap();
    let password = folder.path().join("password");
    let mut command = council(&["backup", "--server", &live.admin, "--output", text(&file)]);
    command.args(["--password-file", text(&password)]).env_remove("DIWAN_PASSWORD");
    assert!(said(command.output().unwrap()).0);
    assert!(live.until_line("operation=snapshot").ends_with("\tresult=success"));
    // There is no terminal to ask here.
    let mut command = council(&["backup", "--server", &live.admin]);
    let (fine, _, errors) = said(command.env_remove("DIWAN_PASSWORD").output().unwrap());
    assert!(!fine && errors.contains("--password-file"), "{errors}");
}

#[test]
fn password_is_sent_to_no_server_that_a_script_does_not_name() {
    let output = council(&["backup"]).stdin(Stdio::null()).output().unwrap();
    let (fine, _, errors) = said(output);
    assert!(!fine && errors.contains("the password is sent to none that is only found\nhint: "), "{errors}");
    assert!(errors.contains("`--server HOST:PORT`"), "{errors}");
}

/// Asks for a snapshot that is refused; returns the status.
fn ask_in_vain(live: &Live, headers: &str) -> u16 {
    let mut stream = TcpStream::connect(&live.admin).unwrap();
    write!(stream, "GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn refused_commands_fill_the_log_neither_by_their_number_nor_by_the_name_of_a_user() {
    let folder = Folder::new();
    let live = Live::start(&folder.path().join("data"));
    let shown = format!("Authorization: digest {}:wrong\r\n", "u".repeat(10_000));
    let statuses: Vec<u16> = (0..50).map(|_| ask_in_vain(&live, &shown)).collect();
    let judged = statuses.iter().filter(|status| **status == 403).count();
    assert!(statuses.iter().all(|status| [403, 429].contains(status)), "{statuses:?}");
    (0..50).for_each(|_| assert_eq!(ask_in_vain(&live, ""), 401));
    let lines = live.end();
    let audited: Vec<_> = lines.iter().filter(|line| line.contains("operation=snapshot")).collect();
    let minutes = 1 + judged.saturating_sub(10) / 10;
    assert!((judged + 1..=judged + 20 * (1 + minutes)).contains(&audited.len()), "{judged}: {audited:?}");
    assert!(lines.iter().any(|line| line.contains("further refusals are counted only")), "{lines:?}");
    let name = format!("user={}..,127.0.0.1\t", "u".repeat(64));
    assert!(audited[0].contains(&name), "{}", audited[0]);
    assert!(lines.iter().all(|line| line.len() < 1000), "{lines:?}");
}

#[test]
fn what_is_no_backup_is_told_for_what_it_is() {
    let folder = Folder::new();
    let file = folder.path().join("tree.snap");
    for (content, what) in [("{ \"error\" : null }", "a server that refused"), ("", "empty"), ("x", "byte 0")]
    {
        fs::write(&file, content).unwrap();
        for words in [&["verify"][..], &["restore", "--data-dir", text(&folder.path().join("new"))]] {
            let (fine, _, errors) = said(council(words).arg(&file).output().unwrap());
            assert!(!fine && errors.contains(what), "{errors}");
        }
    }
    assert!(!folder.path().join("new").exists(), "nothing was made");
}

#[test]
fn server_is_restored_stopped_or_running() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let live = Live::start(&data);
    assert!(live.shell(&["create", "/a", "one"]).0);
    let file = backed_up(&folder, &live);
    assert!(live.shell(&["create", "/late", "two"]).0);
    // While it runs.
    let (fine, shown, errors) =
        said(council(&["restore", text(&file), "--server", &live.admin]).output().unwrap());
    assert!(fine && shown.contains("restored  the server at"), "{errors}");
    assert!(live.until_line("operation=restore").ends_with("\tresult=success"));
    assert!(live.shell(&["get", "/a"]).1.contains("one") && !live.shell(&["get", "/late"]).0);
    // Into its data directory, which is in use and has data.
    let over = council(&["restore", text(&file), "--data-dir", text(&data)]).output().unwrap();
    assert!(said(over).2.contains("in use by another process"));
    live.end();
    let over = council(&["restore", text(&file), "--data-dir", text(&data)]).output().unwrap();
    let (fine, _, errors) = said(over);
    assert!(
        !fine && errors.contains("there is data already") && errors.contains("\nhint: nothing was changed")
    );
    // Into a new one, by the configuration that it has.
    let config = folder.path().join("zoo.cfg");
    let new = folder.path().join("new");
    fs::File::create(&config)
        .unwrap()
        .write_all(format!("dataDir={}\nclientPort=0\n", text(&new)).as_bytes())
        .unwrap();
    let (fine, shown, errors) =
        said(council(&["restore", text(&file), "--config", text(&config)]).output().unwrap());
    assert!(fine && shown.contains("Next: start the server."), "{shown}{errors}");
    let live = Live::start(&new);
    assert!(live.shell(&["get", "/a"]).1.contains("one") && !live.shell(&["get", "/late"]).0);
}

#[test]
fn session_end_is_written_down_once_however_often_the_server_starts() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let live = Live::start(&data);
    // The session ends with the command.
    assert!(live.shell(&["create", "-e", "/mine"]).0);
    let deletion = "operation=ephemeralZNodeDeletionOnSessionCloseOrExpire";
    assert!(live.until_line(deletion).ends_with("\tznode=/mine\tresult=success"));
    live.end();
    for _ in 0..2 {
        let live = Live::start(&data);
        assert!(live.shell(&["create", "-e", "/next"]).0);
        assert!(
            live.until_line(deletion).ends_with("\tznode=/next\tresult=success"),
            "the past is not repeated"
        );
        assert!(live.end().iter().all(|line| !line.contains(deletion)));
    }
}

#[test]
fn audit_lines_cannot_be_forged_by_the_name_of_a_user() {
    let folder = Folder::new();
    let live = Live::start(&folder.path().join("data"));
    let forged = "digest:x\n2026-11-22 INFO user=admin\toperation=delete\tresult=success:pw";
    let shown = said(
        diwan().args(["shell", "--server", &live.client, "--auth", forged, "create", "/a"]).output().unwrap(),
    );
    assert!(shown.0, "{}", shown.2);
    let line = live.until_line("operation=create");
    assert!(line.contains("x\\n2026-11-22 INFO user=admin\\toperation=delete"), "{line}");
    assert_eq!(line.split('\t').filter(|field| field.starts_with("operation=")).count(), 1);
}

#[test]
fn digest_makes_the_line_that_zookeeper_documents() {
    let line = super_line("test", &[]);
    assert_eq!(line, "DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    let lines = super_line("test", &["--algorithm", "SHA-256"]);
    assert!(lines.starts_with("DigestAuthenticationProvider.digestAlg=SHA-256\nDigestAuth"), "{lines}");
    let mut command = diwan();
    command.args(["digest", "super"]).env_remove("DIWAN_PASSWORD");
    assert!(said(command.output().unwrap()).2.contains("there is no password for `super`"));
}
