//! TLS.

use crate::definition::{Definition, Feature, boolean, class, list, password, string};

pub(super) const TLS: &[Definition] = &[
    boolean("ssl.allow.dn.changes").default("false"),
    boolean("ssl.allow.san.changes").default("false"),
    list("ssl.cipher.suites")
        .default("")
        .per_broker()
        .read_at_start()
        .acts_with(Feature::Tls, "The cipher suites. Empty for the program's own choice"),
    string("ssl.client.auth")
        .default("none")
        .one_of(&["required", "requested", "none"])
        .per_broker()
        .read_at_start()
        .acts_with(Feature::Tls, "Whether clients show a certificate: `none`, `requested` or `required`"),
    list("ssl.enabled.protocols")
        .default("TLSv1.2,TLSv1.3")
        .per_broker()
        .read_at_start()
        .acts_with(Feature::Tls, "The versions of TLS"),
    string("ssl.endpoint.identification.algorithm").default("https").per_broker().read_at_start().acts_with(
        Feature::Tls,
        "Whether a certificate of another broker has to name its host, unless it names its number: empty for not",
    ),
    class("ssl.engine.factory.class").per_broker().refused("Diwan loads no classes", &[]),
    password("ssl.key.password")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The password of the broker's key"),
    string("ssl.keymanager.algorithm").default("SunX509").per_broker(),
    password("ssl.keystore.certificate.chain")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The broker's certificate and those that signed it, as PEM"),
    password("ssl.keystore.key")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The broker's key, as PEM"),
    string("ssl.keystore.location")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The file of the broker's key and certificates"),
    password("ssl.keystore.password")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The password of that file"),
    string("ssl.keystore.type")
        .default("JKS")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The kind of the key store: `PEM`, `PKCS12` or `JKS`"),
    string("ssl.principal.mapping.rules")
        .default("DEFAULT")
        .acts_with(Feature::Tls, "How the subject of a client's certificate becomes a name"),
    string("ssl.protocol").default("TLSv1.3").per_broker(),
    string("ssl.provider").per_broker().refused("TLS is that of the program", &[""]),
    string("ssl.secure.random.implementation").per_broker().refused("TLS is that of the program", &[""]),
    string("ssl.trustmanager.algorithm").default("PKIX").per_broker(),
    password("ssl.truststore.certificates")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The certificates that clients' certificates are signed with, as PEM"),
    string("ssl.truststore.location")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The file of the certificates that clients' certificates are signed with"),
    password("ssl.truststore.password")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The password of that file"),
    string("ssl.truststore.type")
        .default("JKS")
        .per_listener()
        .read_at_start()
        .acts_with(Feature::Tls, "The kind of the trust store: `PEM`, `PKCS12` or `JKS`"),
];
