//! SASL.

use crate::definition::{Definition, Feature, class, double, int, list, long, password, short, string};

pub(super) const SASL: &[Definition] = &[
    class("sasl.client.callback.handler.class").refused("Diwan loads no classes", &[]),
    list("sasl.enabled.mechanisms")
        .default("GSSAPI")
        .per_broker()
        .read_at_start()
        .acts_with(Feature::Sasl, "How clients may authenticate"),
    password("sasl.jaas.config")
        .per_broker()
        .read_at_start()
        .acts_with(Feature::Sasl, "Users, and what a mechanism needs besides, as JAAS writes it"),
    string("sasl.kerberos.kinit.cmd").default("/usr/bin/kinit").per_broker(),
    long("sasl.kerberos.min.time.before.relogin").default("60000").per_broker(),
    list("sasl.kerberos.principal.to.local.rules").default("DEFAULT").per_broker(),
    string("sasl.kerberos.service.name").per_broker(),
    double("sasl.kerberos.ticket.renew.jitter").default("0.05").per_broker(),
    double("sasl.kerberos.ticket.renew.window.factor").default("0.8").per_broker(),
    class("sasl.login.callback.handler.class").refused("Diwan loads no classes", &[]),
    class("sasl.login.class").refused("Diwan loads no classes", &[]),
    int("sasl.login.connect.timeout.ms"),
    int("sasl.login.read.timeout.ms"),
    short("sasl.login.refresh.buffer.seconds").default("300").per_broker(),
    short("sasl.login.refresh.min.period.seconds").default("60").per_broker(),
    double("sasl.login.refresh.window.factor").default("0.8").per_broker(),
    double("sasl.login.refresh.window.jitter").default("0.05").per_broker(),
    long("sasl.login.retry.backoff.max.ms").default("10000"),
    long("sasl.login.retry.backoff.ms").default("100"),
    string("sasl.mechanism.controller.protocol").default("GSSAPI"),
    string("sasl.mechanism.inter.broker.protocol").default("GSSAPI").per_broker(),
    class("sasl.server.callback.handler.class").refused("Diwan loads no classes", &[]),
    int("sasl.server.max.receive.size")
        .default("524288")
        .acts_with(Feature::Sasl, "The longest message of an authentication, in bytes"),
];
