//! Links over real sockets on this machine: several brokers in one process, and some in processes of their own that are
//! killed and stopped.

mod address;
mod broker;
mod flow;
mod process;
mod refusals;
mod start;
mod tls;
