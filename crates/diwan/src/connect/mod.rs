//! How `shell` and `member` reach a server as a client: its address, TLS, SASL and identities, from the files and names that
//! a ZooKeeper client uses; and TLS of `status`, from the same. Knows no verb.

mod arguments;
mod secret;
mod settings;
mod tls;
mod unreachable;

use std::sync::Arc;
use std::time::Duration;

use client::{Client, Options};
use rustls::ClientConfig;
use server::config::Secret;

pub(crate) use arguments::{ConnectArguments, TlsArguments};
pub(crate) use unreachable::explain;

use crate::config::{Checked, Problem};

/// After how long of waiting the user is told what is waited for.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// A server's address, and what a client shows it.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// The connect string.
    pub(crate) servers: String,
    /// `scheme` and credentials.
    identities: Vec<(String, Secret)>,
    tls: Option<Arc<ClientConfig>>,
    /// User and password of SASL.
    sasl: Option<(String, Secret)>,
}

impl Connection {
    /// Adds all this to the options of a client, and starts it.
    pub(crate) fn open(&self, mut options: Options) -> Checked<Client> {
        for (scheme, credentials) in &self.identities {
            options = options.identity(scheme, credentials.0.as_bytes());
        }
        if let Some((user, password)) = &self.sasl {
            options = options.sasl(user, &password.0);
        }
        if let Some(tls) = &self.tls {
            options = options.tls(Arc::clone(tls));
        }
        options.connect(&self.servers).map_err(|error| Problem::new(error.to_string()))
    }
}

/// Waits until a server is connected, and says on standard error what is waited for if that takes long.
///
/// # Errors
/// When no server is connected in time, or waiting changes nothing.
pub(crate) fn reach(client: &Client, servers: &str, time: Duration) -> Checked<()> {
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
