//! Who a client is: identities that a connection has from the start (`ip`, `x509`) and those that it shows later
//! (`digest`, `sasl`, ...), and what happens to a client that shows none where one is required.
//!
//! An identity counts for requests sent after it. The answer waits its turn like any other: in ZooKeeper it may
//! overtake, which no client can rely on.

use std::net::IpAddr;

use council_tree::Policy;
use council_wire::{ErrorCode, OpCode, Request, Writer, Zxid};
use net_auth::sasl::ServerStep;
use net_auth::sasl::digest_md5::ServerExchange;

use crate::auth::{digest_id, host_address, same_digest};
use crate::config::FrontConfig;
use crate::connection::Connection;
use crate::event::{CloseReason, FrontEvent};
use crate::replies::Reply;
use crate::shard_state::ShardState;

/// Characters of a scheme that the driver is told.
const SCHEME_TOLD_MAX: usize = 32;

impl Connection {
    /// The identities that come with the socket.
    pub(crate) fn identify(&mut self, config: &FrontConfig) {
        self.identities.add("ip", &host_address(self.peer.ip));
        self.certify(config);
        self.admit(config);
    }

    /// The identity of its certificate; whether there is one.
    fn certify(&mut self, config: &FrontConfig) -> bool {
        let Some(subject) = &self.peer.certificate_subject else { return false };
        if !config.policy.contains(Policy::X509_KNOWN) {
            return false;
        }
        if config.auth.x509_super_user.as_deref() == Some(subject) {
            self.identities.add("super", subject);
        }
        self.identities.add("x509", subject);
        true
    }

    fn admit(&mut self, config: &FrontConfig) {
        let enforced = &config.auth.enforced_schemes;
        self.admitted =
            self.identities.iter().any(|identity| enforced.iter().any(|scheme| scheme == identity.scheme));
    }

    /// The users that its identities name, as the audit log writes them.
    pub(crate) fn users(&self) -> String {
        let users = self.identities.iter().map(|identity| user_of(identity.scheme, identity.id));
        users.filter(|user| !user.trim().is_empty()).collect::<Vec<_>>().join(",")
    }

    fn identity_bytes(&self) -> usize {
        self.identities.iter().map(|identity| identity.scheme.len() + identity.id.len() + 8).sum()
    }
}

/// The user that an identity names: of a digest the part before the colon, of what has no provider nothing.
fn user_of<'i>(scheme: &str, id: &'i str) -> &'i str {
    match scheme {
        "digest" => id.split(':').next().unwrap_or_default(),
        "super" => "",
        _ => id,
    }
}

impl ShardState {
    /// An auth packet: adds identities, or ends the connection.
    pub(crate) fn authenticate(&mut self, connection: &mut Connection, xid: i32, body: &[u8]) {
        let Ok(Request::Auth { scheme, auth }) = Request::decode(OpCode::Auth, body) else {
            return self.close(connection, CloseReason::Malformed, false);
        };
        let scheme = scheme.unwrap_or_default();
        let accepted = self.accepts(connection, scheme, auth);
        connection.admit(&self.config);
        let reply = Reply::of_error(xid, Some(OpCode::Auth), 0);
        if accepted && self.may_bear(connection) {
            return self.reply(connection, Reply { zxid: Some(Zxid::default()), ..reply });
        }
        self.stats.auth_failed += 1;
        self.tell_auth_failed(connection, Some(scheme));
        let (error, close) = (ErrorCode::AuthFailed.code(), Some(CloseReason::AuthFailed));
        self.reply(connection, Reply { zxid: Some(Zxid::default()), error, close, ..reply });
    }

    fn accepts(&mut self, connection: &mut Connection, scheme: &str, auth: Option<&[u8]>) -> bool {
        let config = &self.config.auth;
        match (scheme, auth) {
            ("digest", Some(auth)) if self.config.policy.contains(Policy::DIGEST_KNOWN) => {
                let id = digest_id(config.digest_algorithm, auth);
                if self.proves_super(connection.peer.ip, &id) {
                    connection.identities.add("super", "");
                }
                connection.identities.add("digest", &id);
                true
            }
            ("ip", _) => true,
            ("x509", _) => connection.certify(&self.config),
            ("ensemble", auth) if config.ensemble_names.is_some() => {
                let names = config.ensemble_names.as_deref().unwrap_or_default();
                let stats = &mut self.stats;
                match auth {
                    // A client that names none is let in, as by ZooKeeper. Without configured names, every client is
                    // let in.
                    None | Some([]) => stats.ensemble_unnamed += 1,
                    Some(_) if names.is_empty() => stats.ensemble_unnamed += 1,
                    Some(auth) if names.iter().any(|name| name.as_bytes() == auth) => {
                        stats.ensemble_named += 1
                    }
                    Some(_) => {
                        stats.ensemble_misnamed += 1;
                        return false;
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Whether a digest is the super user's. A wrong one is no failure in ZooKeeper: the client is a user of that name
    /// without rights. It stays so here, but an address that has shown too many is not listened to for a while.
    fn proves_super(&mut self, ip: IpAddr, id: &str) -> bool {
        let Some(own) = self.config.auth.super_digest.as_deref() else { return false };
        if user_of("digest", own) != user_of("digest", id) {
            return false;
        }
        let is_right = match self.super_attempts.take(ip, self.now.mono()) {
            Ok(()) => same_digest(own, id),
            Err(wait_ms) => {
                self.stats.super_passwords_unheard += 1;
                self.events.push(FrontEvent::SuperRefused { ip, wait_ms: Some(wait_ms) });
                return false;
            }
        };
        if is_right {
            self.super_attempts.give_back(ip);
        } else {
            self.stats.super_passwords_wrong += 1;
            self.events.push(FrontEvent::SuperRefused { ip, wait_ms: None });
        }
        is_right
    }

    /// Whether a connection has no more identities than it may have.
    fn may_bear(&self, connection: &Connection) -> bool {
        connection.identity_bytes() <= self.config.identity_bytes_max
            && connection.identities.iter().count() <= self.config.identities_max
    }

    /// One step of a SASL exchange.
    pub(crate) fn sasl(&mut self, connection: &mut Connection, xid: i32, body: &[u8]) {
        let Ok(Request::Sasl { token: Some(token) }) = Request::decode(OpCode::Sasl, body) else {
            return self.close(connection, CloseReason::Malformed, false);
        };
        let entropy = self.nonces.next();
        let Some(config) = &self.config.auth.sasl else {
            return self.sasl_reply(connection, xid, 0, None, None);
        };
        let exchange = connection.sasl.get_or_insert_with(|| Box::new(ServerExchange::new()));
        match exchange.step(&config.server, token, &entropy) {
            ServerStep::Continue(challenge) => self.sasl_reply(connection, xid, 0, Some(&challenge), None),
            ServerStep::Complete { token: proof, user } => {
                if config.super_users.contains(&user) {
                    connection.identities.add("super", "");
                }
                connection.identities.add("sasl", &user);
                connection.admit(&self.config);
                self.sasl_reply(connection, xid, 0, Some(&proof), None);
            }
            ServerStep::Failed(_) => self.sasl_failed(connection, xid),
        }
    }

    fn sasl_failed(&mut self, connection: &mut Connection, xid: i32) {
        self.stats.auth_failed += 1;
        let auth = &self.config.auth;
        let demanded = auth.enforced_schemes.iter().any(|scheme| scheme == "sasl");
        let lenient = auth.sasl.as_ref().is_some_and(|sasl| sasl.allow_failed_clients);
        if lenient && !demanded {
            return self.sasl_reply(connection, xid, 0, None, None);
        }
        self.tell_auth_failed(connection, Some("sasl"));
        let error = if demanded { ErrorCode::SessionClosedRequireSaslAuth } else { ErrorCode::AuthFailed };
        self.sasl_reply(connection, xid, error.code(), None, Some(CloseReason::AuthFailed));
    }

    /// A token goes with every answer, with an error too.
    fn sasl_reply(
        &mut self,
        connection: &mut Connection,
        xid: i32,
        error: i32,
        token: Option<&[u8]>,
        close: Option<CloseReason>,
    ) {
        let mut body = Vec::new();
        Writer::new(&mut body).buffer(token);
        let reply = Reply::of_error(xid, Some(OpCode::Sasl), error);
        self.reply(
            connection,
            Reply { zxid: Some(Zxid::default()), body: body.into_boxed_slice(), close, ..reply },
        );
    }

    /// Something was asked before authentication that is demanded first.
    pub(crate) fn demand_authentication(
        &mut self,
        connection: &mut Connection,
        xid: i32,
        opcode: Option<OpCode>,
    ) {
        self.stats.auth_missing += 1;
        self.tell_auth_failed(connection, None);
        let error = ErrorCode::SessionClosedRequireSaslAuth.code();
        let close = Some(CloseReason::AuthFailed);
        self.reply(
            connection,
            Reply { zxid: Some(Zxid::default()), close, ..Reply::of_error(xid, opcode, error) },
        );
    }

    fn tell_auth_failed(&mut self, connection: &Connection, scheme: Option<&str>) {
        let shortened =
            |scheme: &str| scheme.chars().take(SCHEME_TOLD_MAX).collect::<String>().into_boxed_str();
        self.events.push(FrontEvent::AuthFailed { conn: connection.id, scheme: scheme.map(shortened) });
    }

    pub(crate) fn who_am_i(&mut self, connection: &mut Connection, xid: i32) {
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.length(connection.identities.iter().count());
        for identity in connection.identities.iter() {
            writer.text(identity.scheme).text(user_of(identity.scheme, identity.id));
        }
        let reply = Reply::of_error(xid, Some(OpCode::WhoAmI), 0);
        self.reply(connection, Reply { body: body.into_boxed_slice(), ..reply });
    }
}
