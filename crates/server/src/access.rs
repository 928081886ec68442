//! Who may run the commands that need every permission on the root: an identity in the header `Authorization`, as
//! `scheme credentials`, judged by the root's ACL. The rules are the AdminServer's of ZooKeeper 3.9.

use std::net::IpAddr;

use jute::permission;
use tree::{IdentityList, Policy, Tree, permits};

use crate::config::ServerConfig;
use crate::inspect::Access;
use crate::settings;

/// See the module.
pub(crate) fn judge(config: &ServerConfig, tree: &Tree, authorization: &str, peer: IpAddr) -> Access {
    let policy = settings::policy(config);
    let Some(identities) = identities(config, policy, authorization, peer) else {
        return Access::NotAuthenticated;
    };
    let root = tree.node("/");
    let acl = root.as_ref().map_or(&[][..], |root| root.acl());
    let all =
        [permission::READ, permission::WRITE, permission::CREATE, permission::DELETE, permission::ADMIN];
    if all.iter().all(|one| permits(acl, *one, identities.identities(), policy)) {
        Access::Granted
    } else {
        Access::NotAuthorized
    }
}

fn identities(
    config: &ServerConfig,
    policy: Policy,
    authorization: &str,
    peer: IpAddr,
) -> Option<IdentityList> {
    // As Java splits: empty words at the end are none.
    let (scheme, credentials) = match authorization.trim_end_matches(' ').split_once(' ') {
        Some((_, credentials)) if credentials.contains(' ') => return None,
        Some((scheme, credentials)) => (scheme, Some(credentials)),
        None => (authorization.trim_end_matches(' '), None),
    };
    let mut list = IdentityList::default();
    match (scheme, credentials) {
        ("digest", Some(credentials)) if policy.contains(Policy::DIGEST_KNOWN) => {
            let id = front::auth::digest_id(settings::digest_algorithm(config), credentials.as_bytes());
            if config.auth.super_digest.as_ref().is_some_and(|secret| secret.0 == id) {
                list.add("super", "");
            }
            list.add("digest", &id);
        }
        ("ip", _) => {
            list.add("ip", &front::auth::host_address(peer));
        }
        _ => return None,
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use jute::{Acl, OpCode, Writer};
    use tree::{Changes, Command, Operation, Outcome, Stamp};

    use super::*;
    use crate::config::Secret;

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

    #[test]
    fn an_open_root_lets_in_whoever_shows_an_identity() {
        let (config, tree) = (ServerConfig::default(), Tree::new());
        let judge = |authorization| judge(&config, &tree, authorization, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(judge("digest a:b"), Access::Granted);
        assert_eq!(judge("ip"), Access::Granted);
        for nobody in ["", "digest", "digest a b", "x509", "world anyone", "super x"] {
            assert_eq!(judge(nobody), Access::NotAuthenticated, "{nobody}");
        }
    }

    #[test]
    fn a_root_with_an_owner_is_for_the_owner_and_the_super_user() {
        let algorithm = front::auth::DigestAlgorithm::Sha1;
        let mut config = ServerConfig::default();
        config.auth.super_digest = Some(Secret(front::auth::digest_id(algorithm, b"super:secret")));
        let tree = closed_to_all_but(&front::auth::digest_id(algorithm, b"me:mine"));
        let judge = |authorization| judge(&config, &tree, authorization, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(judge("digest me:mine"), Access::Granted);
        assert_eq!(judge("digest super:secret"), Access::Granted);
        assert_eq!(judge("digest me:other"), Access::NotAuthorized);
        assert_eq!(judge("ip"), Access::NotAuthorized);
    }
}
