//! Settings together: one without an effect, one without another that it needs, or two that contradict each other.

use super::*;

fn idle(loaded: &Loaded) -> Vec<&str> {
    let notices = loaded.notices.iter();
    notices
        .filter(|notice| matches!(notice.verdict, Verdict::Honoured { idle: Some(_), .. }))
        .map(|notice| notice.key.as_str())
        .collect()
}

#[test]
fn setting_that_does_nothing_beside_the_others_is_marked() {
    let text = "dataDir=/d\nclientPort=1\nmetricsProvider.httpPort=7001\nssl.clientAuth=none\nsslQuorum=true\n\
                superUser.1=bob\nenforce.auth.schemes=ip\nadmin.enableServer=false\nadmin.serverPort=9\ntickTime=9\n";
    let loaded = load_text("idle", "zoo.cfg", text);
    let expected = [
        "metricsProvider.httpPort",
        "ssl.clientAuth",
        "sslQuorum",
        "superUser.1",
        "enforce.auth.schemes",
        "admin.serverPort",
    ];
    assert_eq!(idle(&loaded), expected);
    let prometheus = "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider";
    let text = format!(
        "dataDir=/d\nclientPort=1\nmetricsProvider.httpPort=7001\nmetricsProvider.className={prometheus}\n"
    );
    assert!(idle(&load_text("not-idle", "zoo.cfg", &text)).is_empty());
}

#[test]
fn sasl_without_users_is_warned_of() {
    let line = "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider";
    let loaded = load_text("sasl-alone", "zoo.cfg", &format!("dataDir=/d\nclientPort=1\n{line}\n"));
    let warned = loaded.notices.iter().any(|notice| {
        matches!(&notice.verdict, Verdict::Honoured { warnings, .. } if warnings.iter().any(|text| text.contains("JAAS")
            || text.contains("java.security.auth.login.config")))
    });
    assert!(loaded.result.is_ok() && warned);
    let text = "dataDir=/d\nclientPort=1\nrequireClientAuthScheme=sasl\n";
    let loaded = load_text("sasl-hint", "zoo.cfg", text);
    let Verdict::Unknown(Some(near)) = &loaded.notices[2].verdict else { panic!("{:?}", loaded.notices) };
    assert!(near.contains("`sessionRequireClientSASLAuth`"), "{near}");
}

#[test]
fn byte_order_mark_is_no_part_of_the_first_key() {
    assert_eq!(
        load_text("bom", "zoo.cfg", "\u{feff}tickTime=7\ndataDir=/d\nclientPort=1\n")
            .result
            .unwrap()
            .council
            .unwrap()
            .session
            .tick_ms,
        7
    );
    assert_eq!(own("bom-own", "\u{feff}[council.session]\ntick-ms = 7\n").session.tick_ms, 7);
}

#[test]
fn property_without_a_key_is_an_error_and_suggests() {
    for (property, near) in [("maxClientCnxn=9", "maxClientCnxns"), ("zookeeper.nosuchkey=1", "config keys")]
    {
        let problems =
            load(&Sources { properties: vec![property.into()], ..Sources::default() }).result.unwrap_err();
        assert!(problems[0].what.contains("there is no key"), "{problems:?}");
        assert!(problems[0].hint.as_ref().unwrap().contains(near), "{problems:?}");
    }
}

#[test]
fn empty_log_directory_is_refused() {
    let problem = zoo_problem("log-dir", "dataLogDir=\n");
    assert!(problem.contains("line 3: `dataLogDir` is ``: not a directory"), "{problem}");
}

/// What `setupClientPort` of ZooKeeper's `QuorumPeerConfig` makes of the same lines.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn client_address_of_the_own_line_decides() {
    let scratch = Scratch::new("client-address");
    scratch.file("myid", "1\n");
    let load = |client: &str, line: &str| {
        let text = format!(
            "dataDir={}\n{client}\nserver.1=127.0.0.1:1:2{line}\nserver.2=127.0.0.1:3:4\n",
            scratch.0.display()
        );
        let sources = Sources { file: Some(scratch.file("zoo.cfg", &text)), ..Sources::default() };
        let result =
            super::load(&sources).result.map(|config| config.council.unwrap().listen.client.unwrap());
        result.map_err(|problems| format!("{problems:?}"))
    };
    let everywhere = |port: u16| SocketAddr::new(load("clientPort=1", "").unwrap().ip(), port);
    let there = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    assert!(everywhere(5).ip().is_unspecified());
    for (client, line, expected) in [
        ("clientPort=5", ";127.0.0.1:5", there(5)),
        ("", ";127.0.0.1:5", there(5)),
        ("", ";5", everywhere(5)),
        ("clientPort=5", ";5", everywhere(5)),
        ("clientPort=5", ";0.0.0.0:5", everywhere(5)),
        ("clientPort=5", ";*:5", everywhere(5)),
        ("clientPort=5\nclientPortAddress=127.0.0.1", ";127.0.0.1:5", there(5)),
        ("clientPort=5\nclientPortAddress=127.0.0.1", ";localhost:5", there(5)),
        ("clientPort=5\nclientPortAddress=0.0.0.0", ";127.0.0.1:5", there(5)),
        ("clientPort=5\nclientPortAddress=127.0.0.1", "", there(5)),
    ] {
        assert_eq!(load(client, line), Ok(expected), "{client} {line}");
    }
    for (client, line) in [
        ("clientPort=5", ";127.0.0.1:6"),
        ("clientPort=5", ";6"),
        ("clientPort=5\nclientPortAddress=127.0.0.1", ";5"),
        ("clientPort=5\nclientPortAddress=127.0.0.2", ";127.0.0.1:5"),
    ] {
        let refusal = load(client, line).unwrap_err();
        assert!(
            refusal.contains("by the line `server.1`") && refusal.contains("the line suffices"),
            "{refusal}"
        );
    }
    assert!(load("", ";nonsense").unwrap_err().contains("what stands behind `;`"));
}

#[test]
fn listen_address_may_be_narrower_than_the_line_but_not_elsewhere() {
    let load = |listen: &str, line: &str| {
        let text = format!(
            "[council]\nlisten.client = \"{listen}\"\n[council.ensemble]\nnumber = 1\nmembers = [\"1=127.0.0.1:1{line}\", \"2=127.0.0.1:2\"]\n"
        );
        load_text("listen", "diwan.toml", &text)
            .result
            .map(|config| config.council.unwrap().listen.client.unwrap().to_string())
    };
    for (listen, line) in [
        ("127.0.0.1:5", ";5"),
        ("127.0.0.1:5", ";127.0.0.1:5"),
        ("0.0.0.0:5", ";127.0.0.1:5"),
        ("127.0.0.1:5", ""),
    ] {
        assert_eq!(load(listen, line).unwrap(), listen);
    }
    for (listen, line) in [("127.0.0.1:5", ";6"), ("127.0.0.2:5", ";127.0.0.1:5")] {
        assert!(load(listen, line).unwrap_err()[0].what.contains("by the line `server.1`"));
    }
}
