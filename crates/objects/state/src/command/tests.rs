use super::*;
use crate::limits::KEY_BYTES_MAX;
use crate::principal::{Authority, Principal};
use crate::ranges::Ranges;
use crate::rights::Grant;

fn caller(identity: Identity) -> Caller {
    Caller { origin: Origin { member: 1, number: 300 }, principal: "ada".into(), identity }
}

#[expect(clippy::too_many_lines, reason = "a list: one of each kind")]
fn samples() -> Vec<Command> {
    let (id, object) = (SessionId([9; 16]), ObjectName { kind: TypeId(1), name: "l".into() });
    let session = NewSession { id, secret_hash: [3; 32], generation: 1, ttl_ms: -5, name: Some("n".into()) };
    let invocation = Invocation { method: "acquire".into(), args: b"{}".to_vec() };
    let session_of = |above| Identity::Session { session: id, request: 7, acknowledged: 6, above };
    let (by_session, mut above) = (caller(session_of(Ranges::new())), Ranges::new());
    assert!(above.insert(9, 300) && above.insert(1 << 40, 1 << 40));
    let with_ranges = caller(session_of(above));
    let (by_key, anonymous) = (caller(Identity::Key("k".into())), caller(Identity::Anonymous));
    let by_token = Caller {
        principal: Principal { name: "ci".into(), authority: Authority::Token(300) },
        ..anonymous.clone()
    };
    let by_root = Caller { principal: Principal::root(), ..by_key.clone() };
    let call = Call {
        caller: by_session.clone(),
        object: object.clone(),
        incarnation: Some(4),
        create: true,
        wait_ms: None,
        opens: Some(session.clone()),
        invocation: invocation.clone(),
    };
    let batch = Batch {
        caller: by_key.clone(),
        object: object.clone(),
        incarnation: None,
        create: false,
        invocations: vec![invocation.clone(), invocation],
    };
    vec![
        Command::Call(call),
        Command::Batch(batch),
        Command::Create { caller: anonymous.clone(), object: object.clone(), args: b"{}".to_vec() },
        Command::Delete { caller: by_key, object, incarnation: Some(2) },
        Command::OpenSession { caller: anonymous.clone(), session },
        Command::CloseSession { caller: by_session, session: id },
        Command::CloseSession { caller: with_ranges, session: id },
        Command::TypePiece {
            caller: anonymous.clone(),
            hash: [7; 32],
            size: 300,
            offset: 0,
            bytes: vec![1, 2],
        },
        Command::TypePut {
            caller: anonymous.clone(),
            name: "hits".into(),
            module: [7; 32],
            source: Some(vec![3]),
            description: "{}".into(),
        },
        Command::TypeReady { kind: TypeId(64), version: VersionHash([8; 32]) },
        Command::TypeDelete { caller: anonymous.clone(), name: "hits".into(), version: VersionHash([8; 32]) },
        Command::TypeRelease {
            caller: anonymous.clone(),
            name: "hits".into(),
            version: VersionHash([8; 32]),
        },
        Command::Migrate {
            caller: anonymous.clone(),
            object: ObjectName { kind: TypeId(64), name: "l".into() },
            incarnation: None,
            to: VersionHash([8; 32]),
        },
        Command::TypeVerdict {
            kind: TypeId(64),
            version: VersionHash([8; 32]),
            verdict: Verdict { rejected: Some("rule 7".into()), described: Some(vec![1]) },
        },
        Command::Quarantine {
            caller: anonymous.clone(),
            object: ObjectName { kind: TypeId(64), name: "l".into() },
            incarnation: None,
            reason: Some("it is deadly".into()),
        },
        Command::Rollback {
            caller: anonymous.clone(),
            object: ObjectName { kind: TypeId(64), name: "l".into() },
            incarnation: Some(4),
            lose_commands: true,
        },
        Command::Import {
            caller: anonymous.clone(),
            object: ObjectName { kind: TypeId(6), name: "l".into() },
            content: Content::Calls {
                arguments: b"{}".to_vec(),
                calls: vec![Invocation { method: "set".into(), args: b"{\"value\":7}".to_vec() }],
            },
        },
        Command::Import {
            caller: anonymous.clone(),
            object: ObjectName { kind: TypeId(64), name: "l".into() },
            content: Content::State { description: b"{}".to_vec(), state: b"null".to_vec() },
        },
        Command::ExpireSession { session: id, generation: 3 },
        Command::Access { caller: by_token.clone(), change: AccessChange::Set { closed: true } },
        Command::Access {
            caller: by_root,
            change: AccessChange::CreateToken {
                name: "ci".into(),
                hash: [7; 32],
                lives_ms: Some(9),
                grants: vec!["lock/b*:*,acquire".parse().unwrap(), Grant::default()],
            },
        },
        Command::Access { caller: by_token.clone(), change: AccessChange::RevokeToken { number: 300 } },
        Command::Access {
            caller: by_token.clone(),
            change: AccessChange::Role {
                role: "deployers".into(),
                grants: vec!["lock/b*:*".parse().unwrap()],
            },
        },
        Command::Access {
            caller: by_token.clone(),
            change: AccessChange::Roles {
                principal: "ci".into(),
                roles: crate::RoleNames(vec!["deployers".into()]),
            },
        },
        Command::Access {
            caller: by_token.clone(),
            change: AccessChange::Quota {
                of: crate::QuotaOf::Namespace("team".into()),
                limits: crate::QuotaLimits { objects: Some(300), ..Default::default() },
            },
        },
        Command::Access {
            caller: by_token.clone(),
            change: AccessChange::RevokePrincipal { principal: "ci".into() },
        },
        Command::Access {
            caller: anonymous.clone(),
            change: AccessChange::Deny { principal: "ci".into(), grants: Vec::new() },
        },
        Command::CancelTicket { caller: Some(by_token), ticket: 3 },
        Command::CancelTicket { caller: Some(anonymous), ticket: 1 << 40 },
        Command::CancelTicket { caller: None, ticket: 0 },
        Command::Tick,
        Command::FeatureLevel(2),
        Command::Finish { space: 300, begun: Begun { position: 1 << 40, number: 2 } },
        Command::Disagreed {
            object: ObjectName { kind: TypeId(64), name: "l".into() },
            incarnation: 300,
            position: 1 << 40,
        },
    ]
}

#[test]
fn check_holds_exactly_for_what_can_be_decoded() {
    let agrees = |bytes: &[u8]| {
        assert_eq!(Command::check(bytes).is_ok(), Command::decode(bytes).is_ok(), "{bytes:?}");
    };
    for command in samples() {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(Command::decode(&bytes), Ok(command.clone()));
        let by_leader = matches!(
            command,
            Command::ExpireSession { .. }
                | Command::Tick
                | Command::FeatureLevel(_)
                | Command::TypeReady { .. }
                | Command::TypeVerdict { .. }
                | Command::Finish { .. }
                | Command::Disagreed { .. }
        );
        let given_by = if by_leader { GivenBy::Leader } else { GivenBy::Member };
        assert_eq!(Command::check(&bytes), Ok(given_by));
        (0..bytes.len()).for_each(|cut| agrees(&bytes[..cut]));
        for place in 0..bytes.len() {
            for value in [0, 1, 2, 3, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[place] = value;
                agrees(&changed);
            }
        }
    }
}

#[test]
fn command_of_a_build_that_knew_no_ranges_is_read() {
    let id = SessionId([9; 16]);
    let identity = Identity::Session { session: id, request: 7, acknowledged: 6, above: Ranges::new() };
    let command = Command::CloseSession { caller: caller(identity), session: id };
    let written = [&[1, 5, 1, 0xac, 2, 3][..], b"ada", &[1], &[9; 16], &[7, 6], &[9; 16]].concat();
    let mut bytes = Vec::new();
    command.encode(&mut bytes);
    assert_eq!((Command::decode(&written), bytes), (Ok(command), written.clone()));
    // The form with ranges has some.
    let mut none = written;
    none[9] = 3;
    none.splice(28..28, [0]);
    assert!(Command::decode(&none).is_err());
}

#[test]
fn texts_and_batches_that_are_too_long_are_not_readable() {
    let long = Identity::Key("k".repeat(KEY_BYTES_MAX + 1));
    let object = ObjectName { kind: TypeId(1), name: "l".into() };
    let invocations = vec![Invocation { method: "m".into(), args: Vec::new() }; BATCH_MAX + 1];
    let caller = caller(Identity::Anonymous);
    for command in [
        Command::CancelTicket { caller: Some(Caller { identity: long, ..caller.clone() }), ticket: 1 },
        Command::CancelTicket {
            caller: Some(Caller { principal: "p".repeat(256).into(), ..caller.clone() }),
            ticket: 1,
        },
        Command::Batch(Batch { caller, object, incarnation: None, create: true, invocations }),
    ] {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert!(Command::check(&bytes).is_err() && Command::decode(&bytes).is_err());
    }
}
