//! What the front asks of its driver: the round does what concerns sockets, and passes on what concerns others.

use super::ShardRound;
use super::driver::ShardDriver;
use super::socket::enqueue;
use crate::connection::ConnId;
use crate::event::FrontEvent;
use crate::time::Now;

impl<S> ShardRound<S> {
    /// Does what the front asks for, and what comes of that.
    pub(super) fn handle_events<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        let mut events = core::mem::take(&mut self.events);
        loop {
            events.extend(self.front.events());
            if events.is_empty() {
                break;
            }
            for event in events.drain(..) {
                self.handle_event(driver, &event, now);
            }
            // A refused word or a resumed connection may have produced output.
            self.write_all(driver, now);
        }
        self.events = events;
        driver.send(self.front.to_core(), now);
    }

    fn handle_event<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, event: &FrontEvent, now: Now) {
        match event {
            FrontEvent::Close { conn, after_output, .. } => {
                let Some((token, socket)) = self.sockets.of_conn(*conn) else { return };
                driver.note(event, Some(&socket.io));
                self.close(driver, token, *after_output, now);
            }
            FrontEvent::Word { conn, word } => self.word(driver, *conn, *word),
            FrontEvent::PauseReading(conn) => {
                if let Some((_, socket)) = self.sockets.of_conn(*conn) {
                    socket.paused = true;
                }
            }
            FrontEvent::ResumeReading(conn) => {
                if let Some((token, socket)) = self.sockets.of_conn(*conn) {
                    socket.paused = false;
                    socket.backlog = !socket.partial.is_empty();
                    enqueue(&mut self.ready, token, socket);
                }
            }
            FrontEvent::AuthFailed { conn, .. } => {
                if let Some((_, socket)) = self.sockets.of_conn(*conn) {
                    driver.note(event, Some(&socket.io));
                }
            }
            FrontEvent::Audit(_)
            | FrontEvent::WriteTooCostly { .. }
            | FrontEvent::SuperRefused { .. }
            | FrontEvent::HistoryTooShort { .. } => driver.note(event, None),
        }
    }

    fn word<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, conn: ConnId, word: [u8; 4]) {
        let Some((_, socket)) = self.sockets.of_conn(conn) else { return };
        match driver.word(conn, word, socket.first.argument) {
            Some(answer) => self.front.word_reply(conn, &answer, true),
            None => socket.awaits_answer = true,
        }
    }
}
