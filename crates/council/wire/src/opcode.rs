//! Operation codes.

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $label:literal;)+) => {
        /// The operations of ZooKeeper's protocol (`ZooDefs.OpCode`), those of clients and the two of sessions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        pub enum OpCode { $($(#[$doc])* $name = $code,)+ }

        impl OpCode {
            /// Every operation, for tables and metrics.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The operation of this number, if there is one.
            #[must_use]
            pub const fn from_code(code: i32) -> Option<Self> {
                match code { $($code => Some(Self::$name),)+ _ => None }
            }

            /// The name in ZooKeeper's own words, as in its logs and metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $label,)+ }
            }
        }
    };
}

opcodes! {
    /// Create a node; answers its path.
    Create = 1, "create";
    /// Delete a node.
    Delete = 2, "delete";
    /// Ask for a node's Stat.
    Exists = 3, "exists";
    /// Read a node's data and Stat.
    GetData = 4, "getData";
    /// Replace a node's data.
    SetData = 5, "setData";
    /// Read a node's ACL.
    GetAcl = 6, "getACL";
    /// Replace a node's ACL.
    SetAcl = 7, "setACL";
    /// List a node's children.
    GetChildren = 8, "getChildren";
    /// Wait until this server has seen what the leader had committed.
    Sync = 9, "sync";
    /// Keep the session alive.
    Ping = 11, "ping";
    /// List a node's children, with its Stat.
    GetChildren2 = 12, "getChildren2";
    /// Check a node's version, inside a multi.
    Check = 13, "check";
    /// Several writes, all or none.
    Multi = 14, "multi";
    /// Create a node; answers path and Stat.
    Create2 = 15, "create2";
    /// Change the ensemble's membership.
    Reconfig = 16, "reconfig";
    /// Ask whether there is such a watch.
    CheckWatches = 17, "checkWatches";
    /// Remove watches.
    RemoveWatches = 18, "removeWatches";
    /// Create a container node.
    CreateContainer = 19, "createContainer";
    /// Remove an empty container: the server's own reaper.
    DeleteContainer = 20, "deleteContainer";
    /// Create a TTL node: it stays while it is changed often enough.
    CreateTtl = 21, "createTTL";
    /// Several reads of one state.
    MultiRead = 22, "multiRead";
    /// Add an identity to the connection.
    Auth = 100, "auth";
    /// Set watches again after a reconnection.
    SetWatches = 101, "setWatches";
    /// One step of a SASL exchange.
    Sasl = 102, "sasl";
    /// List the session's own ephemeral nodes.
    GetEphemerals = 103, "getEphemerals";
    /// Count all descendants.
    GetAllChildrenNumber = 104, "getAllChildrenNumber";
    /// Set watches again, persistent ones too.
    SetWatches2 = 105, "setWatches2";
    /// Add a persistent watch.
    AddWatch = 106, "addWatch";
    /// List the connection's identities.
    WhoAmI = 107, "whoAmI";
    /// Open a session (in logs only).
    CreateSession = -10, "createSession";
    /// Close the session.
    CloseSession = -11, "closeSession";
}

impl OpCode {
    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Whether the operation changes the tree, and so goes through the log.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::Create
                | Self::Create2
                | Self::CreateContainer
                | Self::CreateTtl
                | Self::Delete
                | Self::DeleteContainer
                | Self::SetData
                | Self::SetAcl
                | Self::Multi
                | Self::Check
                | Self::Reconfig
                | Self::CreateSession
                | Self::CloseSession
        )
    }
}
