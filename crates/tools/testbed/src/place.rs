//! Where the members of an ensemble are: at addresses of their own on loopback, or in network namespaces.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Who listens there, on the first address of a range (127.N.0.0), has all addresses of it.
const CLAIM_PORT: u16 = 21_809;

/// Where members are.
#[derive(Clone, Debug)]
pub enum Place {
    /// Each at an address of its own on loopback.
    Loopback(Ipv4Addr),
    /// Each in a network namespace of its own, by name and address.
    Namespaces(Vec<(String, Ipv4Addr)>),
}

impl Place {
    /// Addresses on loopback that no other ensemble uses, of this process or another.
    ///
    /// # Panics
    /// 255 processes have such ensembles already.
    #[must_use]
    pub fn loopback() -> Self {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        Self::Loopback(Ipv4Addr::new(127, own_range(), NEXT.fetch_add(1, Ordering::Relaxed), 0))
    }

    /// The address of a member, counted from 1.
    ///
    /// # Panics
    /// There are no more than 255 members.
    #[must_use]
    pub fn address(&self, number: usize) -> IpAddr {
        match self {
            Self::Loopback(network) => {
                let [first, second, third, _] = network.octets();
                let last = u8::try_from(number).expect("members are few");
                Ipv4Addr::new(first, second, third, last).into()
            }
            Self::Namespaces(all) => all[number - 1].1.into(),
        }
    }

    pub(crate) fn namespace(&self, number: usize) -> Option<&str> {
        match self {
            Self::Loopback(_) => None,
            Self::Namespaces(all) => Some(&all[number - 1].0),
        }
    }

    /// The same command, run where that member is.
    pub(crate) fn command(&self, number: usize, command: Command) -> Command {
        within(self.namespace(number), command)
    }
}

/// The second number of all addresses of this process on loopback.
fn own_range() -> u8 {
    static CLAIM: OnceLock<(u8, TcpListener)> = OnceLock::new();
    let claim = || {
        let [.., own] = std::process::id().to_be_bytes();
        let mut ranges = (0..=u8::MAX).map(|number| own.wrapping_add(number)).filter(|range| *range > 0);
        let claimed = ranges.find_map(|range| {
            let address = (Ipv4Addr::new(127, range, 0, 0), CLAIM_PORT);
            TcpListener::bind(address).ok().map(|listener| (range, listener))
        });
        claimed.expect("a range of addresses on loopback is free")
    };
    CLAIM.get_or_init(claim).0
}

/// The same command, run in a network namespace if one is named.
pub(crate) fn within(namespace: Option<&str>, command: Command) -> Command {
    let Some(namespace) = namespace else { return command };
    let mut inside = Command::new("ip");
    inside.args(["netns", "exec", namespace]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        inside.current_dir(folder);
    }
    inside
}
