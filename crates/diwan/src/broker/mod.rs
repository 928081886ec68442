//! What a broker is started with, by whichever command.

mod address;
mod pages;
pub(crate) mod security;
mod setup;

pub(crate) use address::{any as any_address, from_here};
pub(crate) use pages::{BrokerFigures, serve as serve_pages};
pub(crate) use setup::{BrokerSetup, Defaults, option, plaintext, plaintext_at, read_properties};
