//! From answers to bytes: they are written for the connections that wait for them.

use super::{BrokerDriver, Front};
use crate::outgoing::Outgoing;
use crate::response::Response;
use crate::segment_reader::SegmentReader;
use crate::waits::Waiter;

impl<F> Front<F> {
    /// Writes answers that are there, and lets connections go on that waited for them.
    pub(super) fn write_answers<D: BrokerDriver<File = F>>(&mut self, driver: &mut D) {
        driver.take_answers(&mut self.answers);
        while !self.unsent.is_full()
            && let Some((waiter, response)) = self.deferred.pop_front()
        {
            self.write_answer(driver.segments(), waiter, &response);
        }
        for (waiter, response) in std::mem::take(&mut self.answers) {
            if self.unsent.is_full() && matches!(response, Response::Fetch(_)) {
                self.deferred.push_back((waiter, response));
            } else {
                self.write_answer(driver.segments(), waiter, &response);
            }
        }
    }

    fn write_answer(
        &mut self,
        reader: &mut impl SegmentReader<File = F>,
        waiter: Waiter,
        response: &Response,
    ) {
        let (conn, bytes_max) = (waiter.conn, self.limits.fetch_bytes_max);
        let Some(connection) = self.places.get_mut(conn) else { return };
        let Some(exchange) = connection.exchange(waiter.request) else { return };
        let head = exchange.head;
        connection.queued_bytes = 0;
        if matches!(response, Response::Close) {
            connection.no_answer(waiter.request);
            return self.finish(conn);
        }
        let has_header = !matches!(response, Response::Bare(_));
        let write = |out: &mut Outgoing<F>| response.write(head, reader, out, bytes_max);
        let bytes = connection.answer(waiter.request, has_header, write);
        let ends = connection.ends_behind == Some(waiter.request);
        self.unsent.written(conn, bytes, self.now);
        self.dirty.push(conn);
        if ends {
            return self.finish(conn);
        }
        self.resume(conn);
    }
}
