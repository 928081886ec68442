//! What rules are about: kinds of resources, operations, patterns of names, and the numbers by which the protocol names them.

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$item_doc])* $item = $number,)*
        }

        impl $name {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// The one of that number.
            #[must_use]
            pub const fn of_code(code: i8) -> Option<Self> {
                match code {
                    $($number => Some(Self::$item),)*
                    _ => None,
                }
            }

            /// Its number.
            #[must_use]
            pub const fn code(self) -> i8 {
                self as i8
            }

            /// Its name, as the protocol's documents write it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$item => stringify!($item),)*
                }
            }
        }
    };
}

numbered! {
    /// What a client may do something with.
    ResourceType {
        /// A topic.
        Topic = 2,
        /// A group of any kind.
        Group = 3,
        /// The cluster: there is one name, [`CLUSTER_NAME`].
        Cluster = 4,
        /// A transactional id.
        TransactionalId = 5,
        /// A delegation token.
        DelegationToken = 6,
        /// A user, of whom tokens are asked for.
        User = 7,
    }
}

numbered! {
    /// What a client may do.
    Operation {
        /// Everything.
        All = 2,
        /// Read.
        Read = 3,
        /// Write.
        Write = 4,
        /// Create.
        Create = 5,
        /// Delete.
        Delete = 6,
        /// Change.
        Alter = 7,
        /// See that it is there, and what it is like.
        Describe = 8,
        /// What brokers do with each other.
        ClusterAction = 9,
        /// See its settings.
        DescribeConfigs = 10,
        /// Change its settings.
        AlterConfigs = 11,
        /// Write without a transaction, with a producer id.
        IdempotentWrite = 12,
        /// Make delegation tokens.
        CreateTokens = 13,
        /// See delegation tokens.
        DescribeTokens = 14,
        /// Commit in two phases.
        TwoPhaseCommit = 15,
    }
}

numbered! {
    /// How the name of a pattern is compared with that of a resource.
    PatternType {
        /// It is the name, or [`ANY_NAME`].
        Literal = 3,
        /// The name begins with it.
        Prefixed = 4,
    }
}

numbered! {
    /// What a rule says.
    Permission {
        /// It is not allowed, whatever other rules say.
        Deny = 2,
        /// It is allowed.
        Allow = 3,
    }
}

/// The name of the one cluster.
pub const CLUSTER_NAME: &str = "kafka-cluster";
/// The literal name of a pattern that stands for every resource of its kind.
pub const ANY_NAME: &str = "*";
/// Every address, in rules.
pub const ANY_HOST: &str = "*";

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations(u32);

impl Operations {
    /// These.
    #[must_use]
    pub const fn of(operations: &[Operation]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < operations.len() {
            bits |= 1 << operations[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// Those that, allowed, allow `operation`.
    pub(crate) const fn that_allow(operation: Operation) -> Self {
        use Operation::{All, Alter, AlterConfigs, Delete, Describe, DescribeConfigs, Read, Write};
        match operation {
            Describe => Self::of(&[All, Describe, Read, Write, Delete, Alter]),
            DescribeConfigs => Self::of(&[All, DescribeConfigs, AlterConfigs]),
            other => Self::of(&[All, other]),
        }
    }

    /// Those that, denied, deny `operation`.
    pub(crate) const fn that_deny(operation: Operation) -> Self {
        Self::of(&[Operation::All, operation])
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// One bit for each, by its number: how the protocol answers which operations a client may do.
    #[must_use]
    pub const fn bits(self) -> i32 {
        self.0.cast_signed()
    }
}

impl ResourceType {
    /// What can be done with a resource of this kind.
    #[must_use]
    pub const fn operations(self) -> &'static [Operation] {
        use Operation::{
            Alter, AlterConfigs, ClusterAction, Create, CreateTokens, Delete, Describe, DescribeConfigs,
            DescribeTokens, IdempotentWrite, Read, TwoPhaseCommit, Write,
        };
        match self {
            Self::Topic => &[Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs],
            Self::Group => &[Read, Delete, Describe, DescribeConfigs, AlterConfigs],
            Self::Cluster => {
                &[Create, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite]
            }
            Self::TransactionalId => &[Write, Describe, TwoPhaseCommit],
            Self::DelegationToken => &[Describe],
            Self::User => &[CreateTokens, DescribeTokens],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_protocol() {
        for code in i8::MIN..=i8::MAX {
            assert!(Operation::of_code(code).is_none_or(|operation| operation.code() == code));
            assert_eq!(Operation::of_code(code).is_some(), (2..=15).contains(&code));
            assert_eq!(ResourceType::of_code(code).is_some(), (2..=7).contains(&code));
        }
        assert_eq!((PatternType::Prefixed.code(), Permission::Deny.code()), (4, 2));
        assert_eq!(ResourceType::TransactionalId.name(), "TransactionalId");
    }

    #[test]
    fn sets_of_operations_are_those_that_a_kafka_4_3_1_answers() {
        let all = |kind: ResourceType| Operations::of(kind.operations()).bits();
        let kinds = [ResourceType::Topic, ResourceType::Group, ResourceType::Cluster];
        assert_eq!(kinds.map(all), [3_576, 3_400, 8_096]);
    }
}
