//! Connections between members.
//!
//! Between two members stand two connections: one for what keeps leaderships and leases alive, one for what is bulky, so
//! that a large entry holds no heartbeat up. Whoever knows where the other is dials both ([`Diallers`]; the other side
//! answers at its [`Acceptor`]). Once both sides have said who they are, the connection goes to the [`PeerConnections`]. One thread
//! owns that: it reads and writes all connections between its other work, and no message changes threads.
//!
//! Nothing that a connection says counts before both sides have proved who they are: by a certificate that names the
//! member (`tls`, `certificate`), by a secret that all members share (`proof`), by both, or, where the operator gave
//! neither, by coming from a member's address (`names`). From then on everything that arrives on it is that member's,
//! whatever it says of itself. Before that a connection costs a few kilobytes in a table of limited size (`door`,
//! `places`), and no thread.
//!
//! What members say to each other is not known here. Several parts of a process share the connections: each has a
//! [`Channel`], and its messages are bytes. A member of the roster is a number, a host and a port; the text in which
//! members tell each other their rosters is read by whoever gives the [`Settings`].
//!
//! A process may be a member of several groups that share the port and what proves who is who ([`FurtherGroups`],
//! [`Credentials::of_group`]). Each has its own identity and its own [`PeerConnections`], on its own thread.
//!
//! Two kinds of groups use this. An ensemble numbers its members 1 to 255, keeps its roster in its own log, and its members
//! tell each other newer ones ([`PeerConnections::know`]). In the other kind, members come and go, have any number
//! ([`Numbering::FourBytes`]), and a service outside says who runs, where, and as which process
//! ([`PeerConnections::set_members`]); there an owner also bounds what waits in both directions ([`PeerConnections::hold`],
//! [`PeerConnections::waiting_bytes`]).

mod acceptor;
mod certificate;
mod channel;
mod connected;
mod connections;
mod credentials;
mod dial;
mod established;
mod frame;
mod group_number;
mod handshake;
mod hello;
mod hints;
mod incoming;
mod lane;
mod names;
mod numbering;
mod other_ensembles;
mod places;
mod proof;
mod refusal;
mod refusals;
mod roster;
mod secret;
mod shared_port;
#[cfg(test)]
mod testing;
mod tls;
mod tls_config;
mod trouble;
pub mod wire;

pub use acceptor::Acceptor;
pub use certificate::CertificateRefusal;
pub use channel::{Channel, ChannelNumber};
pub use connections::{Message, News, PeerConnections, Polling};
pub use credentials::{Credentials, LocalIdentity, Settings};
pub use dial::{Diallers, Means};
pub use established::Established;
pub use group_number::GroupNumber;
pub use hello::{Cluster, HelloRefusal};
pub use hints::Hints;
pub use net_peer_pairs::{Lane, PairRef, PeerNumber, Timing};
pub use numbering::Numbering;
pub use other_ensembles::OtherEnsembles;
pub use refusal::{HandshakeRefusal, Refusal};
pub use refusals::{RefusalCounts, Refusals};
pub use roster::{MemberAddress, ReadRoster, Roster};
pub use secret::{EnsembleSecret, SecretError};
pub use shared_port::{FurtherGroups, GroupMeans, SharedPort};
pub use tls::{CertificateDoubt, OwnCertificate, PeerTls};
pub use tls_config::PeerTlsConfig;
