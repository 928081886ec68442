//! What happens with watches: events are sent, requests about watches are answered, and clients set their watches again
//! after a reconnection.

mod fire;
mod reconnect;
mod request;

pub(crate) use request::with_null_path;
