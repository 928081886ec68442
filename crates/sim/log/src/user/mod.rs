//! Clients of the brokers: state machines that speak the real bytes, through another implementation of the protocol.

mod batch;
mod consumer;
mod finder;
mod group;
mod link;
mod mover;
mod offsets;
mod operator;
mod producer;
mod share;
mod times;
mod transactional;

use sim_kit::Simulation;
use sim_kit::random::Random;

use crate::broker::Machine;
use crate::history::History;
use crate::served::Served;
use crate::wire::Wires;
pub(crate) use consumer::Consumer;
pub(crate) use finder::{NUMBERS_EACH, Target};
pub(crate) use group::{ClassicMember, ConsumerMember, GroupMember, OffsetReader, are_at_rest};
pub(crate) use link::{Answer, Link};
pub(crate) use mover::{Mover, Wish};
pub(crate) use operator::{NAMES, Operator, Topics};
pub(crate) use producer::Producer;
pub(crate) use share::{ShareMember, open_shares};
pub(crate) use times::TimeReader;
pub(crate) use transactional::TransactionalProducer;

/// What a client sees and uses at one of its steps.
pub(crate) struct Around<'w> {
    pub(crate) wires: &'w mut Wires,
    pub(crate) brokers: &'w mut [Machine],
    pub(crate) history: &'w mut History,
    pub(crate) topics: &'w mut Topics,
    pub(crate) sim: &'w mut Simulation,
    pub(crate) random: &'w mut Random,
    pub(crate) now_ms: u64,
    pub(crate) served: Served,
    /// What the brokers' wall clocks say, the one that is ahead of all.
    pub(crate) wall_ms: i64,
    /// Whether new things may be begun; else only what was begun is ended.
    pub(crate) is_busy: bool,
}
