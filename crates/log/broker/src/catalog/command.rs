//! What a broker asks of the council, and which client waits for it.

use std::sync::Arc;

use super::NewTopic;
use crate::waits::Waiter;

/// What a broker asks of the council.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogCommand {
    /// Make a topic, for a client that waits or for nobody.
    Create(NewTopic, Option<TopicTicket>),
    /// Delete a topic.
    Delete(Arc<str>, TopicTicket),
    /// Give a block of producer ids.
    ProducerIds,
}

/// Which part of which request the council works at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicTicket {
    pub(crate) waiter: Waiter,
    pub(crate) part: usize,
}
