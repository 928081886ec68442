//! What replicas use and nodes have. Amounts are whole numbers, so that a sum does not depend on the order of
//! its parts; only the comparison of an amount with a capacity divides.

use core::fmt;
use core::ops::{AddAssign, Index, IndexMut, SubAssign};

/// How many resources there are.
pub(crate) const RESOURCES: usize = 7;

/// Something of which a node has a limited amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// CPU time, in microseconds per second.
    Cpu,
    /// Bytes per second that a node receives.
    NetworkIn,
    /// Bytes per second that a node sends.
    NetworkOut,
    /// Bytes on disk.
    Disk,
    /// Bytes in memory.
    Memory,
    /// The number of partitions that a node leads. It stands for what idle partitions cost and will cost.
    Leaders,
    /// The number of replicas on a node. It stands for the same.
    Replicas,
}

impl Resource {
    /// Each of them, in their order.
    pub const ALL: [Self; RESOURCES] = [
        Self::Cpu,
        Self::NetworkIn,
        Self::NetworkOut,
        Self::Disk,
        Self::Memory,
        Self::Leaders,
        Self::Replicas,
    ];

    /// Those of which a node has a capacity. The others are counts.
    pub(crate) const WITH_CAPACITY: [Self; 5] =
        [Self::Cpu, Self::NetworkIn, Self::NetworkOut, Self::Disk, Self::Memory];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "CPU",
            Self::NetworkIn => "incoming network traffic",
            Self::NetworkOut => "outgoing network traffic",
            Self::Disk => "disk space",
            Self::Memory => "memory",
            Self::Leaders => "number of leaders",
            Self::Replicas => "number of replicas",
        })
    }
}

/// The part of a capacity that is in use, in millionths. More than all of it is possible: demand may exceed
/// capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utilisation(pub u32);

impl Utilisation {
    /// So many hundredths.
    #[must_use]
    pub const fn percent(percent: u32) -> Self {
        Self(percent.saturating_mul(10_000))
    }

    /// This times so many hundredths.
    #[must_use]
    pub fn times_percent(self, percent: u32) -> Self {
        let millionths = u64::from(self.0) * u64::from(percent) / 100;
        Self(u32::try_from(millionths).unwrap_or(u32::MAX))
    }

    /// As a fraction of one.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / 1_000_000.0
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} %", f64::from(self.0) / 10_000.0)
    }
}

/// An amount of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts(pub(crate) [u64; RESOURCES]);

impl Index<Resource> for Amounts {
    type Output = u64;

    fn index(&self, resource: Resource) -> &u64 {
        &self.0[resource.index()]
    }
}

impl IndexMut<Resource> for Amounts {
    fn index_mut(&mut self, resource: Resource) -> &mut u64 {
        &mut self.0[resource.index()]
    }
}

impl AddAssign<&Self> for Amounts {
    fn add_assign(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own += more;
        }
    }
}

impl SubAssign<&Self> for Amounts {
    fn sub_assign(&mut self, other: &Self) {
        for (own, less) in self.0.iter_mut().zip(other.0) {
            *own -= less;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisation_reads_as_percent() {
        assert_eq!(Utilisation(123_456).to_string(), "12.3 %");
        assert_eq!(Utilisation::percent(50).times_percent(120), Utilisation::percent(60));
        assert_eq!(Utilisation(u32::MAX).times_percent(200), Utilisation(u32::MAX));
    }

    #[test]
    fn resource_index_is_its_place() {
        for (place, resource) in Resource::ALL.into_iter().enumerate() {
            assert_eq!(resource.index(), place);
        }
    }
}
