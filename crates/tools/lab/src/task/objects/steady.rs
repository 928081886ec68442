//! Reads and writes of random objects that all clients share, by one thread: as many outstanding as a client keeps, or at
//! fixed moments. Each answer is held against what was acknowledged before its request.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use council_client::load::Alarm;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tools_lab_report::record::Checked;
use tools_testbed::dice::Dice;
use tools_testbed::meter::{Edge, Edges};

use super::asker::Asker;
use super::http::{Answer, Session, Wire};
use super::{Order, head, shared};
use crate::measure::Phase;
use crate::task::TURN_MAX;
use crate::task::outcome::Outcome;

const NAME: &str = "mixed";
/// The alarm's token: no client's.
const ALARM: Token = Token(usize::MAX - 1);
/// As many commands as a session may have under way.
const UNDER_WAY_MAX: usize = 64;

struct Pending {
    due: Instant,
    key: u32,
    /// The number of the write; nothing for a read.
    write: Option<u64>,
    /// What was acknowledged of that object when this was asked for.
    known: u64,
}

struct Client {
    stream: TcpStream,
    wire: Wire,
    session: Session,
    pending: VecDeque<Pending>,
}

/// What was acknowledged last of each object: version, writer, number of the write.
struct Ledger(Vec<(u64, u32, u64)>);

struct Load<'a> {
    order: &'a Order<'a>,
    clients: Vec<Client>,
    /// Ends a wait at the moment at which a request is due: the poll would wait for whole milliseconds.
    alarm: Alarm,
    ledger: Ledger,
    dice: Dice,
    phase: Phase,
    /// Whether answers count.
    counts: bool,
    outcome: Outcome,
}

pub(super) fn perform(order: &Order<'_>, edges: &mut Edges<'_>) -> io::Result<Outcome> {
    let task = order.task;
    let mut poll = Poll::new()?;
    let mut load = Load::connect(order, Alarm::new(poll.registry(), ALARM)?)?;
    for (place, client) in load.clients.iter_mut().enumerate() {
        poll.registry().register(&mut client.stream, Token(place), Interest::READABLE)?;
    }
    let began = Instant::now();
    let [warm_up, measured] = [task.warm_up_ms, task.measured_ms].map(Duration::from_millis);
    load.turns(&mut poll, began, warm_up)?;
    edges(Edge::Begin, NAME);
    let measuring = Instant::now();
    load.counts = true;
    load.turns(&mut poll, began, began.elapsed() + measured)?;
    load.phase.elapsed = measuring.elapsed();
    load.counts = false;
    edges(Edge::End, NAME);
    load.finish(&mut poll)?;
    load.look()?;
    let Load { phase, outcome, .. } = load;
    Ok(Outcome { phases: vec![phase], ..outcome })
}

impl<'a> Load<'a> {
    fn connect(order: &'a Order<'a>, alarm: Alarm) -> io::Result<Self> {
        let Order { task, endpoints, patience } = *order;
        let mut clients = Vec::new();
        for place in 0..task.clients {
            let session = Asker::new(endpoints, place, patience).open_session()?;
            let address = endpoints[place % endpoints.len()].parse().map_err(io::Error::other)?;
            let stream = std::net::TcpStream::connect_timeout(&address, patience.silence)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let stream = TcpStream::from_std(stream);
            clients.push(Client { stream, wire: Wire::default(), session, pending: VecDeque::new() });
        }
        Ok(Self {
            order,
            clients,
            alarm,
            ledger: Ledger(vec![(0, 0, 0); task.keys as usize]),
            dice: Dice::new(task.seed),
            phase: Phase::new(NAME),
            counts: false,
            outcome: Outcome::default(),
        })
    }

    /// Takes turns until so long after the beginning.
    fn turns(&mut self, poll: &mut Poll, began: Instant, until: Duration) -> io::Result<()> {
        let mut asked = self.asked_by(began);
        while began.elapsed() < until {
            let next = match self.order.task.per_second > 0.0 {
                true => self.ask_what_is_due(began, &mut asked)?,
                false => {
                    (0..self.clients.len()).try_for_each(|place| self.fill(place))?;
                    TURN_MAX
                }
            };
            let left = until.saturating_sub(began.elapsed());
            self.turn(poll, next.min(left).min(TURN_MAX))?;
        }
        Ok(())
    }

    /// How many requests were due by now.
    fn asked_by(&self, began: Instant) -> u64 {
        (began.elapsed().as_secs_f64() * self.order.task.per_second) as u64
    }

    /// Asks for what is due at the open pace; how long until there is more.
    fn ask_what_is_due(&mut self, began: Instant, asked: &mut u64) -> io::Result<Duration> {
        loop {
            let due = began + Duration::from_secs_f64(*asked as f64 / self.order.task.per_second);
            let left = due.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Ok(left);
            }
            let place = (*asked % self.clients.len() as u64) as usize;
            if self.clients[place].pending.len() >= UNDER_WAY_MAX {
                // It is late, which counts when it is asked for.
                return Ok(Duration::from_millis(1));
            }
            *asked += 1;
            self.ask(place, due)?;
        }
    }

    /// Asks for as much as a client keeps outstanding.
    fn fill(&mut self, place: usize) -> io::Result<()> {
        while self.clients[place].pending.len() < self.order.task.outstanding.min(UNDER_WAY_MAX) {
            self.ask(place, Instant::now())?;
        }
        Ok(())
    }

    fn ask(&mut self, place: usize, due: Instant) -> io::Result<()> {
        let task = self.order.task;
        let key = self.dice.below(task.keys as usize) as u32;
        let writes = self.dice.below(1000) < task.writes_per_mille as usize;
        let client = &mut self.clients[place];
        let path = shared(key);
        let write = writes.then(|| {
            client.session.latest += 1;
            let number = client.session.latest;
            let value = head(task, key, place as u32 + 1, number);
            let body = format!("{{\"key\":\"head\",\"value\":\"{value}\"}}");
            client.wire.command(&format!("{path}/put"), &body, &client.session, number);
            number
        });
        if write.is_none() {
            client.wire.get(&format!("{path}/get?key=head"));
        }
        client.pending.push_back(Pending { due, key, write, known: self.ledger.0[key as usize].0 });
        client.wire.send(&mut client.stream)
    }

    /// Takes what has come within that time.
    fn turn(&mut self, poll: &mut Poll, wait: Duration) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        if !wait.is_zero() && wait < TURN_MAX {
            self.alarm.set(wait)?;
        }
        match poll.poll(&mut events, Some(wait)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => other?,
        }
        self.order.patience.check()?;
        for event in events.iter().filter(|event| event.token() != ALARM) {
            let place = event.token().0;
            loop {
                let client = &mut self.clients[place];
                let is_more = client.wire.receive(&mut client.stream)?;
                while let Some(answer) = self.clients[place].wire.answer()? {
                    self.answered(place, &answer);
                }
                if !is_more {
                    break;
                }
            }
            let client = &mut self.clients[place];
            client.wire.send(&mut client.stream)?;
        }
        let now = Instant::now();
        let oldest =
            self.clients.iter().filter_map(|client| client.pending.front()).map(|pending| pending.due).min();
        match oldest {
            Some(due) if now.saturating_duration_since(due) > self.order.patience.silence => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the servers did not answer"))
            }
            _ => Ok(()),
        }
    }

    fn answered(&mut self, place: usize, answer: &Answer) {
        let Some(pending) = self.clients[place].pending.pop_front() else {
            self.outcome.tell(|| String::from("an answer came that nobody asked for"));
            return;
        };
        if let Some(number) = pending.write {
            self.clients[place].session.answered = number;
        }
        let version = answer.number("version").filter(|_| answer.status == 200);
        match (version, self.counts) {
            (Some(_), true) => self.phase.record(pending.due.elapsed()),
            (None, true) => self.phase.errors += 1,
            _ => {}
        }
        let Some(version) = version else {
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            self.outcome.tell(|| format!("a request was answered with {}: {text}", answer.status));
            return;
        };
        let Checked { reads, writes, .. } = &mut self.outcome.checked;
        let Pending { key, write, known, .. } = pending;
        let is_wrong = match write {
            Some(number) => {
                *writes += 1;
                self.ledger.wrote(key, (version, place as u32 + 1, number));
                version <= known
            }
            None => {
                *reads += 1;
                version < known
            }
        };
        if is_wrong {
            self.outcome.tell(|| format!("object {key} was at {version}, {known} was acknowledged before"));
        }
    }

    /// Until everything is answered.
    fn finish(&mut self, poll: &mut Poll) -> io::Result<()> {
        while self.clients.iter().any(|client| !client.pending.is_empty()) {
            self.turn(poll, TURN_MAX)?;
        }
        Ok(())
    }

    /// Somebody who wrote nothing reads every object that was written, when nothing is under way.
    fn look(&mut self) -> io::Result<()> {
        let Order { task, endpoints, patience } = *self.order;
        let mut reader = Asker::new(endpoints, 0, patience);
        for (key, (version, writer, number)) in self.ledger.0.iter().enumerate() {
            if *writer == 0 {
                continue;
            }
            let key = key as u32;
            let path = format!("{}/get?key=head", shared(key));
            let answer = reader.must(|wire| wire.get(&path))?;
            self.outcome.checked.reads += 1;
            let expected = head(task, key, *writer, *number);
            if answer.number("version") != Some(*version) || answer.text("value") != Some(expected.as_bytes())
            {
                let found = String::from_utf8_lossy(&answer.body).into_owned();
                self.outcome
                    .tell(|| format!("object {key} holds {found}, {expected} was acknowledged at {version}"));
            }
        }
        Ok(())
    }
}

impl Ledger {
    fn wrote(&mut self, key: u32, write: (u64, u32, u64)) {
        let latest = &mut self.0[key as usize];
        *latest = (*latest).max(write);
    }
}
