//! A live server with certificates and a user of SASL.

use std::path::Path;

use super::{Folder, Server, diwan, serve};

/// A server with plain and encrypted clients, which may authenticate by SASL; and its files.
pub(crate) struct Secured {
    pub(crate) server: Server,
    folder: Folder,
}

impl Secured {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server that serves encrypted clients alone, and these only once they have authenticated by SASL. They need no
    /// certificate, and may be many.
    pub(crate) fn start_strict() -> Self {
        Self::start_with(&[
            "council.listen.client=off",
            "sessionRequireClientSASLAuth=true",
            "ssl.clientAuth=none",
            "maxClientCnxns=0",
        ])
    }

    fn start_with(properties: &[&str]) -> Self {
        let folder = Folder::new();
        certificates(&folder.path().join("certs"));
        let jaas = folder.path().join("jaas.conf");
        let module = "org.apache.zookeeper.server.auth.DigestLoginModule required";
        std::fs::write(
            &jaas,
            format!(
                "Server {{ {module} user_bob=\"bobsecret\"; }};\n\
                 Client {{ {module} username=\"bob\" password=\"bobsecret\"; }};\n"
            ),
        )
        .unwrap();
        let mut command = serve(&folder.path().join("data"));
        command.args(["-D", "council.listen.secure=127.0.0.1:0"]);
        for (key, file) in [
            ("ssl.keyStore.location", "certs/member-1.pem"),
            ("ssl.trustStore.location", "certs/ca.pem"),
            ("java.security.auth.login.config", "jaas.conf"),
        ] {
            command.args(["-D", &format!("{key}={}", folder.path().join(file).display())]);
        }
        for property in properties {
            command.args(["-D", property]);
        }
        Self { server: Server::started_by(command), folder }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.folder.path().join(name), text).unwrap();
        self.file(name)
    }
}

pub(crate) fn certificates(at: &Path) {
    let made = diwan()
        .args(["certificates", "--member", "1=localhost,127.0.0.1", "--dir"])
        .arg(at)
        .status()
        .unwrap();
    assert!(made.success());
}
