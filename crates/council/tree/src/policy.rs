//! The part of a server's configuration that decides how a write is judged.
//!
//! It travels with each command, so that applying stays a function of the log even if members are configured
//! differently.

use core::ops::BitOr;

/// Switches of the server that accepted a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy(u8);

impl Policy {
    /// TTL nodes are allowed (`extendedTypesEnabled`).
    pub const EXTENDED_TYPES: Self = Self(1);
    /// Hard quotas refuse writes (`enforceQuota`).
    pub const ENFORCE_QUOTA: Self = Self(1 << 1);
    /// No permission is checked (`skipACL`).
    pub const SKIP_ACL: Self = Self(1 << 2);
    /// The scheme `x509` exists.
    pub const X509_KNOWN: Self = Self(1 << 3);
    /// The scheme `sasl` exists.
    pub const SASL_KNOWN: Self = Self(1 << 4);
    /// The scheme `digest` exists.
    pub const DIGEST_KNOWN: Self = Self(1 << 5);
    /// reconfig is not refused outright (`reconfigEnabled`).
    pub const RECONFIG_ENABLED: Self = Self(1 << 6);

    /// What a server has that is not configured at all: the schemes `world`, `ip` and `digest`, nothing enforced.
    #[must_use]
    pub const fn standard() -> Self {
        Self::DIGEST_KNOWN
    }

    /// The bits as a number, for encoding.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The policy of these bits; unknown ones are kept.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether all switches of `other` are on.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This policy with the switches of `other` on or off.
    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }
}

impl BitOr for Policy {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
