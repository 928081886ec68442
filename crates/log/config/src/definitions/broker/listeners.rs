//! Where clients connect.

use crate::definition::{Definition, list, string};

pub(super) const LISTENERS: &[Definition] = &[
    list("advertised.listeners")
        .not_empty()
        .acts("Where clients are told to connect. Not set: as `listeners`"),
    string("diwan.peer.listener").hidden().acts(
        "Where the other brokers of the cluster connect: HOST:PORT. Not set: as the first of `listeners`, at its port and 10000",
    ),
    list("early.start.listeners"),
    string("inter.broker.listener.name").acts(
        "The listener whose TLS holds between brokers, too. Not set: brokers talk in plain text, unless `security.inter.broker.protocol` says otherwise",
    ),
    string("listener.security.protocol.map")
        .default("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT")
        .per_broker()
        .read_at_start()
        .acts("The security protocol of each listener: NAME:PROTOCOL, with commas between"),
    list("listeners")
        .default("PLAINTEXT://:9092")
        .not_empty()
        .per_broker()
        .read_at_start()
        .acts("Where clients connect: NAME://HOST:PORT, with commas between"),
    string("security.inter.broker.protocol")
        .default("PLAINTEXT")
        .one_of(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
        .acts("The listener whose TLS holds between brokers, too, if it has the name of its protocol"),
];
