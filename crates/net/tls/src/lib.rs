//! TLS over sockets that never block: keys and certificates from files, what is offered to clients, connections of either
//! side, and a transport that is plain, encrypted, or whichever its first byte says.

mod any_name;
mod certificate;
pub mod client;
mod config;
mod context;
mod file;
mod framing;
mod session;
pub mod store;
mod transport;

pub use any_name::AnyName;
pub use certificate::not_after;
pub use config::{ClientAuth, KeyStore, KeyStoreKind, TlsConfig, TlsProtocol};
pub use context::{TlsContext, TlsError, provider, versions};
pub use file::SentFile;
pub use framing::Framing;
pub use session::TlsSession;
pub use store::StoreError;
pub use transport::{FirstByte, Security, Transport, is_tls};
