//! The first bytes of a connection: a four-letter word, or the request for a session.

use council_wire::{
    ConnectRequest, ConnectResponse, Frame, Reader, SessionId, Writer, Zxid, end_frame, next_frame,
    start_frame,
};

use crate::connection::{Connection, Stage};
use crate::event::{CloseReason, FrontEvent};
use crate::four_letter_words::word_at_start;
use crate::message::ToCore;
use crate::shard_state::ShardState;

/// A request for a session has 44 or 45 bytes with a password of 16; there is some room for longer passwords. ZooKeeper
/// would take a megabyte from any client.
const CONNECT_BYTES_MAX: usize = 1024;

impl ShardState {
    /// Looks at the first bytes; says how many were consumed, 0 if there are not enough yet.
    pub(crate) fn handshake(&mut self, connection: &mut Connection, input: &[u8]) -> usize {
        if let Some(word) = word_at_start(input) {
            if word.bytes > input.len() {
                return 0;
            }
            connection.stage = Stage::Ending;
            self.stats.packets_received += 1;
            connection.stats.received += 1;
            self.events.push(FrontEvent::Word {
                conn: connection.id,
                word: word.letters,
                argument: word.argument,
            });
            return word.bytes;
        }
        match next_frame(input, CONNECT_BYTES_MAX) {
            Frame::Partial(_) => 0,
            Frame::Refused(_) => {
                self.close(connection, CloseReason::Malformed, false);
                input.len()
            }
            Frame::Whole(frame) => {
                self.stats.packets_received += 1;
                connection.stats.received += 1;
                match ConnectRequest::read(&mut Reader::new(frame)) {
                    Ok(request) => self.connect(connection, &request),
                    Err(_) => self.close(connection, CloseReason::Malformed, false),
                }
                frame.len() + 4
            }
        }
    }

    fn connect(&mut self, connection: &mut Connection, request: &ConnectRequest<'_>) {
        self.stats.session_requests += 1;
        connection.read_only = request.read_only;
        let config = &self.config;
        let timeout_ms = request.timeout_ms.max(config.timeout_min_ms).min(config.timeout_max_ms);
        let session = SessionId(request.session_id);
        let password = request.password.and_then(|password| <[u8; 16]>::try_from(password).ok());
        let password = match password {
            Some(password) => password,
            None if session == SessionId::NONE => [0; 16],
            None => return self.refuse_session(connection),
        };
        connection.stage = Stage::Connecting;
        self.events.push(FrontEvent::PauseReading(connection.id));
        self.to_core.push(ToCore::Connect {
            conn: connection.id,
            session,
            password,
            timeout_ms,
            last_zxid_seen: Zxid(request.last_zxid_seen),
            read_only: request.read_only.unwrap_or(false),
        });
    }

    /// Tells the client that its session is gone, or that it may not have it.
    pub(crate) fn refuse_session(&mut self, connection: &mut Connection) {
        self.connect_response(connection, SessionId::NONE, 0, [0; 16], false);
        self.sent(connection);
        self.close(connection, CloseReason::SessionExpired, true);
    }

    /// Writes the response, to be counted by the caller; it says of read-only servers what the client asked of them.
    pub(crate) fn connect_response(
        &mut self,
        connection: &mut Connection,
        session: SessionId,
        timeout_ms: i32,
        password: [u8; 16],
        read_only: bool,
    ) {
        let response = ConnectResponse {
            protocol_version: 0,
            timeout_ms,
            session_id: session.0,
            password: Some(&password),
            read_only: connection.read_only.map(|_| read_only),
        };
        let out = connection.output.buffer(&mut self.buffers);
        let start = start_frame(out);
        response.write(&mut Writer::new(out));
        end_frame(out, start);
    }
}
