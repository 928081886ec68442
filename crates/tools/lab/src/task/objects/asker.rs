//! One client that waits for each answer, and goes on to the next member when one fails.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use council_client::load::Patience;

use super::http::{Answer, Session, Wire, unexpected};

/// How long one attempt is waited for.
const ATTEMPT: Duration = Duration::from_secs(2);
/// Between two attempts. Not a synchronisation: how soon one tries again.
const AGAIN: Duration = Duration::from_millis(2);

pub(super) struct Asker<'a> {
    endpoints: &'a [String],
    /// Which of them.
    at: usize,
    patience: &'a Patience,
    connection: Option<(TcpStream, Wire)>,
    /// Attempts without an answer that counts.
    pub(super) lost: u64,
}

impl<'a> Asker<'a> {
    pub(super) const fn new(endpoints: &'a [String], place: usize, patience: &'a Patience) -> Self {
        Self { endpoints, at: place, patience, connection: None, lost: 0 }
    }

    /// A session of its own, which lives on without it for ten minutes.
    pub(super) fn open_session(&mut self) -> io::Result<Session> {
        let opened = self.must(|wire| wire.post("sessions", "{\"ttl_ms\":600000}"))?;
        Session::of(&opened)
    }

    /// Asks again and again, the next member each time, until the answer is a result.
    ///
    /// # Errors
    /// It is a refusal that stays, nobody answers for long, or the user stops the load.
    pub(super) fn must(&mut self, put: impl Fn(&mut Wire)) -> io::Result<Answer> {
        let began = Instant::now();
        loop {
            let answer = self.attempt(&put);
            match answer {
                Ok(answer) if (200..300).contains(&answer.status) => return Ok(answer),
                Ok(answer) if !matches!(answer.status, 503 | 504) => {
                    return Err(unexpected("a request", &answer));
                }
                other => {
                    self.lost += 1;
                    self.connection = None;
                    self.at += 1;
                    if began.elapsed() > self.patience.silence {
                        let what =
                            other.map_or_else(|error| error, |answer| unexpected("a request", &answer));
                        return Err(io::Error::other(format!("never answered: {what}")));
                    }
                }
            }
            self.patience.check()?;
            std::thread::sleep(AGAIN);
        }
    }

    fn attempt(&mut self, put: impl Fn(&mut Wire)) -> io::Result<Answer> {
        let (stream, wire) = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let endpoint = &self.endpoints[self.at % self.endpoints.len()];
                let address = endpoint.parse().map_err(io::Error::other)?;
                let stream = TcpStream::connect_timeout(&address, ATTEMPT)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ATTEMPT))?;
                none.insert((stream, Wire::default()))
            }
        };
        put(wire);
        wire.send(stream)?;
        loop {
            if let Some(answer) = wire.answer()? {
                return Ok(answer);
            }
            if !wire.receive(stream)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}
