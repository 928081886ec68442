//! Who may run the commands of the AdminServer that read or replace all data: the super user, proven by the password
//! in the header `Authorization: digest USER:PASSWORD`.
//!
//! ZooKeeper 3.9 runs them for every identity that has all permissions on `/`. Its root is open to the world unless
//! an administrator closes it, so that an invented identity suffices there. `council.admin.require-super=false` brings that rule back.

use std::net::IpAddr;

use council_tree::{IdentityList, Policy, Tree, permits};
use council_wire::permission;

use crate::config::ServerConfig;
use crate::config_mapping;

/// Whether a command may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may, by this user.
    Granted { user: String },
    /// It may not.
    Refused(Denial),
}

/// Why a command may not be run, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    /// Who the caller claims to be; empty if it names no user.
    pub(crate) user: String,
    /// Of HTTP.
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) hint: &'static str,
    /// After how many seconds it may be tried again.
    pub(crate) retry_after_s: Option<u64>,
    /// Whether something that the caller showed was looked at. How often that happens is bounded; how often a caller
    /// asks without showing anything, or in vain, is not.
    pub(crate) was_judged: bool,
}

const SHOW: &str = "send the header `Authorization: digest super:PASSWORD`, or let `diwan council backup` and \
    `diwan council restore` do it";
const NO_SUPER: &str = "no super user is configured, and no other may run it; `diwan digest super` makes the line \
    `DigestAuthenticationProvider.superDigest=..` for the configuration";
const NOT_SUPER: &str = "this is not the name and the password of the super user, whom \
    `DigestAuthenticationProvider.superDigest` names";
const NOT_ALL: &str = "this identity has not every permission on `/`";
const GUESSES: &str = "too many wrong passwords came from this address";

impl Denial {
    fn new(user: &str, status: u16, error: &'static str, hint: &'static str) -> Self {
        Self { user: String::from(user), status, error, hint, retry_after_s: None, was_judged: true }
    }

    /// Too many attempts came from there.
    pub(crate) fn throttled(user: String, retry_after_s: u64) -> Self {
        let retry_after_s = Some(retry_after_s);
        Self { retry_after_s, was_judged: false, ..Self::new(&user, 429, "Not authenticated", GUESSES) }
    }
}

/// Judges what is shown.
pub(crate) fn judge(config: &ServerConfig, tree: &Tree, authorization: Option<&str>, peer: IpAddr) -> Access {
    let refused = |user, status, error, hint| Access::Refused(Denial::new(user, status, error, hint));
    let Some(authorization) = authorization else {
        let denial = Denial::new("", 401, "Auth info is missing for the command", SHOW);
        return Access::Refused(Denial { was_judged: false, ..denial });
    };
    let policy = config_mapping::policy(config);
    let shown = Shown::read(authorization);
    let Some((identities, is_super)) = shown.identities(config, policy, peer) else {
        return refused(shown.user(), 401, "Not authenticated", SHOW);
    };
    let granted = || Access::Granted { user: String::from(shown.user()) };
    match (is_super, config.admin.require_super) {
        (true, _) => granted(),
        (false, false) if has_all_permissions(tree, &identities, policy) => granted(),
        (false, false) => refused(shown.user(), 403, "Not authorized", NOT_ALL),
        (false, true) if config.auth.super_digest.is_none() => {
            refused(shown.user(), 403, "Not authorized", NO_SUPER)
        }
        (false, true) => refused(shown.user(), 403, "Not authorized", NOT_SUPER),
    }
}

/// Who the header says that the caller is. Proves nothing.
pub(crate) fn claimed_user(authorization: &str) -> &str {
    Shown::read(authorization).user()
}

/// A scheme and its credentials.
#[derive(Clone, Copy, Debug)]
struct Shown<'a> {
    scheme: &'a str,
    credentials: Option<&'a str>,
}

impl<'a> Shown<'a> {
    /// Spaces at the end belong to nothing; those within a password do.
    fn read(authorization: &'a str) -> Self {
        let text = authorization.trim_end_matches(' ');
        match text.split_once(' ') {
            Some((scheme, credentials)) => Self { scheme, credentials: Some(credentials) },
            None => Self { scheme: text, credentials: None },
        }
    }

    fn user(self) -> &'a str {
        let credentials = self.credentials.filter(|_| self.scheme == "digest").unwrap_or_default();
        credentials.split_once(':').map_or("", |(user, _)| user)
    }

    /// The identities, and whether they prove the super user; nothing when the scheme is not known here.
    fn identities(self, config: &ServerConfig, policy: Policy, peer: IpAddr) -> Option<(IdentityList, bool)> {
        let mut list = IdentityList::default();
        let mut is_super = false;
        match (self.scheme, self.credentials) {
            ("digest", Some(credentials)) if policy.contains(Policy::DIGEST_KNOWN) => {
                let id = council_frontend::auth::digest_id(
                    config_mapping::digest_algorithm(config),
                    credentials.as_bytes(),
                );
                let proof = config.auth.super_digest.as_ref();
                is_super = proof.is_some_and(|secret| council_frontend::auth::same_digest(&secret.0, &id));
                if is_super {
                    list.add("super", "");
                }
                list.add("digest", &id);
            }
            ("ip", _) => {
                list.add("ip", &council_frontend::auth::host_address(peer));
            }
            _ => return None,
        }
        Some((list, is_super))
    }
}

fn has_all_permissions(tree: &Tree, identities: &IdentityList, policy: Policy) -> bool {
    let root = tree.node("/");
    let acl = root.as_ref().map_or(&[][..], |root| root.acl());
    let all =
        [permission::READ, permission::WRITE, permission::CREATE, permission::DELETE, permission::ADMIN];
    all.iter().all(|one| permits(acl, *one, identities.identities(), policy))
}

#[cfg(test)]
mod tests {
    use council_tree::{Changes, Command, Operation, Outcome, Stamp};
    use council_wire::{Acl, OpCode, Writer};

    use super::*;
    use crate::config::Secret;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// A tree whose root is `owner`'s alone.
    fn closed_to_all_but(owner: &str) -> Tree {
        let mut tree = Tree::new();
        let mut body = Vec::new();
        let acl = Acl { permissions: 31, scheme: "digest".into(), id: owner.into() };
        let mut writer = Writer::new(&mut body);
        writer.text("/");
        Acl::write_all(&[acl], &mut writer);
        writer.i32(-1);
        let command = Command::internal(Operation::Client { opcode: OpCode::SetAcl, body: &body });
        let outcome = tree.apply(Stamp::default(), &command, &mut Changes::new());
        assert!(matches!(outcome, Outcome::AclSet { .. }), "{outcome:?}");
        tree
    }

    fn with_super(id: &str) -> ServerConfig {
        let mut config = ServerConfig::default();
        let algorithm = council_frontend::auth::DigestAlgorithm::Sha1;
        config.auth.super_digest = Some(Secret(council_frontend::auth::digest_id(algorithm, id.as_bytes())));
        config
    }

    fn status(access: &Access) -> u16 {
        match access {
            Access::Granted { .. } => 200,
            Access::Refused(denial) => denial.status,
        }
    }

    #[test]
    fn only_the_super_user_is_let_in() {
        let (config, tree) = (with_super("super:secret"), Tree::new());
        let judge = |authorization| judge(&config, &tree, authorization, PEER);
        assert_eq!(judge(Some("digest super:secret")), Access::Granted { user: String::from("super") });
        for (shown, expected) in [
            (Some("digest super:nope"), 403),
            (Some("digest super"), 403),
            (Some("digest a:b"), 403),
            (Some("ip"), 403),
            (Some("ip x"), 403),
            (Some("digest super:secret x"), 403),
            (Some("super x"), 401),
            (Some("x509 x"), 401),
            (Some("world anyone"), 401),
            (Some("digest"), 401),
            (Some(""), 401),
            (None, 401),
        ] {
            assert_eq!(status(&judge(shown)), expected, "{shown:?}");
        }
    }

    #[test]
    fn nobody_is_let_in_where_no_super_user_is_configured() {
        let access = judge(&ServerConfig::default(), &Tree::new(), Some("digest super:secret"), PEER);
        let Access::Refused(denial) = access else { panic!("{access:?}") };
        assert!(denial.status == 403 && denial.hint.contains("diwan digest super"), "{denial:?}");
        assert_eq!(denial.user, "super", "the log says who it was said to be");
    }

    #[test]
    fn super_user_who_shows_no_digest_scheme_is_refused() {
        let mut config = with_super("super:secret");
        config.auth.digest_enabled = false;
        assert_eq!(status(&judge(&config, &Tree::new(), Some("digest super:secret"), PEER)), 401);
    }

    #[test]
    fn zookeepers_rule_asks_for_all_permissions_on_the_root() {
        let mut config = with_super("super:secret");
        config.admin.require_super = false;
        let open = Tree::new();
        for shown in ["digest a:b", "ip", "digest super:secret"] {
            assert_eq!(status(&judge(&config, &open, Some(shown), PEER)), 200, "{shown}");
        }
        let algorithm = council_frontend::auth::DigestAlgorithm::Sha1;
        let closed = closed_to_all_but(&council_frontend::auth::digest_id(algorithm, b"me:mine"));
        for (shown, expected) in
            [("digest me:mine", 200), ("digest super:secret", 200), ("digest me:other", 403), ("ip", 403)]
        {
            assert_eq!(status(&judge(&config, &closed, Some(shown), PEER)), expected, "{shown}");
        }
    }
}
