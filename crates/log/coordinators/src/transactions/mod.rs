//! The coordinator of Kafka's transactions: which producer may act for a transactional id, what takes part in its open
//! transaction, and how that ends. One [`TransactionCoordinator`] serves one partition of the internal topic.

mod codec;
mod coordinator;
mod end;
mod init;
mod limits;
mod markers;
mod message;
mod participants;
mod producer_ids;
mod transaction;

pub use coordinator::TransactionCoordinator;
pub use limits::TransactionLimits;
pub use message::{
    AddPartitions, EndTransaction, InitProducerId, MarkerOutcome, MarkersId, Participant, Producer,
    TransactionAnswer, TransactionDescription, TransactionEffect, TransactionFilter, TransactionListing,
    TransactionRef, TransactionRequest, VerifyPartitions, WriteMarkers,
};
