//! What happens under one view of the tree: the core's stream, then the lease, then what clients have sent.

use core::ops::Range;

use council_tree::Tree;

use super::driver::{ShardDriver, View};
use super::{Input, ShardRound};
use crate::message::FromCore;
use crate::time::Now;

impl<S> ShardRound<S> {
    /// First the stream, so that no read sees a state whose events are not queued, then what was read from sockets.
    pub(super) fn evaluate<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        if self.inputs.is_empty() && !driver.has_stream() && !self.front.has_long() {
            return;
        }
        let mut stream = core::mem::take(&mut self.stream);
        let mut view = driver.view();
        view.take_stream(&mut stream);
        for item in &stream {
            self.front.deliver(item, view.tree(), now);
        }
        if !view.may_answer() {
            // The core may not have noticed yet: this whole process may have stood still.
            self.front.deliver(&FromCore::Serving(false), view.tree(), now);
        }
        self.receive_inputs(view.tree(), now);
        self.front.go_on(view.tree(), now);
        drop(view);
        self.tell_connected(driver, &stream);
        driver.delivered(&stream);
        // Freed without the view: the last reference to a batch of changes may be here.
        stream.clear();
        self.stream = stream;
    }

    fn tell_connected<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, stream: &[FromCore]) {
        for item in stream {
            if let FromCore::Connected { conn, session, generation, .. } = item
                && let Some((_, socket)) = self.sockets.of_conn(*conn)
            {
                driver.connected(*conn, *session, *generation, &socket.io);
            }
        }
    }

    /// Hands everything that was read to the front.
    fn receive_inputs(&mut self, tree: &Tree, now: Now) {
        let mut inputs = core::mem::take(&mut self.inputs);
        for Input { token, arena } in inputs.drain(..) {
            self.receive_input(token, arena, tree, now);
        }
        self.inputs = inputs;
    }

    fn receive_input(&mut self, token: u32, arena: Option<Range<usize>>, tree: &Tree, now: Now) {
        let Some(socket) = self.sockets.get(token) else { return };
        let Some(conn) = socket.conn else { return };
        let bytes = match &arena {
            Some(range) => self.arena.get(range.clone()).unwrap_or_default(),
            None => socket.partial.as_slice(),
        };
        let mut consumed = 0;
        if socket.first.admits(bytes) {
            consumed = self.front.receive(conn, bytes, tree, now).min(bytes.len());
            socket.first.is_fresh &= consumed == 0;
        }
        match &arena {
            Some(range) => {
                let rest = self.arena.get(range.start + consumed..range.end).unwrap_or_default();
                socket.partial.extend_from_slice(rest);
            }
            None if consumed == socket.partial.len() => socket.partial = Vec::new(),
            None => drop(socket.partial.drain(..consumed)),
        }
    }
}
