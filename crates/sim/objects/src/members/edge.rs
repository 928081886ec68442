//! One edge of a member: the shipped machine of `objects_http` between its clients and its core, a thread of its own. What
//! comes waits until the thread makes its next round.

use std::collections::VecDeque;

use base::{LogIndex, MonoTime, Random};
use objects_http::{Edge, EdgeConfig, Fields, HttpRequest, Say};
use objects_replica::edge::{Answer, Request, origin_of};

/// A request of HTTP, as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpCall {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl HttpCall {
    /// Whether its body is bytes, as it says.
    pub(crate) fn has_bytes(&self) -> bool {
        self.fields.contains(&octets())
    }
}

/// What says that a body is bytes.
pub(crate) fn octets() -> (&'static str, String) {
    ("content-type", String::from("application/octet-stream"))
}

/// From a client: under the number of its attempt.
#[derive(Debug)]
pub(crate) enum FromClient {
    Request(u64, HttpCall),
    /// It has closed its connection.
    Gone(u64),
}

/// What happened at an edge.
#[derive(Debug, Default)]
pub(crate) struct EdgeNews {
    /// To clients.
    pub(crate) says: Vec<Say<u64>>,
    /// Attempts that were given a number at the core: the attempt, and that.
    pub(crate) numbered: Vec<(u64, u64)>,
}

/// See the module.
pub(crate) struct EdgeThread {
    edge: Edge<u64>,
    random: Random,
    inbox: VecDeque<FromClient>,
    answers: Vec<Answer>,
    asks: Vec<Request>,
    news: EdgeNews,
    /// Attempts that are to be sent a snapshot, and which.
    backups: Vec<(u64, LogIndex)>,
    /// Attempts that are sent one, and for how many rounds more.
    sending: Vec<(u64, u64)>,
}

impl EdgeThread {
    pub(crate) fn new(config: EdgeConfig, random: Random) -> Self {
        Self {
            edge: Edge::new(config),
            random,
            inbox: VecDeque::new(),
            answers: Vec::new(),
            asks: Vec::new(),
            news: EdgeNews::default(),
            backups: Vec::new(),
            sending: Vec::new(),
        }
    }

    pub(crate) fn receive(&mut self, from: FromClient) {
        self.inbox.push_back(from);
    }

    /// The core's answers, in its order.
    pub(crate) fn hear(&mut self, answers: &mut Vec<Answer>) {
        self.answers.append(answers);
    }

    /// What the core is asked, since it looked last.
    pub(crate) fn take_asks(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.asks)
    }

    pub(crate) fn take_news(&mut self) -> EdgeNews {
        std::mem::take(&mut self.news)
    }

    /// The thread's turn, as the server's reactor gives it one.
    pub(crate) fn round(&mut self, now: MonoTime) {
        while let Some(from) = self.inbox.pop_front() {
            match from {
                FromClient::Request(attempt, call) => self.request(attempt, &call),
                FromClient::Gone(attempt) => self.edge.gone(attempt),
            }
        }
        for answer in std::mem::take(&mut self.answers) {
            self.edge.answer(answer, now);
        }
        if self.edge.deadline().is_some_and(|at| at <= now) {
            self.edge.tick(now);
        }
        self.send_backups();
        self.edge.take_asks(&mut self.asks);
        self.take_says();
    }

    /// What it says, but for what is to be read from the disk first.
    fn take_says(&mut self) {
        let mut says = Vec::new();
        self.edge.take_says(&mut says);
        for say in says {
            match say {
                Say::Backup(attempt, index) => self.backups.push((attempt, index)),
                say => self.news.says.push(say),
            }
        }
    }

    /// Backups that it is to send, since it was looked last.
    pub(crate) fn take_backups(&mut self) -> Vec<(u64, LogIndex)> {
        std::mem::take(&mut self.backups)
    }

    /// The file is open, of a state of that position, or cannot be read.
    pub(crate) fn backup_opened(&mut self, attempt: u64, position: Option<u64>) {
        match position {
            Some(position) => {
                self.edge.backup_begins(attempt, position);
                self.sending.push((attempt, self.random.below(30)));
            }
            None => self.edge.backup_is_lost(attempt, "the disk fails"),
        }
    }

    /// Clients read at their pace.
    fn send_backups(&mut self) {
        for (attempt, rounds) in std::mem::take(&mut self.sending) {
            if rounds > 0 {
                self.sending.push((attempt, rounds - 1));
            } else if self.edge.backup_ended(attempt) {
                self.news.says.push(Say::Finish(attempt));
            }
        }
    }

    fn request(&mut self, attempt: u64, call: &HttpCall) {
        let fields = Fields::of(call.fields.iter().map(|(name, value)| (*name, value.as_bytes())));
        let request = HttpRequest {
            method: call.method,
            target: &call.target,
            fields: &fields,
            body: &call.body,
            certificate: None,
        };
        let random = &mut self.random;
        let mut fill = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte = random.number() as u8);
        self.edge.take_asks(&mut self.asks);
        let before = self.asks.len();
        self.edge.request(attempt, &request, &mut fill);
        self.edge.take_asks(&mut self.asks);
        let asked = self.asks.get(before..).unwrap_or_default().iter().filter_map(origin_of);
        self.news.numbered.extend(asked.map(|origin| (attempt, origin.number)));
    }

    /// The core has ended, and another may begin.
    pub(crate) fn core_ended(&mut self) {
        self.edge.core_ended();
        self.asks.clear();
        self.answers.clear();
        self.edge.take_asks(&mut Vec::new());
        self.take_says();
        self.backups.clear();
        self.sending.clear();
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.inbox.is_empty() && self.answers.is_empty() && self.asks.is_empty() && self.edge.under_way() == 0
    }
}
