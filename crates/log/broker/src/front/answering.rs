//! From answers to bytes: they are written for the connections that wait for them.

use super::throttling::Fetcher;
use super::{BrokerDriver, Front};
use crate::outgoing::Outgoing;
use crate::response::Response;
use crate::waits::Waiter;

impl<F> Front<F> {
    /// Writes answers that are there, and lets connections go on that waited for them.
    pub(super) fn write_answers<D: BrokerDriver<File = F>>(&mut self, driver: &mut D) {
        driver.take_answers(&mut self.answers);
        while !self.unsent.is_full()
            && let Some((waiter, response)) = self.deferred.pop_front()
        {
            self.write_answer(driver, waiter, &response);
        }
        let mut answers = std::mem::take(&mut self.answers);
        for (waiter, response) in answers.drain(..) {
            if self.unsent.is_full() && matches!(response, Response::Fetch(_)) {
                self.deferred.push_back((waiter, response));
            } else {
                self.write_answer(driver, waiter, &response);
            }
        }
        debug_assert!(self.answers.is_empty(), "an answer that is written gives no other one");
        self.answers = answers;
    }

    fn write_answer<D: BrokerDriver<File = F>>(
        &mut self,
        driver: &mut D,
        waiter: Waiter,
        response: &Response,
    ) {
        let (conn, bytes_max) = (waiter.conn, self.limits.fetch_bytes_max);
        let Some(connection) = self.places.get_mut(conn) else { return };
        let Some(exchange) = connection.exchange(waiter.request) else { return };
        let head = exchange.head;
        connection.queued_bytes = 0;
        match response {
            Response::Close => {
                connection.no_answer(waiter.request);
                return self.finish(conn);
            }
            Response::Nothing => {
                connection.no_answer(waiter.request);
                self.dirty.push(conn);
                return self.resume(conn);
            }
            _ => {}
        }
        let has_header = !matches!(response, Response::Bare(_));
        let fetcher = Fetcher::of(connection, response, self.now);
        let mut wait_ms = 0;
        let write = |out: &mut Outgoing<F>| match &fetcher {
            None => response.write(head, driver.segments(), out, bytes_max),
            Some(fetcher) => wait_ms = fetcher.write(driver, (head, response), out, bytes_max),
        };
        let bytes = connection.answer(waiter.request, has_header, write);
        let ends = connection.ends_behind == Some(waiter.request);
        self.unsent.written(conn, bytes, self.now);
        self.dirty.push(conn);
        if wait_ms > 0 {
            self.mute(conn, wait_ms, self.now);
        }
        if ends {
            return self.finish(conn);
        }
        self.resume(conn);
    }
}
