//! One connection at the door until both sides have proved who they are: bytes in, bytes out, never waiting.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown};
use std::time::Instant;

use mio::net::TcpStream;
use net_peer_pairs::PeerNumber;
use rustls::Connection;

use crate::credentials::{self, Credentials};
use crate::established::Established;
use crate::handshake::Answering;
use crate::hello::{Hello, HelloRefusal};
use crate::proof::Nonce;
use crate::refusal::Refusal;
use crate::shared_port::FurtherGroups;
use crate::{dial, tls, trouble};

/// Bytes that one that has not proved anything may send: a certificate chain and what goes with it.
const HEARD_BYTES_MAX: usize = 32 << 10;
/// Bytes that are thrown away before a connection is closed, so that the other side still reads why.
const DISCARDED_BYTES_MAX: usize = 16 << 10;

/// See the module.
pub(crate) struct Incoming {
    pub(crate) stream: TcpStream,
    /// Where it comes from.
    address: IpAddr,
    /// When it has to be done.
    pub(crate) until: Instant,
    encryption: Option<Connection>,
    answering: Answering,
    nonce: Nonce,
    heard_bytes: usize,
    outbox: Vec<u8>,
    /// It was let in, as soon as it has been told so; and whether this member had a seat when that was said.
    accepted: Option<(Hello, bool)>,
}

/// How far it is.
pub(crate) enum Progress {
    /// It may still become a member.
    Waits {
        /// It has shown a good certificate.
        certified: bool,
    },
    /// It is one.
    Proved(Hello, bool),
}

impl Incoming {
    /// One that has just connected.
    ///
    /// # Errors
    /// The TLS library or the system refuses.
    pub(crate) fn new(
        stream: TcpStream,
        address: IpAddr,
        until: Instant,
        credentials: &Credentials,
    ) -> io::Result<Self> {
        dial::prepare(&stream)?;
        let encryption = credentials.tls().map(|tls| tls.answer().map_err(io::Error::other)).transpose()?;
        let nonce = credentials::nonce()?;
        Ok(Self {
            stream,
            address,
            until,
            encryption,
            answering: Answering::new(),
            nonce,
            heard_bytes: 0,
            outbox: Vec::new(),
            accepted: None,
        })
    }

    /// Goes on as far as the socket lets it.
    ///
    /// # Errors
    /// Why it is not let in; it has been told what it may know.
    pub(crate) fn drive(
        &mut self,
        credentials: &Credentials,
        further: &FurtherGroups,
    ) -> Result<Progress, Refusal> {
        let done = self.converse(credentials, further);
        if done.is_err() {
            self.part();
        }
        done
    }

    fn converse(&mut self, credentials: &Credentials, further: &FurtherGroups) -> Result<Progress, Refusal> {
        let tls = credentials.tls();
        let own_certificate = tls.as_ref().map(|tls| &tls.own);
        let explained = |error: io::Error| trouble::broken(&error, own_certificate);
        loop {
            if !self.flush().map_err(explained)? {
                return Ok(self.waits());
            }
            if let Some((hello, seated)) = self.accepted {
                return Ok(Progress::Proved(hello, seated));
            }
            let mut bytes = [0; 128];
            let wanted = self.answering.wants().min(bytes.len());
            match self.read(&mut bytes[..wanted]) {
                Ok(0) => return Err(explained(io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => self.take(bytes.get(..length).unwrap_or_default(), credentials, further)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(self.waits()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(explained(error)),
            }
        }
    }

    fn waits(&self) -> Progress {
        let certified = self.encryption.as_ref().is_some_and(|connection| !connection.is_handshaking());
        Progress::Waits { certified }
    }

    fn take(
        &mut self,
        bytes: &[u8],
        credentials: &Credentials,
        further: &FurtherGroups,
    ) -> Result<(), Refusal> {
        let binding = match &self.encryption {
            Some(connection) => tls::binding(connection).map_err(Refusal::no_binding)?,
            None => [0; 32],
        };
        let terms = credentials.terms_with(credentials.identity.hello(), binding, self.nonce);
        let (encryption, address) = (self.encryption.as_ref(), self.address);
        let mut seated = false;
        let judge = |hello: &Hello| {
            let own = judge_in_group(hello, (credentials, further), encryption, address)?;
            seated = own.seat.is_some();
            Ok(own)
        };
        if let Some(hello) = self.answering.take(bytes, &terms, judge, &mut self.outbox)? {
            self.accepted = Some((hello, seated));
        }
        Ok(())
    }

    /// Plain bytes that have arrived.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(connection) = &mut self.encryption else { return self.stream.read(buffer) };
        loop {
            match connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            let length = connection.read_tls(&mut self.stream)?;
            if length == 0 {
                return Ok(0);
            }
            self.heard_bytes += length;
            if self.heard_bytes > HEARD_BYTES_MAX {
                return Err(io::Error::other("it says too much before it has said who it is"));
            }
            let processed = connection.process_new_packets();
            processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if connection.wants_write() {
                connection.write_tls(&mut self.stream)?;
            }
        }
    }

    /// Sends what waits; whether all of it is gone.
    fn flush(&mut self) -> io::Result<bool> {
        if let Some(connection) = &mut self.encryption {
            connection.writer().write_all(&self.outbox)?;
            self.outbox.clear();
            while connection.wants_write() {
                match connection.write_tls(&mut self.stream) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    other => other?,
                };
            }
            return Ok(true);
        }
        while !self.outbox.is_empty() {
            match self.stream.write(&self.outbox) {
                Ok(length) => drop(self.outbox.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Says what is left to say. What the other has sent meanwhile is read first: closing a connection with unread
    /// bytes would take back what was said.
    fn part(&mut self) {
        // It is gone either way.
        let _ = self.flush();
        let mut rest = [0; 1024];
        let mut discarded = 0;
        while discarded < DISCARDED_BYTES_MAX {
            match self.stream.read(&mut rest) {
                Ok(length) if length > 0 => discarded += length,
                _ => break,
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The connection, once its incoming has proved to be a member.
    pub(crate) fn establish(self, hello: Hello, seated: bool, proved: bool) -> io::Result<Established> {
        let stream = std::net::TcpStream::from(self.stream);
        let encryption = self.encryption;
        Ok(Established { stream, encryption, attempt: hello.attempt, hello, seated, proved, dialled: false })
    }
}

/// Who answers it, if it is let in: this process's member of the group that it wants.
fn judge_in_group(
    hello: &Hello,
    (first, further): (&Credentials, &FurtherGroups),
    encryption: Option<&Connection>,
    address: IpAddr,
) -> Result<Hello, Refusal> {
    let own = first.identity.hello();
    if hello.group == own.group {
        return judge(hello, own, first, encryption, address).map(|()| own);
    }
    let group = further.find(hello.group).ok_or(HelloRefusal::GroupNotServed(hello.group))?;
    let own = group.credentials.identity.hello();
    judge(hello, own, &group.credentials, encryption, address).map(|()| own)
}

/// Whether it is let in: by what its hello says of itself, by the number, which must be named, and by what proves that the
/// number is its.
fn judge(
    hello: &Hello,
    own: Hello,
    credentials: &Credentials,
    encryption: Option<&Connection>,
    address: IpAddr,
) -> Result<(), Refusal> {
    let names = &credentials.names;
    let identified = |number| identify(number, credentials, encryption, address);
    let judged = own.judge_dialler(hello, |number| names.is_named(number));
    if let Some(number) = own.numbering.number(hello.number)
        && own.is_apart_from(hello)
        && names.is_named(number)
        && identified(number).is_ok()
    {
        credentials.other_ensembles.note(number, Instant::now());
    }
    let number = judged?;
    identified(number)?;
    credentials.connected.judge(number, hello.life)
}

/// Whether the certificate, or where nothing is proved the address, is that of the member that it says it is.
fn identify(
    number: PeerNumber,
    credentials: &Credentials,
    encryption: Option<&Connection>,
    address: IpAddr,
) -> Result<(), Refusal> {
    let (names, hints) = (&credentials.names, credentials.hints);
    if !credentials.asks_for_proof() && !names.is_at(number, address) {
        return Err(Refusal::OtherAddress { number, address, hints });
    }
    match (credentials.tls(), encryption) {
        (Some(tls), Some(connection)) => Ok(tls.check(connection, number, names, None)?),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
