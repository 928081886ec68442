//! A request on its way to what handles it, and what that comes to.

use std::sync::Arc;

use base::Now;
use log_wire::messages::Field;
use log_wire::{ApiKey, Malformed, Reader};

use crate::client::Client;
use crate::response::{Form, Response};
use crate::rights::By;
use crate::waits::Waiter;

/// A request.
pub(crate) struct Call<'r> {
    pub(crate) api: ApiKey,
    pub(crate) form: Form,
    pub(crate) body: Reader<'r>,
    pub(crate) waiter: Waiter,
    pub(crate) client_id: &'r str,
    pub(crate) client: &'r Arc<Client>,
    pub(crate) now: Now,
}

impl<'r> Call<'r> {
    /// Its body.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn body<T: Field>(&mut self) -> Result<T, Malformed> {
        T::read(&mut self.body, self.form.version)
    }

    /// Who asks for what: for its rights.
    pub(crate) const fn by(&self) -> By<'r> {
        By { client: self.client, api: self.api }
    }

    pub(crate) fn caller(&self) -> Caller<'r> {
        Caller {
            by: self.by(),
            waiter: self.waiter,
            form: self.form,
            client_id: self.client_id,
            client_host: &self.client.host,
        }
    }
}

/// Who sent a request, and how its answer is written.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'c> {
    /// Who, and for what.
    pub(crate) by: By<'c>,
    /// Who waits.
    pub waiter: Waiter,
    /// The form of the answer.
    pub form: Form,
    /// What the client calls itself.
    pub client_id: &'c str,
    /// Its address.
    pub client_host: &'c str,
}

/// What a request comes to at once.
#[derive(Debug)]
pub enum Handled {
    /// It is answered.
    Done(Response),
    /// Its answer comes later, and the next request of its connection is handled behind it.
    Waits,
    /// Its answer comes later, and the next request of its connection need not wait for it.
    Pipelined,
    /// It has no answer.
    Silent,
}

impl Handled {
    pub(crate) fn of(answer: Option<Response>) -> Self {
        answer.map_or(Self::Waits, Self::Done)
    }
}
