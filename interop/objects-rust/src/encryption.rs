//! Members that speak TLS alone. Without OBJECTS_KEYS they speak plain text, and there is nothing to do here.

use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Counter, Effect, Options, Tls};

use crate::harness::{Test, fresh, refused, variable};

pub(crate) const TESTS: &[Test] = &[
    ("tls.authority_that_is_named_is_trusted", authority_that_is_named_is_trusted),
    ("tls.other_side_that_is_not_trusted_is_refused_at_once", other_side_that_is_not_trusted_is_refused_at_once),
];

fn key(name: &str) -> String {
    format!("{}/{name}", variable("OBJECTS_KEYS"))
}

fn connect(tls: Option<Tls>) -> Cluster {
    let bare = variable("OBJECTS_SERVERS").replace("https://", "");
    Cluster::with(&bare, Options { tls, ..Options::default() }).expect("addresses of members")
}

fn authority_that_is_named_is_trusted(_: &Cluster) {
    let alone = Tls::trusting(key("ca.pem")).expect("a file");
    for tls in [alone, Tls::with_certificate(key("ca.pem"), key("client.pem")).expect("files")] {
        let cluster = connect(Some(tls));
        assert_eq!(Counter::new(&cluster, &fresh()).increment().expect("a value"), 1);
        cluster.close();
    }
}

fn other_side_that_is_not_trusted_is_refused_at_once(_: &Cluster) {
    unencrypted("no-tls", Some(Tls::trusting(key("foreign-ca.pem")).expect("a file")));
    unencrypted("no-tls", Some(Tls::with_certificate(key("ca.pem"), key("stranger.pem")).expect("files")));
    unencrypted("tls-required", None);
}

fn unencrypted(slug: &str, tls: Option<Tls>) {
    let (cluster, began) = (connect(tls), Instant::now());
    let problem = refused(slug, Counter::new(&cluster, &fresh()).increment());
    assert_eq!(problem.effect, Effect::None, "{problem}");
    assert!(began.elapsed() < Duration::from_secs(10), "what cannot change was tried again and again");
}
