//! Members in one process, with real threads, disks and connections, whose edge is the test.
#![allow(dead_code, reason = "each test file uses a part of it")]
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
use objects_replica::edge::{Answer, Request, origin, origin_of};
use objects_service::{EdgeAnswers, GroupConfig, Member, ObjectsConfig};
use objects_state::{
    Call, Caller, Command, Identity, Invocation, ObjectName, Origin, Outcome, Slug, type_named,
};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// An edge's mailbox that a test reads.
struct Edge(Sender<Option<Answer>>);

impl EdgeAnswers for Edge {
    fn put(&self, answers: &mut Vec<Answer>) {
        answers.drain(..).for_each(|answer| drop(self.0.send(Some(answer))));
    }

    fn leader(&self, _: Option<&str>) {}

    fn core_ended(&self) {
        let _ = self.0.send(None);
    }
}

/// A member with one edge, which is the test.
pub(crate) struct Node {
    pub(crate) member: Member,
    answers: Receiver<Option<Answer>>,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Node {
    pub(crate) fn start(config: ObjectsConfig, port: Option<&SharedPort>) -> Self {
        let (sender, answers) = channel();
        let edges: Vec<Arc<dyn EdgeAnswers>> = vec![Arc::new(Edge(sender))];
        Self { member: Member::start(config, port, edges, Clock::start()).unwrap(), answers }
    }

    pub(crate) fn until(&self, what: &str, is_it: impl Fn(&Member) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_it(&self.member) {
            assert!(Instant::now() < deadline, "it never came to this: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn serves(&self) {
        self.until("it serves", |member| member.standing().is_serving());
    }

    /// Calls a built-in object under a key.
    pub(crate) fn call(&self, key: &str, kind: &str, method: &str, args: &str) -> Outcome {
        let object = ObjectName { kind: type_named(kind).unwrap(), name: String::from("it") };
        self.ask(|origin| {
            let caller = caller(origin, Identity::Key(String::from(key)));
            let invocation = Invocation { method: String::from(method), args: args.as_bytes().to_vec() };
            let (incarnation, opens, object) = (None, None, object.clone());
            let call =
                Call { caller, object, incarnation, create: true, wait_ms: Some(0), opens, invocation };
            Request::Command { command: Command::Call(call), secret_hash: None }
        })
    }

    /// Asks again and again until it is answered.
    pub(crate) fn ask(&self, request: impl Fn(Origin) -> Request) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.serves();
            let member = self.member.standing().member().unwrap_or(0);
            let request = request(origin(member, 0, NUMBERS.fetch_add(1, Ordering::Relaxed)));
            let own = origin_of(&request).unwrap();
            self.member.requests()[0].put(request);
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

pub(crate) fn caller(origin: Origin, identity: Identity) -> Caller {
    Caller { origin, principal: "test".into(), identity }
}

pub(crate) fn done(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done(json) => json,
        Outcome::Refused(problem) => panic!("{problem:?}"),
    }
}

pub(crate) fn config(folder: &Path, group: Option<GroupConfig>) -> ObjectsConfig {
    let mut config = ObjectsConfig::new(folder.join("objects"), group);
    config.segment_bytes = 1 << 20;
    config
}

/// The ports between members of the process, without a group that owns them.
pub(crate) struct Ports {
    pub(crate) ports: Vec<SharedPort>,
    acceptors: Vec<(mio::Waker, JoinHandle<()>)>,
}

impl Ports {
    pub(crate) fn new(members: u8) -> Self {
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

    pub(crate) fn group(&self, own: u8, members: u8) -> GroupConfig {
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
