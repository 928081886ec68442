//! Members through their mailboxes, with real threads, disks and connections: one alone, and three, of which one ends, is
//! emptied, and comes back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::MemberNumber;
use net_peers::{
    Acceptor, Credentials, EnsembleSecret, Established, Hints, MemberAddress, Numbering, PeerConnections,
    Roster, Settings, SharedPort, Timing,
};
use node_threads::{Clock, Descriptors, Mailbox};
use objects_replica::edge::{Answer, Request, caller_of, origin};
use objects_service::{EdgeAnswers, GroupConfig, Member, ObjectsConfig};
use objects_state::{Call, Caller, Command, Identity, Invocation, ObjectName, Outcome, Slug, type_named};
use tempfile::TempDir;

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// An edge's mailbox that a test reads.
struct Edge(Sender<Option<Answer>>);

impl EdgeAnswers for Edge {
    fn put(&self, answers: &mut Vec<Answer>) {
        answers.drain(..).for_each(|answer| drop(self.0.send(Some(answer))));
    }

    fn core_ended(&self) {
        let _ = self.0.send(None);
    }
}

/// A member with one edge, which is the test.
struct Node {
    member: Member,
    answers: Receiver<Option<Answer>>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Node {
    fn start(config: ObjectsConfig, port: Option<&SharedPort>) -> Self {
        let (sender, answers) = channel();
        let edges: Vec<Arc<dyn EdgeAnswers>> = vec![Arc::new(Edge(sender))];
        Self { member: Member::start(config, port, edges, Clock::start()).unwrap(), answers }
    }

    fn until(&self, what: &str, is_it: impl Fn(&Member) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_it(&self.member) {
            assert!(Instant::now() < deadline, "it never came to this: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn serves(&self) {
        self.until("it serves", |member| member.standing().is_serving());
    }

    /// Calls under a key, again and again until it is answered.
    fn call(&self, key: &str, kind: &str, method: &str, args: &str) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.serves();
            let command = command(self.member.standing().member().unwrap_or(0), key, kind, method, args);
            let own = caller_of(&command).unwrap().origin;
            self.member.requests()[0].put(Request::Command { command, secret_hash: None });
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                match self.answers.recv_timeout(left).expect("an answer") {
                    Some(Answer::Done { origin, outcome, .. }) if origin == own => match outcome {
                        Outcome::Refused(problem)
                            if matches!(problem.slug, Slug::NoLeader | Slug::OutcomeUnknown) =>
                        {
                            break;
                        }
                        outcome => return outcome,
                    },
                    Some(_) => {}
                    None => break,
                }
            }
        }
    }
}

fn command(member: u64, key: &str, kind: &str, method: &str, args: &str) -> Command {
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    Command::Call(Call {
        caller: Caller {
            origin: origin(member, 0, number),
            principal: String::from("test"),
            identity: Identity::Key(String::from(key)),
        },
        object: ObjectName { kind: type_named(kind).unwrap(), name: String::from("it") },
        incarnation: None,
        create: true,
        wait_ms: Some(0),
        opens: None,
        invocation: Invocation { method: String::from(method), args: args.as_bytes().to_vec() },
    })
}

fn done(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done(json) => json,
        Outcome::Refused(problem) => panic!("{problem:?}"),
    }
}

fn config(folder: &Path, group: Option<GroupConfig>) -> ObjectsConfig {
    let mut config = ObjectsConfig::new(folder.join("objects"), group);
    config.segment_bytes = 1 << 20;
    config
}

#[test]
fn member_alone_answers_and_keeps_what_it_answered() {
    let folder = TempDir::new().unwrap();
    for turn in 1..=3 {
        let node = Node::start(config(folder.path(), None), None);
        let answer = done(node.call(&format!("k{turn}"), "counter", "increment", "{}"));
        assert_eq!(answer, format!("{{\"value\":{turn}}}"));
        // A repeat is answered the same, also by the next process.
        assert_eq!(done(node.call("k1", "counter", "increment", "{}")), r#"{"value":1}"#);
        node.member.stop();
    }
}

#[test]
fn data_of_a_group_is_refused_by_a_member_that_is_alone_and_data_of_another_member() {
    let folder = TempDir::new().unwrap();
    let ports = Ports::new(3);
    let start = |own: u8| {
        let group = ports.group(own, 3);
        Node::start(
            config(&folder.path().join(own.to_string()), Some(group)),
            Some(&ports.ports[usize::from(own) - 1]),
        )
    };
    let nodes: Vec<_> = (1..=3).map(start).collect();
    nodes.iter().for_each(Node::serves);
    drop(nodes);
    let alone = Node::start(config(&folder.path().join("1"), None), None);
    let why = alone.member.wait().expect_err("it is a group's").to_string();
    assert!(why.contains("group of 3 voters") && why.contains("hint"), "{why}");
    let other = Node::start(config(&folder.path().join("1"), Some(ports.group(2, 3))), Some(&ports.ports[1]));
    let why = other.member.wait().expect_err("it is member 1's").to_string();
    assert!(why.contains("belong to member 1, and this is member 2"), "{why}");
}

/// The ports between members of the process, without a group that owns them.
struct Ports {
    ports: Vec<SharedPort>,
    acceptors: Vec<(mio::Waker, JoinHandle<()>)>,
}

impl Ports {
    fn new(members: u8) -> Self {
        let listeners: Vec<_> = (0..members).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let address = |(number, listener): (u32, &TcpListener)| MemberAddress {
            number: net_peers::PeerNumber(number),
            host: String::from("127.0.0.1"),
            port: listener.local_addr().unwrap().port(),
        };
        let roster = Roster::new((1..).zip(&listeners).map(address), 0);
        let mut own = Self { ports: Vec::new(), acceptors: Vec::new() };
        for (number, listener) in (1..).zip(listeners) {
            let settings = Settings {
                number: net_peers::PeerNumber(number),
                numbering: Numbering::OneByte,
                timing: Timing::DEFAULT,
                process: 1,
                level: 0,
                roster: roster.clone(),
                read_roster: |_| None,
                tls: None,
                secret: EnsembleSecret::new(&[7; 32]),
                hints: Hints::PLAIN,
            };
            let credentials = Arc::new(Credentials::new(settings).unwrap());
            let (_, waker) = PeerConnections::poll().unwrap();
            let nobody: Arc<Mailbox<Established>> = Arc::new(Mailbox::new(waker));
            let descriptors = Descriptors::of_process(usize::from(members));
            let (acceptor, waker) =
                Acceptor::new(listener, Arc::clone(&credentials), nobody, descriptors).unwrap();
            let further = Arc::clone(acceptor.further_groups());
            own.ports.push(SharedPort { credentials, further, source: None });
            own.acceptors.push((waker, std::thread::spawn(move || acceptor.run().unwrap())));
        }
        own
    }

    fn group(&self, own: u8, members: u8) -> GroupConfig {
        GroupConfig {
            own: MemberNumber(own),
            members: (1..=members).map(|number| (MemberNumber(number), true)).collect(),
            // A busy machine must not make a member miss its leader.
            election_tick_ms: 200,
            lease_ms: 5_000,
        }
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        for (waker, thread) in self.acceptors.drain(..) {
            waker.wake().unwrap();
            thread.join().unwrap();
        }
    }
}

#[test]
fn group_goes_on_without_its_leader_and_takes_back_a_member_that_was_emptied() {
    let folder = TempDir::new().unwrap();
    let ports = Ports::new(3);
    let start = |own: u8| {
        let place = folder.path().join(own.to_string());
        Node::start(config(&place, Some(ports.group(own, 3))), Some(&ports.ports[usize::from(own) - 1]))
    };
    let mut nodes: Vec<_> = (1..=3).map(|own| Some(start(own))).collect();
    let mut count = 0;
    for round in 0..3 {
        // Each of them takes calls, and gives them to the leader.
        for (place, node) in nodes.iter().enumerate() {
            count += 1;
            let answer =
                done(node.as_ref().unwrap().call(&format!("{round}-{place}"), "counter", "increment", "{}"));
            assert_eq!(answer, format!("{{\"value\":{count}}}"));
        }
        let leads = |node: &Option<Node>| node.as_ref().unwrap().member.standing().is_leading();
        let place = nodes.iter().position(leads).unwrap_or(round);
        nodes[place] = None;
        count += 1;
        let other = nodes[(place + 1) % 3].as_ref().unwrap();
        let answer = done(other.call(&format!("{round}-without"), "counter", "increment", "{}"));
        assert_eq!(answer, format!("{{\"value\":{count}}}"));
        let own = u8::try_from(place + 1).unwrap();
        if round == 1 {
            std::fs::remove_dir_all(folder.path().join(own.to_string())).unwrap();
        }
        nodes[place] = Some(start(own));
        nodes[place].as_ref().unwrap().serves();
    }
    let last = nodes[0].as_ref().unwrap();
    assert_eq!(done(last.call("0-0", "counter", "increment", "{}")), r#"{"value":1}"#, "a repeat");
}
