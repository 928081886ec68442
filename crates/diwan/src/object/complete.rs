//! Names that the shell completes: it runs this program, which asks the servers that the line names.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use super::access::AccessArguments;
use super::credentials::CredentialArguments;
use super::encryption::EncryptionArguments;
use super::list;
use crate::log::complete::named;

/// Names of built-in types.
pub(super) fn types(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let types = list::type_names().into_iter().filter(|name| name.starts_with(&*begun));
    types.map(CompletionCandidate::new).collect()
}

/// Names of objects; before there is a `/`, those of types.
pub(super) fn objects(begun: &OsStr) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let Some((kind, prefix)) = begun.split_once('/') else {
        let types = list::type_names().into_iter().filter(|name| name.starts_with(&*begun));
        return types.map(|name| CompletionCandidate::new(format!("{name}/"))).collect();
    };
    let words: Vec<String> = std::env::args().collect();
    let server = named(&words, &["-s", "--server"], "DIWAN_OBJECTS");
    let server = server.unwrap_or_else(|| String::from("127.0.0.1:7180"));
    let encryption = EncryptionArguments::of(
        named(&words, &["--tls-ca"], "DIWAN_OBJECTS_TLS_CA"),
        named(&words, &["--tls-cert"], "DIWAN_OBJECTS_TLS_CERT"),
    );
    let server = server.split(',').map(String::from).collect();
    let credentials = CredentialArguments {
        token: None,
        token_file: named(&words, &["--token-file"], "DIWAN_TOKEN_FILE").map(Into::into),
    };
    let access = AccessArguments { server, encryption, credentials };
    // Who cannot be reached completes nothing.
    let objects = list::of_type(&access, kind, prefix).unwrap_or_default();
    let names = objects.iter().filter_map(|object| object["name"].as_str());
    names.map(|name| CompletionCandidate::new(format!("{kind}/{name}"))).collect()
}
