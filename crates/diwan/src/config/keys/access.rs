//! Permissions: ACLs, authentication, SASL.

use council_service::config::{DigestAlgorithm, Secret};

use super::super::draft::Draft;
use super::Row;
use super::server::put;
use node_config::{Checked, Setting};

pub(super) const ROWS: &[Row] = &[
    Row::foreign("skipACL", "whether ACLs are looked at (`yes` for not)", |draft, setting| {
        draft.config.auth.skip_acl = setting.value == "yes";
        if setting.value != "yes" && setting.value != "no" {
            draft.warn(format!("`{}` is not `yes`, so ACLs are checked, as in ZooKeeper", setting.value));
        }
        Ok(())
    }),
    Row::own("council.auth.skip-acl", "whether ACLs are left unchecked", |draft, setting| {
        put(&mut draft.config.auth.skip_acl, setting.flag())
    }),
    Row::both(
        "DigestAuthenticationProvider.superDigest",
        "council.auth.super-digest",
        "the super user of scheme `digest`, as `super:<hash>`",
        |draft, setting| {
            draft.config.auth.super_digest = Some(Secret(String::from(setting.value)));
            Ok(())
        },
    ),
    Row::both(
        "DigestAuthenticationProvider.digestAlg",
        "council.auth.digest-algorithm",
        "how scheme `digest` hashes",
        |draft, setting| put(&mut draft.config.auth.digest_algorithm, digest_algorithm(setting)),
    ),
    Row::both(
        "DigestAuthenticationProvider.enabled",
        "council.auth.digest",
        "whether there is the scheme `digest`",
        |draft, setting| put(&mut draft.config.auth.digest_enabled, setting.flag()),
    ),
    Row::both(
        "X509AuthenticationProvider.superUser",
        "council.auth.x509-super-user",
        "the certificate subject that is super user",
        |draft, setting| {
            draft.config.auth.x509_super_user = Some(String::from(setting.value));
            Ok(())
        },
    ),
    Row::foreign("authProvider.*", "an authentication scheme", provider),
    Row::foreign("ensembleAuthName", "names that the scheme `ensemble` knows", |draft, setting| {
        draft.ensemble_names = setting.list();
        Ok(())
    }),
    Row::own("council.auth.ensemble-names", "names that the scheme `ensemble` knows", |draft, setting| {
        draft.config.auth.ensemble_names = Some(setting.list());
        Ok(())
    }),
    Row::foreign(
        "sessionRequireClientSASLAuth",
        "whether clients must authenticate by SASL",
        |draft, setting| put(&mut draft.enforce.sasl, setting.flag()),
    ),
    Row::foreign("enforce.auth.enabled", "whether clients must authenticate", |draft, setting| {
        put(&mut draft.enforce.enabled, setting.flag())
    }),
    Row::foreign("enforce.auth.schemes", "how clients must authenticate", |draft, setting| {
        draft.enforce.schemes = setting.list();
        Ok(())
    }),
    Row::own("council.auth.require", "schemes of which clients must use one", |draft, setting| {
        draft.enforce.schemes = setting.list();
        draft.enforce.enabled = true;
        Ok(())
    }),
    Row::both("superUser", "council.auth.sasl-super-user", "a SASL user who is super user", super_user),
    Row::foreign("superUser.*", "a SASL user who is super user", super_user),
    Row::both(
        "SASLAuthenticationProvider.superPassword",
        "council.auth.sasl-super-password",
        "the password of the SASL user `super`",
        |draft, setting| {
            draft.sasl.super_password = Some(Secret(String::from(setting.value)));
            Ok(())
        },
    ),
    Row::both(
        "allowSaslFailedClients",
        "council.auth.sasl-allow-failed-clients",
        "whether a client may go on after SASL failed",
        |draft, setting| put(&mut draft.sasl.allow_failed_clients, setting.flag()),
    ),
    Row::both(
        "sasl.serverconfig",
        "council.auth.sasl-section",
        "the section of the JAAS file",
        |draft, setting| {
            draft.sasl.section = String::from(setting.value);
            Ok(())
        },
    ),
    Row::both(
        "java.security.auth.login.config",
        "council.auth.sasl-jaas-file",
        "the JAAS file with SASL's users",
        |draft, setting| {
            draft.sasl.file = Some(setting.value.into());
            Ok(())
        },
    ),
    Row::nothing("letAnySaslUserDoX", "a SASL identity means its own user only"),
    Row::nothing(
        "IPAuthenticationProvider.usexforwardedfor",
        "the address of the socket counts, no header does",
    ),
    Row::nothing("requireKerberosConfig", "there is no GSSAPI here"),
    Row::nothing("kerberos.*", "there is no GSSAPI here"),
    Row::nothing("security.auth_to_local", "there is no GSSAPI here"),
];

fn super_user(draft: &mut Draft, setting: Setting<'_>) -> Checked<()> {
    draft.sasl.super_users.push(String::from(setting.value));
    Ok(())
}

fn digest_algorithm(setting: Setting<'_>) -> Checked<DigestAlgorithm> {
    match setting.value.to_ascii_uppercase().as_str() {
        "SHA1" | "SHA-1" | "SHA" => Ok(DigestAlgorithm::Sha1),
        "SHA-256" => Ok(DigestAlgorithm::Sha256),
        "SHA-512" => Ok(DigestAlgorithm::Sha512),
        "SHA3-256" => Ok(DigestAlgorithm::Sha3_256),
        _ => Err(setting
            .problem("a hash that is not supported")
            .hint("use `SHA1`, `SHA-256`, `SHA-512` or `SHA3-256`")),
    }
}

fn provider(draft: &mut Draft, setting: Setting<'_>) -> Checked<()> {
    match setting.value.strip_prefix("org.apache.zookeeper.server.auth.") {
        Some("SASLAuthenticationProvider") => draft.config.auth.sasl_scheme = true,
        Some("X509AuthenticationProvider") => draft.config.auth.x509_enabled = true,
        Some("EnsembleAuthenticationProvider") => draft.ensemble_provider = true,
        Some("DigestAuthenticationProvider" | "IPAuthenticationProvider") => {}
        _ => {
            return Err(setting.problem("an authentication scheme that is not here").hint(
                "those of ZooKeeper's classes for digest, ip, x509, sasl and ensemble are; remove the line \
                       only if no ACL relies on this one",
            ));
        }
    }
    Ok(())
}
