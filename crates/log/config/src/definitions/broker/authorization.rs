//! Who a client is and what it may do.

use crate::definition::{Definition, Feature, class, long, password, string};

pub(super) const AUTHORIZATION: &[Definition] = &[
    string("authorizer.class.name")
        .default("")
        .acts_with(Feature::Acls, "Kafka's `StandardAuthorizer` for access control lists, empty for none"),
    long("delegation.token.expiry.check.interval.ms").default("3600000").at_least(1),
    long("delegation.token.expiry.time.ms").default("86400000").at_least(1),
    long("delegation.token.max.lifetime.ms").default("604800000").at_least(1),
    password("delegation.token.secret.key").refused("there are no delegation tokens", &[""]),
    class("principal.builder.class")
        .default("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder")
        .per_broker()
        .read_at_start()
        .refused(
            "Diwan loads no classes",
            &["org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"],
        ),
    string("security.providers").refused("Diwan loads no classes", &[""]),
];
