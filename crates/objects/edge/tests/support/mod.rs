//! A server of live objects without replication: a thread applies commands to a state as they come. And curl.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

pub mod asker;
mod core;

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use net_http_server::{HttpConfig, HttpLimits, HttpServer, PreparedServer};
use net_reactor::{LimitNames, TlsHints};
use node_threads::{Clock, Descriptors, Supervisor};
use objects_edge::EdgeHandler;
use objects_http::EdgeConfig;
use serde_json::Value;

pub use self::core::FakeCore;

/// A running server.
pub struct Site {
    pub server: HttpServer,
    pub core: FakeCore,
}

pub fn config() -> HttpConfig {
    HttpConfig {
        address: SocketAddr::from(([127, 0, 0, 1], 0)),
        threads: 1,
        limits: HttpLimits::default(),
        connections_max: 0,
        per_address_max: 0,
        names: LimitNames { connections_max: "test.connections-max", per_ip_max: "test.per-address-max" },
        descriptors: Descriptors::of_process(0),
        tls: None,
        hints: TlsHints {
            plain_at_tls: "test.listen",
            tls_at_plain: "test.tls",
            client_auth: "test.client-auth",
            trust_store: "test.trust",
        },
        thread_names: ("test-http", "test-listener"),
    }
}

pub fn serve(config: HttpConfig) -> Site {
    let (clock, supervisor) = (Clock::start(), Arc::new(Supervisor::default()));
    let prepared = PreparedServer::new(config).expect("a port");
    let core = FakeCore::start(prepared.mail().to_vec(), clock);
    let link = core.link();
    let handler = |edge| EdgeHandler::new(EdgeConfig::new(1, edge), link.clone());
    let server = prepared.start(clock, &supervisor, handler).expect("threads");
    Site { server, core }
}

/// What curl was answered.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn slug(&self) -> String {
        let json = self.json();
        let slug = json["type"].as_str().and_then(|slug| slug.strip_prefix("urn:diwan:problem:"));
        slug.unwrap_or_else(|| panic!("no problem: {self:?}")).into()
    }
}

pub fn is_there_curl() -> bool {
    let is_there = Command::new("curl").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: there is no curl");
    }
    is_there
}

impl Site {
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/v1/{path}", self.server.address())
    }

    /// Runs curl with these arguments; what begins with `/` is a path below `/v1`.
    pub fn curl(&self, arguments: &[&str]) -> Got {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-i", "--max-time", "20"]);
        for argument in arguments {
            match argument.strip_prefix('/') {
                Some(path) => curl.arg(self.url(path)),
                None => curl.arg(argument),
            };
        }
        let output = curl.output().expect("curl runs");
        let text = String::from_utf8(output.stdout).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let head = head.replace('\r', "").to_lowercase();
        let status = head[9..12].parse().expect("a status");
        Got { status, head, body: body.into() }
    }

    pub fn post(&self, path: &str, body: &str) -> Got {
        self.curl(&["-XPOST", path, "-d", body])
    }
}
