//! Operations on nodes, and access control.

use std::time::Duration;

use zookeeper_client::{Acl, Acls, AuthId, AuthUser, CreateMode, Error, Permission};

use super::{Context, EPHEMERAL, OPEN, authenticated, client, client_at, run};
use crate::harness::{Test, connect, skip_without};

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "nodes",
        run,
        create_and_stat,
        create_refused,
        every_create_mode,
        ttl,
        container_is_reaped,
        ttl_node_ends,
        ephemeral_leaves_with_its_session,
        set,
        delete,
        reads_of_nothing,
        children,
        descendants,
        ephemerals,
        big_value,
        unicode_names,
        mkdir,
        chroot,
        sync,
        configuration,
        pipelined_in_order,
        thousands_at_once,
        acl_set_and_get,
        acl_digest,
        acl_each_permission,
        acl_superuser,
        acl_invalid,
        auth_users,
    )
}

async fn create_and_stat(t: Context) {
    let (stat, _) = t.zk.create(&t.at("a"), b"four", &OPEN).await.expect("created");
    assert_eq!((stat.version, stat.cversion, stat.aversion, stat.num_children), (0, 0, 0, 0));
    assert_eq!((stat.data_length, stat.ephemeral_owner), (4, 0));
    assert_eq!((stat.mzxid, stat.pzxid, stat.mtime), (stat.czxid, stat.czxid, stat.ctime));
    assert_eq!(t.zk.get_data(&t.at("a")).await, Ok((b"four".to_vec(), stat)));
}

async fn create_refused(t: Context) {
    t.node("a", "").await;
    assert_eq!(t.zk.create(&t.at("a"), b"", &OPEN).await.err(), Some(Error::NodeExists));
    assert_eq!(t.zk.create(&t.at("none/a"), b"", &OPEN).await.err(), Some(Error::NoNode));
    t.zk.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    assert_eq!(t.zk.create(&t.at("e/a"), b"", &OPEN).await.err(), Some(Error::NoChildrenForEphemerals));
}

async fn every_create_mode(t: Context) {
    for (n, mode) in
        [CreateMode::PersistentSequential, CreateMode::EphemeralSequential].into_iter().enumerate()
    {
        let options = mode.with_acls(Acls::anyone_all());
        let (stat, sequence) = t.zk.create(&t.at("n-"), b"", &options).await.expect("created");
        assert_eq!(sequence.to_string(), format!("000000000{n}"));
        assert_eq!(stat.ephemeral_owner, if n == 1 { t.zk.session_id().0 } else { 0 });
    }
    let container = CreateMode::Container.with_acls(Acls::anyone_all());
    let (stat, _) = t.zk.create(&t.at("c"), b"", &container).await.expect("created");
    assert_eq!(stat.ephemeral_owner, 0);
}

async fn ttl(t: Context) {
    let options = OPEN.with_ttl(Duration::from_secs(3600));
    let (stat, _) = t.zk.create(&t.at("t"), b"", &options).await.expect("created");
    assert_eq!(stat.ephemeral_owner, 0);
    let options =
        CreateMode::PersistentSequential.with_acls(Acls::anyone_all()).with_ttl(Duration::from_secs(3600));
    let (_, sequence) = t.zk.create(&t.at("t-"), b"", &options).await.expect("created");
    assert_eq!(sequence.to_string(), "0000000001");
}

async fn container_is_reaped(t: Context) {
    skip_without("containerCheck", "the server looks for containers once a minute");
    t.zk.create(&t.at("c"), b"", &CreateMode::Container.with_acls(Acls::anyone_all()))
        .await
        .expect("created");
    let child = t.node("c/child", "").await;
    t.zk.delete(&child, None).await.expect("deleted");
    t.gone("c").await;
}

async fn ttl_node_ends(t: Context) {
    skip_without("containerCheck", "the server looks for TTL nodes once a minute");
    t.zk.create(&t.at("t"), b"", &OPEN.with_ttl(Duration::from_millis(200))).await.expect("created");
    t.gone("t").await;
}

async fn ephemeral_leaves_with_its_session(t: Context) {
    let other = client().await;
    other.create(&t.at("e"), b"", &EPHEMERAL).await.expect("an ephemeral");
    assert_eq!(t.stat("e").await.map(|stat| stat.ephemeral_owner), Some(other.session_id().0));
    drop(other);
    t.gone("e").await;
}

async fn set(t: Context) {
    let path = t.node("a", "old").await;
    let stat = t.zk.set_data(&path, b"newer", Some(0)).await.expect("set");
    assert_eq!((stat.version, stat.data_length), (1, 5));
    assert!(stat.mzxid > stat.czxid);
    assert_eq!(t.zk.set_data(&path, b"", Some(0)).await, Err(Error::BadVersion));
    assert_eq!(t.zk.set_data(&t.at("none"), b"", None).await, Err(Error::NoNode));
    assert_eq!(t.data("a").await, "newer");
}

async fn delete(t: Context) {
    let path = t.node("a", "").await;
    let child = t.node("a/b", "").await;
    assert_eq!(t.zk.delete(&path, None).await, Err(Error::NotEmpty));
    assert_eq!(t.zk.delete(&child, Some(3)).await, Err(Error::BadVersion));
    assert_eq!(t.zk.delete(&child, Some(0)).await, Ok(()));
    assert_eq!(t.zk.delete(&path, None).await, Ok(()));
    assert_eq!(t.zk.delete(&path, None).await, Err(Error::NoNode));
}

async fn reads_of_nothing(t: Context) {
    let none = t.at("none");
    assert_eq!(t.zk.check_stat(&none).await, Ok(None));
    assert_eq!(t.zk.get_data(&none).await, Err(Error::NoNode));
    assert_eq!(t.zk.list_children(&none).await, Err(Error::NoNode));
    assert_eq!(t.zk.get_children(&none).await, Err(Error::NoNode));
    assert_eq!(t.zk.get_acl(&none).await.err(), Some(Error::NoNode));
    assert_eq!(t.zk.count_descendants_number(&none).await, Err(Error::NoNode));
}

async fn children(t: Context) {
    for name in ["c", "a", "b"] {
        t.node(name, "").await;
    }
    t.zk.delete(&t.at("b"), None).await.expect("deleted");
    let (mut children, stat) = t.zk.get_children(&t.path).await.expect("children");
    children.sort();
    assert_eq!(children, ["a", "c"]);
    assert_eq!((stat.num_children, stat.cversion, stat.version), (2, 4, 0));
    assert_eq!(t.zk.list_children(&t.path).await.expect("children").len(), 2);
}

async fn descendants(t: Context) {
    for name in ["a", "a/b", "a/b/c", "ab"] {
        t.node(name, "").await;
    }
    assert_eq!(t.zk.count_descendants_number(&t.path).await, Ok(4));
    assert_eq!(t.zk.count_descendants_number(&t.at("a")).await, Ok(2));
}

async fn ephemerals(t: Context) {
    let other = client().await;
    t.zk.create(&t.at("mine"), b"", &EPHEMERAL).await.expect("an ephemeral");
    other.create(&t.at("theirs"), b"", &EPHEMERAL).await.expect("an ephemeral");
    assert_eq!(t.zk.list_ephemerals("/").await, Ok(vec![t.at("mine")]));
    assert_eq!(other.list_ephemerals(&t.path).await, Ok(vec![t.at("theirs")]));
}

async fn big_value(t: Context) {
    let value: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
    t.zk.create(&t.at("big"), &value, &OPEN).await.expect("created");
    assert!(t.zk.get_data(&t.at("big")).await.expect("data").0 == value, "changed on its way");
}

async fn unicode_names(t: Context) {
    for name in ["käse", "中文", "документ", "a b", "%2F"] {
        t.node(name, name).await;
        assert_eq!(t.data(name).await, name);
    }
}

async fn mkdir(t: Context) {
    t.zk.mkdir(&t.at("a/b/c"), &OPEN).await.expect("created");
    t.zk.mkdir(&t.at("a/b/c"), &OPEN).await.expect("created again");
    assert!(t.stat("a/b/c").await.is_some());
}

async fn chroot(t: Context) {
    let inside = client_at(&format!("{}{}", connect(), t.path), 10_000).await;
    inside.create("/a", b"x", &OPEN).await.expect("created");
    assert_eq!(inside.list_children("/").await, Ok(vec!["a".to_owned()]));
    assert_eq!(t.data("a").await, "x");
    let Ok(deeper) = t.zk.clone().chroot(t.at("a")) else { panic!("no chroot") };
    deeper.create("/b", b"y", &OPEN).await.expect("created");
    assert_eq!(t.data("a/b").await, "y");
}

async fn sync(t: Context) {
    let (path, other) = (t.node("a", "").await, client().await);
    for n in 0..50 {
        let value = n.to_string().into_bytes();
        t.zk.set_data(&path, &value, None).await.expect("set");
        other.sync(&path).await.expect("synced");
        assert_eq!(other.get_data(&path).await.expect("data").0, value);
    }
}

async fn configuration(t: Context) {
    let (data, stat) = t.zk.get_config().await.expect("configuration");
    assert_eq!(data.len(), stat.data_length as usize);
}

async fn pipelined_in_order(t: Context) {
    let path = t.node("a", "").await;
    let pending: Vec<_> = (0..2000)
        .map(|n: i32| (t.zk.set_data(&path, &n.to_be_bytes(), None), t.zk.get_data(&path)))
        .collect();
    for (n, (write, read)) in pending.into_iter().enumerate() {
        assert_eq!(write.await.expect("set").version, n as i32 + 1);
        assert_eq!(read.await.expect("data").0, (n as i32).to_be_bytes());
    }
}

async fn thousands_at_once(t: Context) {
    let paths: Vec<String> = (0..3000).map(|n| t.at(&format!("a-rather-long-name-{n}"))).collect();
    let pending: Vec<_> = paths.iter().map(|path| t.zk.create(path, b"", &OPEN)).collect();
    for creation in pending {
        creation.await.expect("created");
    }
    assert_eq!(t.zk.list_children(&t.path).await.expect("children").len(), 3000);
}

async fn acl_set_and_get(t: Context) {
    let path = t.node("a", "").await;
    let (acl, stat) = t.zk.get_acl(&path).await.expect("acl");
    assert_eq!(acl, [Acl::new(Permission::ALL, AuthId::anyone())]);
    assert_eq!(stat.aversion, 0);
    let read = [Acl::new(Permission::READ | Permission::ADMIN, AuthId::anyone())];
    assert_eq!(t.zk.set_acl(&path, &read, Some(0)).await.expect("set").aversion, 1);
    assert_eq!(t.zk.set_acl(&path, &read, Some(0)).await, Err(Error::BadVersion));
    assert_eq!(t.zk.set_data(&path, b"", None).await, Err(Error::NoAuth));
}

async fn acl_digest(t: Context) {
    let alice = authenticated("alice:wonder").await;
    let hers = CreateMode::Persistent.with_acls(Acls::creator_all());
    alice.create(&t.at("hers"), b"x", &hers).await.expect("created");
    assert_eq!(t.zk.get_data(&t.at("hers")).await, Err(Error::NoAuth));
    let mallory = authenticated("alice:guess").await;
    assert_eq!(mallory.get_data(&t.at("hers")).await, Err(Error::NoAuth));
    t.zk.auth("digest", b"alice:wonder").await.expect("auth");
    assert_eq!(t.data("hers").await, "x");
}

async fn acl_each_permission(t: Context) {
    let superuser = authenticated("super:secret").await;
    let path = t.node("a", "").await;
    let child = t.node("a/child", "").await;
    let all =
        [Permission::READ, Permission::WRITE, Permission::CREATE, Permission::DELETE, Permission::ADMIN];
    for tested in all {
        let others =
            all.into_iter().filter(|each| *each != tested).fold(Permission::NONE, |sum, each| sum | each);
        for (granted, expected) in [(others, Err(Error::NoAuth)), (tested, Ok(()))] {
            superuser.set_acl(&path, &[Acl::new(granted, AuthId::anyone())], None).await.expect("set");
            let outcome = match tested {
                Permission::READ => t.zk.get_data(&path).await.map(|_| ()),
                Permission::WRITE => t.zk.set_data(&path, b"", None).await.map(|_| ()),
                Permission::CREATE => t.zk.create(&t.at("a/new"), b"", &OPEN).await.map(|_| ()),
                Permission::DELETE => t.zk.delete(&child, None).await,
                _ => {
                    t.zk.set_acl(&path, &[Acl::new(Permission::ALL, AuthId::anyone())], None)
                        .await
                        .map(|_| ())
                }
            };
            assert_eq!(outcome, expected, "{tested:?} with {granted:?}");
        }
    }
}

async fn acl_superuser(t: Context) {
    let elsewhere = [Acl::new(Permission::ALL, AuthId::new("ip", "10.1.2.3"))];
    let options = CreateMode::Persistent.with_acls(Acls::new(&elsewhere));
    t.zk.create(&t.at("a"), b"", &options).await.expect("created");
    assert_eq!(t.zk.get_data(&t.at("a")).await, Err(Error::NoAuth));
    assert!(authenticated("super:secret").await.get_data(&t.at("a")).await.is_ok());
    assert_eq!(authenticated("super:guess").await.get_data(&t.at("a")).await, Err(Error::NoAuth));
}

async fn acl_invalid(t: Context) {
    for (scheme, id) in [("nonsense", "x"), ("world", "bob"), ("ip", "1.2"), ("auth", ""), ("digest", "x")] {
        let acl = [Acl::new(Permission::ALL, AuthId::new(scheme, id))];
        let options = CreateMode::Persistent.with_acls(Acls::new(&acl));
        assert_eq!(t.zk.create(&t.at("a"), b"", &options).await.err(), Some(Error::InvalidAcl), "{scheme}");
    }
}

async fn auth_users(t: Context) {
    let users = t.zk.list_auth_users().await.expect("users");
    assert!(users.contains(&AuthUser::new("ip", "127.0.0.1")), "{users:?}");
    let alice = authenticated("alice:wonder").await;
    let users = alice.list_auth_users().await.expect("users");
    assert!(users.contains(&AuthUser::new("digest", "alice")), "{users:?}");
}
