//! The connections of a thread, seen from their clients: what is read, what is refused, and who is not disturbed by it.

mod acls;
mod beside_kafka;
mod coordinators;
mod hostile;
mod limits;
mod quotas;
mod rights;
mod rights_of_administrators;
mod rights_of_shares;
mod rights_of_transactions;
mod sasl;
mod shares;
mod world;
