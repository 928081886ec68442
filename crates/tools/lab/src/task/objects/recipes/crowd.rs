//! Clients with a session and a connection each, on one thread: what they are asked to send goes out together, and what has come
//! is given back in order.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::super::Order;
use super::super::asker::Asker;
use super::super::http::{Answer, Session, Wire};
use crate::task::TURN_MAX;

const EVENTS_AT_ONCE: usize = 256;

struct Client {
    stream: TcpStream,
    wire: Wire,
    session: Session,
    /// When each request was asked for that is not answered yet, and whether it is a command.
    pending: VecDeque<(Instant, bool)>,
}

/// An answer.
pub(super) struct Heard {
    /// Whose, counted from 0.
    pub(super) place: usize,
    pub(super) asked: Instant,
    pub(super) answer: Answer,
}

pub(super) struct Crowd<'a> {
    order: &'a Order<'a>,
    poll: Poll,
    clients: Vec<Client>,
}

impl<'a> Crowd<'a> {
    /// The clients are spread over the members.
    pub(super) fn connect(order: &'a Order<'a>) -> io::Result<Self> {
        let Order { task, endpoints, patience } = *order;
        let poll = Poll::new()?;
        let mut clients = Vec::new();
        for place in 0..task.clients {
            let session = Asker::new(endpoints, place, patience).open_session()?;
            let address = endpoints[place % endpoints.len()].parse().map_err(io::Error::other)?;
            let stream = std::net::TcpStream::connect_timeout(&address, patience.silence)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(place), Interest::READABLE)?;
            clients.push(Client { stream, wire: Wire::default(), session, pending: VecDeque::new() });
        }
        Ok(Self { order, poll, clients })
    }

    pub(super) const fn len(&self) -> usize {
        self.clients.len()
    }

    /// A command, which goes out with the next turn.
    pub(super) fn command(&mut self, place: usize, path: &str, body: &str) {
        let client = &mut self.clients[place];
        client.session.latest += 1;
        client.wire.command(path, body, &client.session, client.session.latest);
        client.pending.push_back((Instant::now(), true));
    }

    /// A query, which goes out with the next turn.
    pub(super) fn query(&mut self, place: usize, path: &str) {
        let client = &mut self.clients[place];
        client.wire.get(path);
        client.pending.push_back((Instant::now(), false));
    }

    /// Whether everything is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.clients.iter().all(|client| client.pending.is_empty())
    }

    /// Sends what is to go out, and takes what comes within that time.
    pub(super) fn turn(&mut self, wait: Duration) -> io::Result<Vec<Heard>> {
        for client in &mut self.clients {
            client.wire.send(&mut client.stream)?;
        }
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        match self.poll.poll(&mut events, Some(wait.min(TURN_MAX))) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => other?,
        }
        self.order.patience.check()?;
        let mut all = Vec::new();
        for event in &events {
            let place = event.token().0;
            let client = &mut self.clients[place];
            while client.wire.receive(&mut client.stream)? {}
            while let Some(answer) = client.wire.answer()? {
                let Some((asked, is_command)) = client.pending.pop_front() else {
                    return Err(io::Error::other("an answer came that nobody asked for"));
                };
                if is_command {
                    // One command of a client is under way at a time.
                    client.session.answered = client.session.latest;
                }
                all.push(Heard { place, asked, answer });
            }
        }
        self.give_up_if_silent()?;
        Ok(all)
    }

    fn give_up_if_silent(&self) -> io::Result<()> {
        let waits = self.clients.iter().filter_map(|client| client.pending.front());
        let oldest = waits.map(|(asked, _)| *asked).min();
        match oldest {
            Some(asked) if asked.elapsed() > self.order.patience.silence => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the servers did not answer"))
            }
            _ => Ok(()),
        }
    }
}
