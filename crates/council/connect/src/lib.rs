//! How a program that is a client reaches a server: its address, TLS, SASL and identities, from the files, variables
//! and options that a ZooKeeper client uses. Also the message to its user when no server is reached.
//!
//! `diwan shell`, `member` and `status` and the program `diwan-lab` take the same options through this crate. Knows no
//! command.
//!
//! # Not done, and what that costs
//! Of a JAAS file only the login module for DIGEST-MD5 is read: a user of Kerberos cannot be named.

mod arguments;
pub mod jaas;
mod prompt;
pub mod properties;
mod secret;
mod settings;
mod tls;
mod unreachable;

use std::time::Duration;

use council_client::{Access, Client, Options};

pub use arguments::{AccessArguments, ConnectArguments, TlsArguments};
pub use node_config::{Checked, Problem};
pub use prompt::prompted;
pub use tls::of_files;
pub use unreachable::explain;

/// How long a wait may take before the user is told what is waited for.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// A server's address, and what a client shows it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The connect string.
    pub servers: String,
    /// How the servers let a client in.
    pub access: Access,
}

impl Connection {
    /// Adds all this to the options of a client, and starts it.
    ///
    /// # Errors
    /// When the connect string is not one, or this host has no thread left.
    pub fn open(&self, options: Options) -> Checked<Client> {
        let options = options.access(self.access.clone());
        options.connect(&self.servers).map_err(|error| Problem::new(error.to_string()))
    }
}

/// Waits until a server is connected, and says on standard error what is waited for if that takes long.
///
/// # Errors
/// When no server is connected in time, or waiting changes nothing.
pub fn reach(client: &Client, servers: &str, time: Duration) -> Checked<()> {
    let early = match client.wait_reached(time.min(SILENCE_MAX)) {
        Ok(()) => return Ok(()),
        Err(early) => early,
    };
    let waits = time > SILENCE_MAX && !client.state().is_over() && !unreachable::is_lasting(&early);
    if !waits {
        return Err(explain(servers, &early));
    }
    let attempts = early.attempts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let attempts = if attempts.is_empty() { String::from("no answer yet") } else { attempts };
    eprintln!("waiting {} s for a server: {attempts}", (time - SILENCE_MAX).as_secs());
    client.wait_reached(time - SILENCE_MAX).map_err(|late| explain(servers, &late))
}
