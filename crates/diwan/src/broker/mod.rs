//! Brokers: what one is started with, and `diwan log`, which runs one as a process of its own.

mod address;
mod command;
mod setup;

pub(crate) use address::{any as any_address, from_here};
pub(crate) use command::{BrokerArguments, HELP, run};
pub(crate) use setup::{BrokerSetup, Defaults, option, plaintext, read_properties};
