use std::fs;
use std::net::SocketAddr;

use council_service::config::{
    ClientAuth, DigestAlgorithm, EnsembleConfig, KeyStoreKind, MemberNumber, TlsProtocol, WordConfig,
};

use super::*;
use node_config::Problem;

mod together;

/// A directory of its own that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("diwan-config-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn load_text(test: &str, name: &str, text: &str) -> Loaded {
    let scratch = Scratch::new(test);
    load(&Sources { file: Some(scratch.file(name, text)), ..Sources::default() })
}

fn zoo(test: &str, text: &str) -> ServerConfig {
    load_text(test, "zoo.cfg", &format!("dataDir=/d\nclientPort=2181\n{text}"))
        .result
        .expect("it is fine")
        .council
        .unwrap()
}

fn zoo_problem(test: &str, text: &str) -> String {
    let problems =
        load_text(test, "zoo.cfg", &format!("dataDir=/d\nclientPort=2181\n{text}")).result.unwrap_err();
    problems
        .iter()
        .map(|problem| format!("{} ({})\n", problem.what, problem.hint.as_deref().unwrap_or("-")))
        .collect()
}

fn own(test: &str, text: &str) -> ServerConfig {
    load_text(test, "diwan.toml", text).result.expect("it is fine").council.unwrap()
}

#[test]
fn without_a_file_the_server_is_on_loopback() {
    let Configuration { council, logging: log, .. } = load(&Sources::default()).result.unwrap();
    let config = council.unwrap();
    assert_eq!(config.listen.client, Some(SocketAddr::from(([127, 0, 0, 1], 2181))));
    assert_eq!(config.storage.data_dir, PathBuf::from("diwan-data/council"));
    assert_eq!(config.metrics.address, config.admin.address);
    assert!(config.metrics.address.unwrap().ip().is_loopback());
    assert_eq!(log, LogConfig::default());
}

#[test]
fn settings_are_kept_to_be_shown_but_for_secrets() {
    let config =
        zoo("shown", "ssl.keyStore.password=hush\nssl.keyStore.passwordPath=/p\nmyKey=1\nskipACL=no\n");
    let shown = |key: &str| {
        let found = config.settings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(shown("zookeeper.ssl.keyStore.password"), Some("(hidden)"));
    assert_eq!(shown("zookeeper.ssl.keyStore.passwordPath"), Some("/p"));
    assert_eq!(shown("zookeeper.myKey"), Some("1"));
    assert_eq!(shown("zookeeper.skipACL"), Some("no"));
    let config = own("shown-own", "[council.auth]\nsuper-digest = \"super:D/InIHSb7yEEbrWz8b9l71RjZJU=\"\n");
    assert_eq!(
        config.settings,
        [(String::from("diwan.council.auth.super-digest"), String::from("(hidden)"))]
    );
}

#[test]
fn a_zoo_cfg_has_the_defaults_of_zookeeper() {
    let config = zoo("defaults", "");
    assert!(config.listen.client.unwrap().ip().is_unspecified());
    assert_eq!(config.session.tick_ms, 3000);
    assert_eq!((config.session.timeout_min_ms, config.session.timeout_max_ms), (6000, 60_000));
    assert_eq!(config.limits.connections_per_ip_max, 60);
    assert_eq!(config.limits.request_bytes_max, 1_048_575);
    assert_eq!(config.words, WordConfig::Named(vec!["srvr".into()]));
    assert_eq!(config.admin.address.unwrap().port(), 8080);
    assert!(config.admin.optional);
    assert!(!config.nodes.extended_types && !config.quota.enforce && !config.auth.skip_acl);
}

#[test]
fn a_whole_zoo_cfg_is_honoured() {
    let config = zoo(
        "whole",
        "tickTime = 2000 \nminSessionTimeout=-1\nmaxSessionTimeout=90000\nclientPortAddress=127.0.0.1\n\
         dataLogDir=/l\nmaxClientCnxns=0\nmaxCnxns=5\njute.maxbuffer=0x400000\nsnapCount=1\npreAllocSize=32768\n\
         autopurge.snapRetainCount=1\nautopurge.purgeInterval=12\nextendedTypesEnabled=TRUE\nenforceQuota=true\n\
         4lw.commands.whitelist=stat, ruok , \nskipACL=yes\n\
         DigestAuthenticationProvider.superDigest=super:wjySwxg860UATFtciuZ1lpzrCHrPeov6SPu/ZD56uig=\n\
         DigestAuthenticationProvider.digestAlg=SHA-256\nznode.container.checkIntervalMs=100\n\
         metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider\n\
         metricsProvider.httpHost=127.0.0.1\nmetricsProvider.httpPort=7001\nadmin.serverPort=0\n\
         admin.serverAddress=127.0.0.1\nadmin.commandURL=/c/\naudit.enable=true\nserver.1=h:2888:3888;2181\n\
         connection_throttle_tokens=9\ninitLimit=10\n",
    );
    assert_eq!((config.session.timeout_min_ms, config.session.timeout_max_ms), (4000, 90_000));
    assert_eq!(config.listen.client, Some(SocketAddr::from(([127, 0, 0, 1], 2181))));
    assert_eq!(config.storage.log_dir, Some(PathBuf::from("/l/council")));
    assert_eq!((config.limits.connections_per_ip_max, config.limits.connections_max), (0, 5));
    assert_eq!(config.limits.request_bytes_max, 4 << 20);
    assert_eq!((config.storage.snapshot_after_transactions, config.storage.snapshots_kept), (2, 3));
    assert_eq!(config.storage.segment_bytes, 32 << 20);
    assert!(
        config.nodes.extended_types && config.quota.enforce && config.auth.skip_acl && config.audit.enabled
    );
    assert_eq!(config.words, WordConfig::Named(vec!["stat".into(), "ruok".into()]));
    assert_eq!(config.auth.super_digest.unwrap().0, "super:wjySwxg860UATFtciuZ1lpzrCHrPeov6SPu/ZD56uig=");
    assert_eq!(config.auth.digest_algorithm, DigestAlgorithm::Sha256);
    assert_eq!(config.nodes.reap_interval_ms, 100);
    assert_eq!(config.metrics.address, Some(SocketAddr::from(([127, 0, 0, 1], 7001))));
    assert_eq!((config.admin.command_url.as_str(), config.admin.optional), ("/c", false));
    assert_eq!(config.limits.connection_throttle.unwrap().tokens, 9);
}

#[test]
fn the_last_of_equal_keys_counts() {
    assert_eq!(zoo("equal", "tickTime=1\ntickTime=2\n").session.tick_ms, 2);
}

#[test]
fn a_log_directory_that_is_the_data_directory_is_none() {
    assert_eq!(zoo("log-dir", "dataLogDir=/d\n").storage.log_dir, None);
}

#[test]
fn the_port_may_stand_in_the_server_line() {
    let text = "dataDir=/d\nserver.1=127.0.0.1:2888:3888:participant;127.0.0.1:2199\n";
    let config = load_text("line", "zoo.cfg", text).result.unwrap().council.unwrap();
    assert_eq!(config.listen.client, Some(SocketAddr::from(([127, 0, 0, 1], 2199))));
}

#[test]
fn a_port_that_is_none_is_told_once() {
    let problems = load_text("port", "zoo.cfg", "dataDir=/d\nclientPort=abc\n").result.unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].what.contains("`clientPort` is `abc`"), "{problems:?}");
}

#[test]
fn the_servers_of_a_zoo_cfg_are_members_and_myid_says_which_of_them_this_is() {
    let scratch = Scratch::new("ensemble");
    let servers = "server.1=a:1:2\nserver.2=b:3:4;127.0.0.1:2182\nserver.3=c:5:6:observer\n";
    let text = format!("dataDir={}\n{servers}", scratch.0.display());
    let file = scratch.file("zoo.cfg", &text);
    let load = || load(&Sources { file: Some(file.clone()), ..Sources::default() }).result;
    assert!(load().unwrap_err().iter().any(|problem| problem.what.contains("myid")));
    scratch.file("myid", "2\n");
    let config = load().unwrap().council.unwrap();
    let ensemble = config.ensemble.unwrap();
    assert_eq!(
        (ensemble.number, ensemble.roster().participants()),
        (MemberNumber(2), vec![MemberNumber(1), MemberNumber(2)])
    );
    assert_eq!(config.listen.client, Some(SocketAddr::from(([127, 0, 0, 1], 2182))));
    assert_eq!(ensemble.tls, None);
    scratch.file("myid", "9\n");
    assert!(load().unwrap_err().iter().any(|problem| problem.what.contains("number 9")));
    scratch.file("myid", "two\n");
    assert!(load().unwrap_err().iter().any(|problem| problem.what.contains("`two`")));
}

#[test]
fn members_may_be_named_in_a_diwan_toml() {
    let text = "[council.ensemble]\nnumber = 1\nmembers = [\"1=a:1\", \"2=b:2;2181\"]\nlease-ms = 500\n";
    let ensemble = own("ensemble-own", text).ensemble.unwrap();
    assert_eq!((ensemble.number, ensemble.members.len(), ensemble.lease_ms), (MemberNumber(1), 2, 500));
    let text = "[council.ensemble]\nnumber = 1\nmembers = [\"1=a:1\", \"2=b:2\"]\ntls = true\n";
    let problems = load_text("ensemble-tls", "diwan.toml", text).result.unwrap_err();
    assert!(problems.iter().any(|problem| problem.what.contains("no key")), "{problems:?}");
}

#[test]
fn servers_of_a_dynamic_file_count_too() {
    let scratch = Scratch::new("dynamic");
    let dynamic = scratch.file("zoo.cfg.dynamic", "server.1=127.0.0.1:1:2;2188\n");
    let text = format!("dataDir=/d\ndynamicConfigFile={}\n", dynamic.display());
    let file = Some(scratch.file("zoo.cfg", &text));
    let config = load(&Sources { file, ..Sources::default() }).result.unwrap().council.unwrap();
    assert_eq!(config.listen.client.unwrap().port(), 2188);
}

#[test]
fn security_that_is_not_here_refuses_the_start() {
    for (index, text) in [
        "authProvider.1=com.example.Mine",
        "authProvider.1=org.apache.zookeeper.server.auth.KeyAuthenticationProvider",
        "ssl.context.supplier.class=x",
        "ssl.ocsp=true",
        "ssl.crl=true",
        "ssl.newfangled=1",
        "ssl.authProvider=mine",
        "ssl.protocol=TLSv1.1",
        "ssl.enabledProtocols=TLSv1,TLSv1.1",
        "ssl.keyStore.type=BCFKS",
        "secureClientPort=2281",
        "secureClientPort=2281\nssl.keyStore.location=/k.pem",
        "secureClientPort=2281\nssl.clientAuth=none\nssl.keyStore.location=/k.store",
        "enforce.auth.enabled=true",
        "enforce.auth.enabled=true\nenforce.auth.schemes=mine",
        "enforce.auth.enabled=true\nenforce.auth.schemes=x509",
        "enforce.auth.enabled=yes\nenforce.auth.schemes=digest",
        "sessionRequireClientSASLAuth=true",
        "sessionRequireClientSASLAuth=1",
        "DigestAuthenticationProvider.digestAlg=RipeMD160",
        "DigestAuthenticationProvider.superDigest=super:plain",
        "DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=\n\
         DigestAuthenticationProvider.digestAlg=SHA-256",
        "admin.forceHttps=true",
        "metricsProvider.httpsPort=1",
        "audit.enable=yes",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(zoo_problem(&format!("security-{index}"), text).contains('`'), "{text}");
    }
}

#[test]
fn super_digest_that_is_a_password_is_refused_and_not_repeated() {
    let problem = zoo_problem("plain-digest", "DigestAuthenticationProvider.superDigest=super:hushhush");
    assert!(problem.contains("diwan digest super") && !problem.contains("hushhush"), "{problem}");
}

#[test]
fn tls_at_the_admin_server_is_refused_or_warned_of_and_never_passed_over() {
    for key in ["admin.forceHttps", "admin.needClientAuth"] {
        assert!(
            zoo_problem(key, &format!("{key}=true")).contains("the AdminServer has no TLS here"),
            "{key}"
        );
    }
    let text = "dataDir=/d\nclientPort=2181\nadmin.portUnification=true";
    let loaded = load_text("admin-unification", "zoo.cfg", text);
    let warned = loaded.notices.iter().any(|notice| match &notice.verdict {
        Verdict::Honoured { warnings, .. } => {
            warnings.join("\n").contains("`admin.portUnification=true` is not done")
        }
        _ => false,
    });
    assert!(warned && loaded.result.is_ok());
}

#[test]
fn saying_false_to_what_is_not_here_is_fine() {
    zoo("false", "ssl.ocsp=false\nssl.crl=false\nadmin.forceHttps=false\nenforce.auth.enabled=false\n");
}

#[test]
fn a_secure_port_brings_tls_and_x509() {
    let config = zoo(
        "secure",
        "secureClientPort=0\nssl.keyStore.location=/k.p12\nssl.keyStore.password=p\nssl.trustStore.location=/t\n\
         ssl.trustStore.type=JKS\nssl.clientAuth=want\nssl.protocol=TLSv1.2\n",
    );
    let tls = config.tls.unwrap();
    assert_eq!(
        (tls.key_store.kind, tls.trust_store.unwrap().kind),
        (KeyStoreKind::Pkcs12, KeyStoreKind::Jks)
    );
    assert_eq!(tls.key_store.password.0, "p");
    assert_eq!((tls.client_auth, tls.protocols), (ClientAuth::Want, vec![TlsProtocol::Tls12]));
    assert!(config.auth.x509_enabled);
}

#[test]
fn sasl_users_come_from_a_jaas_file() {
    let scratch = Scratch::new("jaas");
    let module = "org.apache.zookeeper.server.auth";
    let jaas = scratch
        .file("jaas.conf", &format!("Server {{ {module}.DigestLoginModule required user_bob=\"b\"; }};"));
    let text = format!(
        "dataDir=/d\nclientPort=0\nauthProvider.1={module}.SASLAuthenticationProvider\n\
         sessionRequireClientSASLAuth=true\nsuperUser.1=bob\n"
    );
    let sources = Sources {
        file: Some(scratch.file("zoo.cfg", &text)),
        properties: vec![format!("java.security.auth.login.config={}", jaas.display())],
        flags: Vec::new(),
    };
    let auth = load(&sources).result.unwrap().council.unwrap().auth;
    assert_eq!(auth.enforced_schemes, Some(vec!["sasl".into()]));
    let sasl = auth.sasl.unwrap();
    assert_eq!((sasl.users.len(), sasl.super_users), (1, vec!["bob".into()]));
}

#[test]
fn unknown_keys_of_a_zoo_cfg_warn_and_suggest() {
    let loaded =
        load_text("unknown", "zoo.cfg", "dataDir=/d\nclientPort=1\nmaxClientCnxn=9\nleaderServes=no\n");
    assert!(loaded.result.is_ok());
    let unknown = loaded.notices.iter().find(|notice| notice.key == "maxClientCnxn").unwrap();
    assert_eq!(unknown.line, Some(3));
    assert!(matches!(&unknown.verdict, Verdict::Unknown(Some(near)) if near.contains("maxClientCnxns")));
    assert!(matches!(loaded.notices.last().unwrap().verdict, Verdict::NoMeaningHere(_)));
}

#[test]
fn a_diwan_toml_is_honoured() {
    let config = own(
        "toml",
        "[node]\nshards = 2\n[council]\nlisten.client = \"127.0.0.1:0\"\n[council.limits]\nrequest-bytes = 0x2000_000\n\
         connections-per-ip = 7\n[council.four-letter-words]\nallow = [\"ruok\", \"stat\"]\n[metrics]\nlisten = \"off\"\n\
         [council.znodes]\nextended-types = true\n[council.session]\ntick-ms = 500\n",
    );
    assert_eq!((config.listen.client.unwrap().port(), config.listen.shards), (0, 2));
    assert_eq!(config.limits.request_bytes_max, 0x200_0000);
    assert_eq!(config.words, WordConfig::Named(vec!["ruok".into(), "stat".into()]));
    assert_eq!(config.metrics.address, None);
    assert_eq!(config.session.timeout_max_ms, 10_000);
    assert!(config.nodes.extended_types);
}

#[test]
fn an_unknown_key_of_a_diwan_toml_is_an_error() {
    let problems =
        load_text("tomlkey", "diwan.toml", "[council.limits]\nconnections-per-ipp = 7\n").result.unwrap_err();
    assert_eq!(problems[0].what, "line 2: there is no key `council.limits.connections-per-ipp`");
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `council.limits.connections-per-ip`?"));
    for (key, hint) in [
        ("clientPort", "it is called `council.listen.client` here"),
        ("clientport", "did you mean `clientPort`? it is called `council.listen.client` here"),
        ("tickTimes", "did you mean `tickTime`? it is called `council.session.tick-ms` here"),
        ("xyz", "see `diwan config keys`"),
    ] {
        let problems = load_text("tomlzoo", "diwan.toml", &format!("{key} = 1\n")).result.unwrap_err();
        assert_eq!(problems[0].hint.as_deref(), Some(hint), "{key}");
    }
    for text in
        ["clientPort = 1\n", "[council.limits", "[logging]\nlevel = 1.5\n", "[logging]\nlevel = \"loud\"\n"]
    {
        assert!(load_text("tomlbad", "diwan.toml", text).result.is_err(), "{text}");
    }
}

#[test]
fn flags_win_over_properties_and_those_over_the_file() {
    let scratch = Scratch::new("order");
    let sources = Sources {
        file: Some(
            scratch.file("diwan.toml", "[council.session]\ntick-ms = 1\n[council.limits]\nconnections = 1\n"),
        ),
        properties: vec!["zookeeper.maxCnxns=2".into(), "council.session.tick-ms=2".into()],
        flags: vec![("council.session.tick-ms", "3".into())],
    };
    let config = load(&sources).result.unwrap().council.unwrap();
    assert_eq!((config.session.tick_ms, config.limits.connections_max), (3, 2));
}

#[test]
fn a_property_moves_the_admin_server_also_where_there_is_no_zoo_cfg() {
    let sources = Sources { properties: vec!["admin.serverPort=0".into()], ..Sources::default() };
    let config = load(&sources).result.unwrap().council.unwrap();
    assert!(config.admin.address.is_some_and(|at| at.ip().is_unspecified() && at.port() == 0));
    assert!(!config.admin.optional);
    let sources = Sources { properties: vec!["admin.enableServer=false".into()], ..Sources::default() };
    assert_eq!(load(&sources).result.unwrap().council.unwrap().admin.address, None);
}

#[test]
fn what_is_documented_as_the_standard_is_the_standard() {
    let meant = |sources: &Sources| {
        let Configuration { council, logging, broker, objects } = load(sources).result.unwrap();
        let config = ServerConfig { settings: Vec::new(), ..council.unwrap() };
        // Asked for or not, and shown with an absolute path: the same otherwise.
        let log = broker.map(|plan| plan.setup.config);
        let log = format!("{log:?}").replace(&std::env::current_dir().unwrap().display().to_string(), ".");
        let objects = objects.map(|plan| (plan.listen, plan.create_on_use, format!("{:?}", plan.names)));
        format!("{:?}", (config, logging, log, objects))
    };
    // With other members, because a standalone server ignores settings of members.
    let members = ["council.ensemble.number=1", "council.ensemble.members=1=127.0.0.1:1,2=127.0.0.1:2"]
        .map(String::from)
        .to_vec();
    let unsaid = meant(&Sources { properties: members.clone(), ..Sources::default() });
    // To say where metrics are is to insist on it, which is all the difference that there may be.
    let insisting = |text: String| text.replace("optional: false", "optional: true");
    for row in KEYS.rows().filter(|row| !row.own.is_empty()) {
        let Some(standard) = super::keys::standard(row) else { continue };
        let flags = vec![(row.own, standard.into())];
        let sources = Sources { flags, properties: members.clone(), ..Sources::default() };
        assert_eq!(insisting(meant(&sources)), unsaid, "`{}` is not `{standard}`", row.own);
    }
}

#[test]
fn the_documentation_lists_every_key() {
    let mut text = Vec::new();
    document_keys(&mut text).unwrap();
    let documented = include_str!("../../../../docs/configuration.md");
    let hint = "run `cargo run -- config keys --markdown` and put its output behind the introduction";
    assert!(documented.ends_with(&String::from_utf8(text).unwrap()), "docs/configuration.md is old: {hint}");
}

#[test]
fn a_flag_wins_over_the_ports_of_a_zoo_cfg() {
    let scratch = Scratch::new("ports");
    let sources = Sources {
        file: Some(scratch.file("zoo.cfg", "dataDir=/d\nclientPort=2181\nclientPortAddress=127.0.0.9\n")),
        properties: Vec::new(),
        flags: vec![("council.listen.client", "127.0.0.1:0".into()), ("admin.listen", "off".into())],
    };
    let config = load(&sources).result.unwrap().council.unwrap();
    assert_eq!(config.listen.client, Some(SocketAddr::from(([127, 0, 0, 1], 0))));
    assert_eq!(config.admin.address, None);
}

#[test]
fn a_request_may_not_be_longer_than_what_can_be_stored() {
    assert_eq!(zoo("largest", "jute.maxbuffer=536870912\n").limits.request_bytes_max, 512 << 20);
    let problem = zoo_problem("too-large", "jute.maxbuffer=536870913\n");
    assert!(problem.contains("line 3: `jute.maxbuffer` is `536870913`: more than 536870912"), "{problem}");
}

#[test]
fn what_is_missing_is_named() {
    let loaded = load_text("missing", "zoo.cfg", "clientPortAddress=127.0.0.1\n");
    let all: String = loaded.result.unwrap_err().iter().map(|problem| problem.what.clone()).collect();
    assert!(all.contains("`dataDir` is not set"), "{all}");
    assert!(all.contains("`clientPortAddress` is set but `clientPort` is not"), "{all}");
    let absent = load(&Sources { file: Some("/nowhere/zoo.cfg".into()), ..Sources::default() });
    assert!(absent.result.unwrap_err()[0].what.contains("cannot read `/nowhere/zoo.cfg`"));
}

#[test]
fn the_check_shows_every_line() {
    let scratch = Scratch::new("check");
    let text =
        "dataDir=/d\nclientPort=1\ninitLimit=5\nnonsense=1\nssl.ocsp=true\nssl.keyStore.password=hush\n";
    let sources = Sources { file: Some(scratch.file("zoo.cfg", text)), ..Sources::default() };
    let told = |options: CheckOptions| {
        let mut out = Vec::new();
        assert!(!check(&sources, options, &mut out).unwrap());
        String::from_utf8(out).unwrap()
    };
    let text = told(CheckOptions::default());
    for expected in [
        "   2  honoured   clientPort=1 ",
        "   3  ignored    initLimit=5 ",
        "   4  unknown    nonsense=1 ",
        "   5  refused    ssl.ocsp=true ",
        "   6  no effect  ssl.keyStore.password=(hidden) ",
        "error: line 5: `ssl.ocsp`",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let value: serde_json::Value =
        serde_json::from_str(&told(CheckOptions { json: true, ..CheckOptions::default() })).unwrap();
    assert_eq!(value["starts"], false);
    assert_eq!(
        (&value["settings"][1]["key"], &value["settings"][1]["value"]),
        (&"clientPort".into(), &"1".into())
    );
    assert!(value["problems"][0]["what"].as_str().unwrap().contains("ssl.ocsp"));
}

/// The settings between members that lines of a `zoo.cfg` come to, or the problems.
fn between_members(name: &str, lines: &str) -> (Result<EnsembleConfig, String>, String) {
    let scratch = Scratch::new(name);
    let keys = format!(
        "sslQuorum=true\nssl.quorum.keyStore.location={0}/k.pem\nssl.quorum.trustStore.location={0}/t.pem\n",
        scratch.0.display()
    );
    let sources = Sources {
        file: Some(scratch.file(
            "zoo.cfg",
            &format!("dataDir=/d\nclientPort=1\nserver.1=10.0.0.1:1:2\nserver.2=10.0.0.2:1:2\n{keys}{lines}"),
        )),
        properties: vec!["council.ensemble.number=1".into()],
        flags: Vec::new(),
    };
    let loaded = load(&sources);
    let warnings = loaded.notices.iter().filter_map(|notice| match &notice.verdict {
        Verdict::Honoured { warnings, .. } => Some(warnings.join("\n")),
        _ => None,
    });
    let warnings = warnings.collect();
    let problems = |problems: Vec<Problem>| {
        let text =
            |problem: &Problem| format!("{} hint: {}\n", problem.what, problem.hint.as_deref().unwrap_or(""));
        problems.iter().map(text).collect::<String>()
    };
    (loaded.result.map(|config| config.council.unwrap().ensemble.unwrap()).map_err(problems), warnings)
}

#[test]
fn protection_between_members_is_given_or_refused() {
    let tls = |name, lines: &str| between_members(name, lines).0.unwrap().tls.unwrap();
    let standard = tls("quorum-standard", "");
    assert!(standard.verify_hostname && standard.verify_client_hostname);
    assert_eq!(standard.protocols, [TlsProtocol::Tls12, TlsProtocol::Tls13]);
    let newest = tls("quorum-newest", "ssl.quorum.protocol=TLSv1.3\n");
    assert_eq!(newest.protocols, [TlsProtocol::Tls13]);
    let listed = tls("quorum-listed", "ssl.quorum.enabledProtocols=TLSv1.3\nssl.quorum.ciphersuites=A,B\n");
    assert_eq!(listed.protocols, [TlsProtocol::Tls13]);
    assert_eq!(listed.cipher_suites.unwrap(), ["A", "B"]);
    for (name, line, hint) in [
        ("quorum-crl", "ssl.quorum.crl=true", "`-D council.ensemble.revocation-lists=FILE,..`"),
        ("quorum-ocsp", "ssl.quorum.ocsp=true", "`-D council.ensemble.revocation-lists=FILE,..`"),
        ("quorum-auth", "ssl.quorum.clientAuth=perhaps", "neither `none`"),
        ("quorum-old", "ssl.quorum.enabledProtocols=TLSv1", "use `TLSv1.2` or `TLSv1.3`"),
        ("quorum-new", "ssl.quorum.somethingNew=true", "no such TLS setting is known"),
        ("quorum-both", "portUnification=true", "set `sslQuorum=true` for each member, stop all"),
        ("quorum-sasl", "quorum.auth.enableSasl=true", "`diwan.ensembleSecretFile`"),
    ] {
        let problem = between_members(name, &format!("{line}\n")).0.expect_err(line);
        assert!(problem.contains(hint), "{problem}");
    }
}

#[test]
fn less_protection_between_members_is_warned_of() {
    for (name, line, verified) in [
        ("quorum-any", "ssl.quorum.hostnameVerification=false", (false, true)),
        ("quorum-any-dialler", "ssl.quorum.clientHostnameVerification=false", (true, false)),
    ] {
        let (config, warnings) = between_members(name, &format!("{line}\n"));
        let tls = config.unwrap().tls.unwrap();
        assert_eq!((tls.verify_hostname, tls.verify_client_hostname), verified);
        assert!(warnings.contains("taken for any member"), "{warnings}");
    }
    let (config, warnings) = between_members("quorum-want", "ssl.quorum.clientAuth=none\n");
    assert!(config.is_ok() && warnings.contains("always show each other"), "{warnings}");
}

#[test]
fn secret_of_the_ensemble_comes_from_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("secret-file");
    let file = scratch.file("ensemble.secret", &"s".repeat(40));
    let line = format!("diwan.ensembleSecretFile={}\n", file.display());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let problem = between_members("secret-open", &line).0.expect_err("open to others");
    assert!(problem.contains("open to other users") && problem.contains("hint: `chmod 600"), "{problem}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(between_members("secret-own", &line).0.unwrap().secret.is_some());
    let problem =
        between_members("secret-none", "diwan.ensembleSecretFile=/nowhere/s\n").0.expect_err("missing");
    assert!(problem.contains("cannot read the ensemble's secret"), "{problem}");
}

#[test]
fn root_token_comes_from_a_file_that_only_its_owner_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("root-token");
    let token = format!("diwan_{}", "0a".repeat(32));
    let file = scratch.file("root.token", &format!("{token}\n"));
    let with = |file: &Path| {
        let properties = vec![format!("objects.root-token-file={}", file.display())];
        let loaded = load(&Sources { properties, ..Sources::default() });
        loaded
            .result
            .map(|config| config.objects.unwrap().root_token)
            .map_err(|problems| format!("{problems:?}"))
    };
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o644, 0o640, 0o602] {
        mode(open);
        let problem = with(&file).expect_err("open to others");
        assert!(problem.contains("others than its owner") && problem.contains("chmod 600"), "{problem}");
    }
    mode(0o600);
    assert_eq!(with(&file), Ok(objects_service::hash_of_token(&token)));
    let wrong = scratch.file("wrong.token", "secret\n");
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(with(&wrong).expect_err("no token").contains("is no token"));
    assert!(with(Path::new("/nowhere/t")).expect_err("missing").contains("cannot read"));
}
