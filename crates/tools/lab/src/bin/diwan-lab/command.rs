//! The command as a report shows it: without its passwords. Reports are shown to others.

/// Shown in place of a secret.
const HIDDEN: &str = "(hidden)";

/// The words of a command line in one line.
pub(crate) fn shown(words: impl Iterator<Item = String>) -> String {
    let mut next: fn(&str) -> String = word;
    let mut shown = Vec::new();
    for text in words {
        let masked = next(&text);
        next = match text.as_str() {
            // What was an option's value is no option.
            _ if masked != text => word,
            "--auth" | "-a" => identity,
            "-D" => property,
            _ => word,
        };
        shown.push(masked);
    }
    shown.join(" ")
}

/// A word that may hold an option together with its value.
fn word(text: &str) -> String {
    for (option, mask) in [("--auth=", identity as fn(&str) -> String), ("-a", identity), ("-D", property)] {
        if let Some(value) = text.strip_prefix(option) {
            return format!("{option}{}", mask(value));
        }
    }
    String::from(text)
}

/// `SCHEME:CREDENTIALS`.
fn identity(text: &str) -> String {
    text.split_once(':').map_or_else(|| String::from(text), |(scheme, _)| format!("{scheme}:{HIDDEN}"))
}

/// `KEY=VALUE`.
fn property(text: &str) -> String {
    match text.trim_start_matches('=').split_once('=') {
        Some((key, _)) if key.trim().to_ascii_lowercase().ends_with("password") => format!("{key}={HIDDEN}"),
        _ => String::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        shown(text.split(' ').map(String::from))
    }

    #[test]
    fn command_is_shown_without_its_passwords() {
        for text in [
            "run --auth digest:bob:secret",
            "run --auth=digest:bob:secret",
            "run -a digest:bob:secret --resume",
            "run -adigest:bob:secret",
            "run -a=digest:bob:secret",
            "run -D zookeeper.ssl.keyStore.password=secret",
            "run -Dzookeeper.ssl.trustStore.password=secret",
            "run -D=zookeeper.ssl.trustStore.password=secret",
            "run -a digest:bob:secret -a digest:bob:secret",
        ] {
            let shown = of(text);
            assert!(shown.starts_with("run -") && shown.contains("(hidden)"), "{shown}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn command_without_passwords_is_shown_as_it_is() {
        for text in [
            "run Z1 --address mine=zk1:2181,zk2:2181 --tls-ca ca.pem --sasl-user bob",
            "run --auth-file FILE --against /old/diwan",
            "run -D zookeeper.client.secure=true -D zookeeper.ssl.keyStore.passwordPath=file",
        ] {
            assert_eq!(of(text), text);
        }
    }
}
