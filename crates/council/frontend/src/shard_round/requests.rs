//! What the front asks of its driver: what concerns sockets goes to the loop, the rest to the shard's driver.

use net_event_loop::{Ask, ConnId, SocketsByConn};

use super::Shard;
use super::driver::ShardDriver;
use crate::event::FrontEvent;

impl Shard {
    /// Takes what the front asks for now.
    pub(super) fn take_requests<D: ShardDriver>(
        &mut self,
        driver: &mut D,
        sockets: &mut SocketsByConn<'_, D::Socket>,
        into: &mut Vec<Ask>,
    ) {
        let mut words = Vec::new();
        for event in self.front.events() {
            match event {
                FrontEvent::Close { conn, after_output, .. } => {
                    let Some(socket) = sockets.get(conn) else { continue };
                    driver.note(&event, Some(socket));
                    into.push(Ask::Close { conn, after_output });
                }
                FrontEvent::Word { conn, word, argument } => {
                    if sockets.get(conn).is_some() {
                        words.push((conn, word, argument));
                    }
                }
                FrontEvent::PauseReading(conn) => into.push(Ask::PauseReading(conn)),
                FrontEvent::ResumeReading(conn) => into.push(Ask::ResumeReading(conn)),
                FrontEvent::AuthFailed { conn, .. } => {
                    if let Some(socket) = sockets.get(conn) {
                        driver.note(&event, Some(socket));
                    }
                }
                FrontEvent::Audit(_)
                | FrontEvent::WriteTooCostly { .. }
                | FrontEvent::SuperRefused { .. }
                | FrontEvent::HistoryTooShort { .. } => driver.note(&event, None),
            }
        }
        for (conn, word, argument) in words {
            self.word(driver, conn, word, argument, into);
        }
    }

    fn word<D: ShardDriver>(
        &mut self,
        driver: &mut D,
        conn: ConnId,
        word: [u8; 4],
        argument: Option<i64>,
        into: &mut Vec<Ask>,
    ) {
        match driver.word(conn, word, argument) {
            Some(answer) => self.front.word_reply(conn, &answer, true),
            None => into.push(Ask::AwaitAnswer(conn)),
        }
    }
}
