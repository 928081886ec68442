//! The broker as a process: its number, its roles, its directories, its threads.

use crate::definition::{Definition, boolean, int, list, long, string};

pub(super) const PROCESS: &[Definition] = &[
    int("background.threads").default("10").at_least(1).cluster_wide(),
    int("broker.heartbeat.interval.ms").default("2000"),
    int("broker.id").default("-1").acts("The same as `node.id`"),
    string("broker.rack")
        .acts("Where this broker stands: replicas are spread over racks, and it is told to clients"),
    int("broker.session.timeout.ms").default("9000"),
    list("config.providers")
        .default("")
        .cluster_wide()
        .refused("values are taken as they are written", &[""]),
    boolean("controlled.shutdown.enable").default("true"),
    list("cordoned.log.dirs")
        .default("")
        .per_broker()
        .refused("there is one directory, and it is in use", &[""]),
    boolean("diwan.drain").default("false").per_broker().hidden().acts(
        "Whether what the broker leads and keeps moves to others. Set by `diwan log drain`, not in a file",
    ),
    int("initial.broker.registration.timeout.ms").default("60000"),
    list("log.dir")
        .default("/tmp/kafka-logs")
        .not_empty()
        .acts("Where the data lies, if `log.dirs` is not set"),
    long("log.dir.failure.timeout.ms").default("30000").at_least(1),
    list("log.dirs").not_empty().acts("Where the data lies: one directory"),
    int("node.id").at_least(0).acts("The number of this broker in the cluster"),
    int("num.io.threads").default("8").at_least(1).cluster_wide(),
    int("num.recovery.threads.per.data.dir").default("2").at_least(1).cluster_wide(),
    list("process.roles")
        .of(&["broker", "controller"])
        .not_empty()
        .acts("Has to name `broker`. The council does the controller's work"),
    int("request.timeout.ms").default("30000"),
    long("server.max.startup.time.ms").default("9223372036854775807").at_least(0).hidden(),
    boolean("unstable.api.versions.enable").default("false").hidden(),
    boolean("unstable.feature.versions.enable").default("false").hidden(),
];
