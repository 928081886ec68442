//! How a connection of a load opens: the session, the SASL exchange, the identities. It takes the server's frames and
//! appends what is to be sent; it knows no socket.

use std::io;

use council_client_core::sasl::{self, ClientExchange, ClientStep};
use council_wire::{
    ConnectRequest, ConnectResponse, OpCode, Reader, ReplyHeader, Writer, end_frame, start_frame, xid,
};

use super::script::append;
use super::servers::Server;
use crate::entropy::entropy;
use crate::failure::of_io;
use crate::{Access, Attempt, ConnectFailure};

/// The number of SASL's packets. They are answered before any other request is sent.
const SASL_XID: i32 = 0;

/// See the module.
pub(super) struct Opening {
    server: Server,
    sasl: Option<ClientExchange>,
    identities: Vec<(String, Vec<u8>)>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Session,
    Sasl,
    /// So many identities were accepted.
    Identities(usize),
}

impl Opening {
    /// Asks for a session of a minute and a half, which is longer than any load is silent.
    pub(super) fn begin(server: &Server, access: &Access, out: &mut Vec<u8>) -> io::Result<Self> {
        let at = start_frame(out);
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout_ms: 90_000,
            session_id: 0,
            password: Some(&[0; 16]),
            read_only: Some(false),
        }
        .write(&mut Writer::new(out));
        end_frame(out, at);
        let sasl = match &access.sasl {
            Some(user) => Some(sasl::exchange(user.clone(), entropy()?)),
            None => None,
        };
        let identities = access.identities.clone();
        Ok(Self { server: server.clone(), sasl, identities, stage: Stage::Session })
    }

    /// Takes a frame of the server; whether the connection is open now.
    ///
    /// # Errors
    /// The server refused, or sent nonsense.
    pub(super) fn frame(&mut self, frame: &[u8], out: &mut Vec<u8>) -> io::Result<bool> {
        self.take(frame, out).map_err(io::Error::other)
    }

    fn take(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<bool, ConnectFailure> {
        let malformed = |_| ConnectFailure::Malformed;
        let mut reader = Reader::new(frame);
        if self.stage == Stage::Session {
            let response = ConnectResponse::read(&mut reader).map_err(malformed)?;
            if response.timeout_ms <= 0 {
                return Err(ConnectFailure::NoSession);
            }
            if self.sasl.is_none() {
                return Ok(self.show_identities(out));
            }
            self.stage = Stage::Sasl;
            send_token(out, &[]);
            return Ok(false);
        }
        let header = ReplyHeader::read(&mut reader).map_err(malformed)?;
        match self.stage {
            Stage::Identities(accepted) => self.identity_reply(&header, accepted),
            _ if header.err != 0 => Err(ConnectFailure::SaslRefused),
            _ => {
                let token = reader.buffer().map_err(malformed)?.unwrap_or_default();
                self.sasl_reply(token, out)
            }
        }
    }

    fn sasl_reply(&mut self, token: &[u8], out: &mut Vec<u8>) -> Result<bool, ConnectFailure> {
        match self.sasl.as_mut().map(|exchange| exchange.step(token)) {
            Some(ClientStep::Send(token)) => {
                send_token(out, &token);
                Ok(false)
            }
            Some(ClientStep::Done) => Ok(self.show_identities(out)),
            Some(ClientStep::Failed(_)) | None => Err(ConnectFailure::SaslRefused),
        }
    }

    /// Whether there are none, so that the connection is open.
    fn show_identities(&mut self, out: &mut Vec<u8>) -> bool {
        self.stage = Stage::Identities(0);
        for (scheme, credentials) in &self.identities {
            append(out, xid::AUTH, OpCode::Auth, |writer| {
                writer.i32(0).text(scheme).buffer(Some(credentials));
            });
        }
        self.identities.is_empty()
    }

    fn identity_reply(&mut self, header: &ReplyHeader, accepted: usize) -> Result<bool, ConnectFailure> {
        let (scheme, _) = self.identities.get(accepted).ok_or(ConnectFailure::Malformed)?;
        match header.xid {
            xid::AUTH if header.err == 0 => {
                self.stage = Stage::Identities(accepted + 1);
                Ok(accepted + 1 == self.identities.len())
            }
            xid::AUTH => Err(ConnectFailure::IdentityRefused(scheme.clone())),
            _ => Err(ConnectFailure::Malformed),
        }
    }

    /// Why the connection does not open, with the server's name.
    pub(super) fn failed(&self, error: &io::Error, is_handshaking: bool) -> io::Error {
        let failure = match of_io(error) {
            ConnectFailure::Closed if is_handshaking => ConnectFailure::ClosedInHandshake,
            other => other,
        };
        let Server { host, address } = &self.server;
        let attempt = Attempt { host: host.clone(), port: address.port(), address: Some(*address), failure };
        io::Error::new(error.kind(), attempt)
    }
}

fn send_token(out: &mut Vec<u8>, token: &[u8]) {
    append(out, SASL_XID, OpCode::Sasl, |writer| {
        writer.buffer(Some(token));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Server {
        Server::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1)))
    }

    fn session(timeout_ms: i32) -> Vec<u8> {
        let mut out = Vec::new();
        let password = Some(&[7; 16][..]);
        ConnectResponse { protocol_version: 0, timeout_ms, session_id: 1, password, read_only: None }
            .write(&mut Writer::new(&mut out));
        out
    }

    fn reply(xid: i32, err: i32) -> Vec<u8> {
        let mut out = Vec::new();
        ReplyHeader { xid, zxid: 0, err }.write(&mut Writer::new(&mut out));
        out
    }

    fn begun(access: &Access) -> Opening {
        Opening::begin(&server(), access, &mut Vec::new()).unwrap()
    }

    #[test]
    fn opening_ends_with_the_session_or_the_last_identity() {
        let mut out = Vec::new();
        assert!(begun(&Access::default()).frame(&session(90_000), &mut out).unwrap());
        assert!(out.is_empty());
        let access = Access::default().identity("digest", b"a:b").identity("digest", b"c:d");
        let mut opening = begun(&access);
        assert!(!opening.frame(&session(90_000), &mut out).unwrap());
        assert!(!out.is_empty());
        assert!(!opening.frame(&reply(xid::AUTH, 0), &mut out).unwrap());
        assert!(opening.frame(&reply(xid::AUTH, 0), &mut out).unwrap());
    }

    #[test]
    fn opening_says_what_the_server_refused() {
        let refusal = |access: &Access, frames: &[Vec<u8>]| {
            let mut opening = begun(access);
            let outcomes = frames.iter().map(|frame| opening.frame(frame, &mut Vec::new()));
            let error = outcomes.last().unwrap().unwrap_err();
            opening.failed(&error, false).to_string()
        };
        let none = refusal(&Access::default(), &[session(0)]);
        assert_eq!(none, "127.0.0.1:1: it gave no session");
        let sasl = Access::default().sasl("bob", "wrong");
        let sasl = refusal(&sasl, &[session(90_000), reply(0, -115)]);
        assert_eq!(sasl, "127.0.0.1:1: it does not accept the SASL user: check name and password");
        let identity = Access::default().identity("digest", b"a:b");
        let identity = refusal(&identity, &[session(90_000), reply(xid::AUTH, -115)]);
        assert_eq!(identity, "127.0.0.1:1: it does not accept an identity of the scheme `digest`");
        assert!(refusal(&Access::default(), &[vec![1]]).contains("does not speak ZooKeeper's protocol"));
    }
}
