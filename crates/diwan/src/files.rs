//! Files of this process: how many it may hold, and which users may read those that it makes.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// Every file that is made from now on can be read by this user alone: servers' data, logs and the shell's history hold
/// what ACLs protect.
pub(crate) fn make_private() {
    umask(Mode::RWXG | Mode::RWXO);
}

/// Raises the limit to what the system allows: a connection is a descriptor, and the usual 1,024 are few.
pub(crate) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    {
        tracing::warn!(%error, "the limit of open files stays at {:?}", limit.current);
    }
}
