//! The server from outside: real sockets on loopback, real files, real threads.
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected ends")]

mod backup;
mod bad_input;
mod clients;
mod ensemble;
mod fixture;
mod leaving;
mod metrics;
mod pages;
mod peers;
mod restore;
mod reunion;
mod storage;
mod tls;
mod trio;
mod words;
