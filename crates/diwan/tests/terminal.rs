//! `diwan shell` as a person meets it: a prompt on a terminal, with completion, colours and history.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use council_client::{Client, CreateMode};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use server::{Folder, Server, diwan};

const PATIENCE: Duration = Duration::from_secs(20);
const TAB: &str = "\t";
const ENTER: &str = "\r";
const UP: &str = "\x1b[A";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// The editor asks the terminal to mark what is pasted, while there is a line to paste into.
const LINE_BEGINS: &str = "\x1b[?2004h";
const LINE_ENDS: &str = "\x1b[?2004l";

/// A shell at a terminal of its own.
struct Terminal {
    shell: Child,
    keys: File,
    shown: Receiver<Vec<u8>>,
    /// What was shown and not yet asked for.
    unseen: String,
}

impl Terminal {
    /// At `address`; what the shell remembers lies in `home`.
    fn open(address: &str, home: &Path, environment: &[(&str, &str)]) -> Self {
        let mut shell = diwan();
        shell
            .args(["shell", "--server", address])
            .env("TERM", "xterm")
            .env("XDG_STATE_HOME", home)
            .env_remove("NO_COLOR")
            .envs(environment.iter().copied());
        Self::of(shell)
    }

    /// Any command at a terminal.
    fn of(mut command: Command) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        // Wide enough that no prompt is folded.
        tcsetwinsize(&keys, Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let screen = ioctl_tiocgptpeer(&keys, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let shell = command
            .stdin(Stdio::from(screen.try_clone().unwrap()))
            .stdout(Stdio::from(screen.try_clone().unwrap()))
            .stderr(Stdio::from(screen))
            .spawn()
            .unwrap();
        let mut reader = File::from(keys.try_clone().unwrap());
        let (tell, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the shell is an error here.
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || tell.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { shell, keys: File::from(keys), shown, unseen: String::new() }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is shown; gives what came before it.
    fn shows(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.unseen.find(text) {
                let rest = self.unseen.split_off(at + text.len());
                return std::mem::replace(&mut self.unseen, rest);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.unseen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text:?} is not shown: {:?}", self.unseen),
            }
        }
    }

    /// Waits until it is connected, has said so, and takes the first line.
    fn greets(&mut self) -> String {
        self.shows("state:SyncConnected type:None") + &self.prompts(0)
    }

    /// Waits for the prompt of the line of this number.
    fn prompts(&mut self, line: usize) -> String {
        self.shows(&format!("(CONNECTED) {line}] "))
    }

    /// Drops the line, and waits for the next to begin.
    fn drops(&mut self) {
        self.types(CTRL_C);
        self.shows(LINE_ENDS);
        self.shows(LINE_BEGINS);
    }

    /// Waits for the end; whether it was a success.
    fn ends(mut self) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.shell.try_wait().unwrap() {
                return status.success();
            }
            assert!(Instant::now() < deadline, "the shell goes on: {:?}", self.unseen);
            // The end of the output comes with the end of the shell.
            if let Ok(bytes) = self.shown.recv_timeout(Duration::from_millis(10)) {
                self.unseen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[test]
fn tab_completes_verbs_and_paths() {
    let (server, home) = (Server::start(), Folder::new());
    let client = Client::connect(&server.address()).unwrap();
    client.create("/fruit", b"ripe", CreateMode::Persistent).wait().unwrap();
    client.create("/fruit/apple", b"red", CreateMode::Persistent).wait().unwrap();
    let mut terminal = Terminal::open(&server.address(), home.path(), &[]);
    terminal.greets();
    for keys in ["sta", TAB, "/fr", TAB, "/", TAB, ENTER] {
        terminal.types(keys);
    }
    terminal.shows("stat /fruit/apple");
    terminal.shows("dataLength = 3");
    terminal.prompts(1);
    // Of several it completes what they share, and lists them.
    for keys in ["getA", TAB, TAB] {
        terminal.types(keys);
    }
    terminal.shows("getAcl");
    terminal.shows("getAllChildrenNumber");
    terminal.prompts(1);
    // And Ctrl-C drops the line.
    terminal.drops();
    terminal.types("quit\r");
    assert!(terminal.ends());
}

#[test]
fn prompts_and_errors_have_colours_unless_they_are_not_wanted() {
    let (server, home) = (Server::start(), Folder::new());
    for (environment, prompt, error) in [
        (&[][..], "\x1b[36m[zk: ", "\x1b[31mNode does not exist: /none\x1b[0m\r\nhint: "),
        (&[("NO_COLOR", "1")][..], "[zk: ", "\nNode does not exist: /none\r\nhint: "),
    ] {
        let mut terminal = Terminal::open(&server.address(), home.path(), environment);
        let mut shown = terminal.greets();
        assert!(shown.contains(prompt), "{shown:?}");
        terminal.types("get /none\r");
        shown += &terminal.shows(error);
        shown += &terminal.prompts(1);
        let colours = ["\x1b[31m", "\x1b[36m"].iter().any(|colour| shown.contains(colour));
        assert_eq!(colours, environment.is_empty(), "{shown:?}");
        terminal.types(CTRL_D);
        assert!(terminal.ends());
    }
}

#[test]
fn an_event_is_shown_while_a_line_is_typed() {
    let (server, home) = (Server::start(), Folder::new());
    let client = Client::connect(&server.address()).unwrap();
    client.create("/a", b"x", CreateMode::Persistent).wait().unwrap();
    let mut terminal = Terminal::open(&server.address(), home.path(), &[]);
    terminal.greets();
    terminal.types("get -w /a\r");
    terminal.prompts(1);
    terminal.types("get /");
    terminal.shows("get /");
    client.set_data("/a", b"news", -1).wait().unwrap();
    terminal.shows("WatchedEvent state:SyncConnected type:NodeDataChanged path:/a");
    // The line is there again, and goes on.
    terminal.shows("get /");
    terminal.types("a\r");
    terminal.shows("news\r\n");
    terminal.prompts(2);
    terminal.types(CTRL_D);
    assert!(terminal.ends());
}

#[test]
fn lines_are_remembered_from_shell_to_shell_but_no_password() {
    let (server, home) = (Server::start(), Folder::new());
    let mut terminal = Terminal::open(&server.address(), home.path(), &[]);
    terminal.greets();
    terminal.types("create -s /n- x\r");
    terminal.shows("Created /n-0000000000");
    terminal.prompts(1);
    terminal.types("addauth digest bob:secret\r");
    terminal.prompts(2);
    // What is dropped was never a line.
    terminal.types("delete /n-0000000000");
    terminal.shows("delete /n-0000000000");
    terminal.drops();
    terminal.types(UP);
    terminal.types(ENTER);
    terminal.shows("Created /n-0000000001");
    terminal.prompts(3);
    terminal.types(CTRL_D);
    assert!(terminal.ends());
    let mut terminal = Terminal::open(&server.address(), home.path(), &[]);
    terminal.greets();
    terminal.types(UP);
    terminal.types(ENTER);
    terminal.shows("Created /n-0000000002");
    terminal.prompts(1);
    terminal.types(CTRL_D);
    assert!(terminal.ends());
    let remembered = std::fs::read_to_string(home.path().join("diwan/history")).unwrap();
    assert!(remembered.contains("create -s /n- x") && !remembered.contains("secret"), "{remembered}");
}

#[test]
fn many_lines_may_come_at_once() {
    let (server, home) = (Server::start(), Folder::new());
    let mut terminal = Terminal::open(&server.address(), home.path(), &[]);
    terminal.greets();
    terminal.types("create /typed\rcreate /typed/ahead\r");
    terminal.shows("Created /typed\r");
    terminal.shows("Created /typed/ahead\r");
    terminal.prompts(2);
    // What is pasted waits for Enter.
    terminal.types("\x1b[200~create /pasted\rcreate /pasted/too\x1b[201~");
    terminal.types(ENTER);
    terminal.shows("Created /pasted\r");
    terminal.shows("Created /pasted/too\r");
    terminal.prompts(4);
    terminal.types(CTRL_D);
    assert!(terminal.ends());
}

#[test]
fn password_is_asked_for_twice_and_not_shown() {
    let mut command = diwan();
    command.args(["digest", "super"]).env_remove("DIWAN_PASSWORD");
    let mut terminal = Terminal::of(command);
    let mut shown = terminal.shows("password of `super`: ");
    terminal.types("test\n");
    shown += &terminal.shows("again: ");
    terminal.types("test\n");
    shown += &terminal.shows("superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    assert!(!shown.contains("test"), "{shown:?}");
    assert!(terminal.ends());
}

#[test]
fn passwords_that_differ_make_no_line() {
    let mut command = diwan();
    command.args(["digest", "super"]).env_remove("DIWAN_PASSWORD");
    let mut terminal = Terminal::of(command);
    terminal.shows("password of `super`: ");
    terminal.types("test\n");
    terminal.shows("again: ");
    terminal.types("toast\n");
    assert!(!terminal.shows("error: the two passwords differ").contains("superDigest"));
    assert!(!terminal.ends());
}
