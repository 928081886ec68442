//! A crowd: many sessions that do little.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use council_wire::{OpCode, xid};

use super::connection::Heard;
use super::runner::{PATIENCE, Runner};
use super::script::append;

/// Many sessions on one server, and one more that writes.
pub struct Crowd {
    runner: Runner,
    sessions: usize,
}

impl Crowd {
    /// Opens the sessions.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn connect(address: SocketAddr, sessions: usize) -> io::Result<Self> {
        Ok(Self { runner: Runner::connect(&[address], sessions + 1)?, sessions })
    }

    /// Each session pings once; returns when all were answered.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn ping(&mut self) -> io::Result<()> {
        let now = Instant::now();
        for connection in &mut self.runner.connections {
            connection.ask_as(xid::PING, now, |out| append(out, xid::PING, OpCode::Ping, |_| {}));
        }
        self.runner.until(|runner| Ok(!runner.is_owed()))
    }

    /// Each session but the writer reads `path` and leaves a watch; returns when all were answered.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn watch(&mut self, path: &str) -> io::Result<()> {
        let now = Instant::now();
        for connection in &mut self.runner.connections[..self.sessions] {
            connection.ask(now, |xid, out| {
                append(out, xid, OpCode::GetData, |writer| {
                    writer.text(path).bool(true);
                });
            });
        }
        self.runner.until(|runner| Ok(!runner.is_owed()))
    }

    /// The writer sets `path`; returns the time from sending that until the last session was told.
    ///
    /// # Errors
    /// A connection failed or was closed, or a session did not get the event.
    pub fn tell(&mut self, path: &str, value: &[u8]) -> io::Result<Duration> {
        let began = Instant::now();
        let writer = &mut self.runner.connections[self.sessions];
        writer.ask(began, |xid, out| {
            append(out, xid, OpCode::SetData, |writer| {
                writer.text(path).buffer(Some(value)).i32(-1);
            });
        });
        writer.send()?;
        let (mut told, mut last) = (0, began);
        while told < self.sessions || self.runner.is_owed() {
            self.runner.turn(Duration::from_millis(100), |_, heard, now| {
                if matches!(heard, Heard::Event(_)) {
                    told += 1;
                    last = now;
                }
            })?;
            if began.elapsed() > PATIENCE {
                let text = format!("{told} of {} sessions were told", self.sessions);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        }
        Ok(last - began)
    }

    /// Closes all sessions.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn close(self) -> io::Result<()> {
        self.runner.close()
    }
}
