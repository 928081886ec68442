//! SASL OAUTHBEARER.

use crate::definition::{Definition, Feature, boolean, class, int, list, long, password, string};

pub(super) const OAUTH: &[Definition] = &[
    string("sasl.oauthbearer.assertion.algorithm").default("RS256").one_of_ignoring_case(&["ES256", "RS256"]),
    string("sasl.oauthbearer.assertion.claim.aud"),
    int("sasl.oauthbearer.assertion.claim.exp.seconds").default("300").between(0, 86_400),
    string("sasl.oauthbearer.assertion.claim.iss"),
    boolean("sasl.oauthbearer.assertion.claim.jti.include").default("false"),
    int("sasl.oauthbearer.assertion.claim.nbf.seconds").default("60").between(0, 3_600),
    string("sasl.oauthbearer.assertion.claim.sub"),
    string("sasl.oauthbearer.assertion.file"),
    string("sasl.oauthbearer.assertion.private.key.file"),
    password("sasl.oauthbearer.assertion.private.key.passphrase"),
    string("sasl.oauthbearer.assertion.template.file"),
    string("sasl.oauthbearer.client.credentials.client.id"),
    password("sasl.oauthbearer.client.credentials.client.secret"),
    int("sasl.oauthbearer.clock.skew.seconds").default("30").acts_with(
        Feature::Sasl,
        "How far the clocks of the issuer and of the broker may differ, in seconds",
    ),
    list("sasl.oauthbearer.expected.audience")
        .default("")
        .acts_with(Feature::Sasl, "For whom a token has to be made"),
    string("sasl.oauthbearer.expected.issuer").acts_with(Feature::Sasl, "Who has to have made a token"),
    long("sasl.oauthbearer.jwks.endpoint.refresh.ms")
        .default("3600000")
        .acts_with(Feature::Sasl, "How often these keys are read anew, in milliseconds"),
    long("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms")
        .default("10000")
        .acts_with(Feature::Sasl, "How long at most, in milliseconds"),
    long("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms")
        .default("100")
        .acts_with(Feature::Sasl, "How long it is waited before they are asked for again, in milliseconds"),
    string("sasl.oauthbearer.jwks.endpoint.url")
        .acts_with(Feature::Sasl, "Where the keys are that tokens are signed with"),
    class("sasl.oauthbearer.jwt.retriever.class")
        .default("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
    class("sasl.oauthbearer.jwt.validator.class")
        .default("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    string("sasl.oauthbearer.scope"),
    string("sasl.oauthbearer.scope.claim.name")
        .default("scope")
        .acts_with(Feature::Sasl, "Which claim of a token holds its scope"),
    string("sasl.oauthbearer.sub.claim.name")
        .default("sub")
        .acts_with(Feature::Sasl, "Which claim of a token holds the user's name"),
    string("sasl.oauthbearer.token.endpoint.url"),
];
