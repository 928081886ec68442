//! The connections of a thread, seen from their clients: what is read, what is refused, and who is not disturbed by it.

mod limits;
mod sasl;
mod world;
