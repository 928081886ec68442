//! What happens under one view of the tree: the lease, then the core's stream, then what clients have sent.

use base::Now;
use net_event_loop::{Input, SocketsByConn};

use super::Shard;
use super::driver::{ShardDriver, View};
use crate::message::FromCore;

impl Shard {
    /// The stream comes before what was read from sockets, so that no read sees a state whose events are not queued.
    pub(super) fn evaluate_under_view<D: ShardDriver>(
        &mut self,
        driver: &mut D,
        input: &mut Input<'_, D::Socket>,
        now: Now,
    ) {
        if input.is_empty() && !driver.has_stream() && !self.front.has_long() {
            return;
        }
        let mut stream = core::mem::take(&mut self.stream);
        let mut view = driver.view();
        view.take_stream(&mut stream);
        if !view.may_answer() {
            // The core may not have noticed yet: this whole process may have stood still. What the stream would answer is old.
            self.front.deliver(&FromCore::Serving(false), view.tree(), now);
        }
        for item in &stream {
            self.front.deliver(item, view.tree(), now);
        }
        input.receive(|conn, bytes| self.front.receive(conn, bytes, view.tree(), now));
        self.front.go_on(view.tree(), now);
        view.set_watches(self.front.has_watches());
        drop(view);
        tell_connected(driver, &stream, &mut input.sockets());
        driver.delivered(&stream);
        // Freed without the view: the last reference to a batch of changes may be here.
        stream.clear();
        self.stream = stream;
    }
}

fn tell_connected<D: ShardDriver>(
    driver: &mut D,
    stream: &[FromCore],
    sockets: &mut SocketsByConn<'_, D::Socket>,
) {
    for item in stream {
        if let FromCore::Connected { conn, session, generation, .. } = item
            && let Some(socket) = sockets.get(*conn)
        {
            driver.connected(*conn, *session, *generation, socket);
        }
    }
}
