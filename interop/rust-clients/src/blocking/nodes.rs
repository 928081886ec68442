//! Operations on nodes, and access control.

use zookeeper::{Acl, CreateMode, Permission, ZkError, ZooKeeperExt};

use super::{Context, client, open, run};
use crate::harness::{Test, connect};

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper",
        "nodes",
        run,
        create_and_stat,
        create_refused,
        every_create_mode,
        ephemeral_leaves_with_its_session,
        set,
        delete,
        reads_of_nothing,
        children,
        big_value,
        unicode_names,
        chroot,
        recursive_helpers,
        acl_set_and_get,
        acl_digest,
        acl_superuser,
        acl_invalid,
        threads_share_a_client,
    )
}

fn create_and_stat(t: &Context) {
    let path = t.node("a", "four");
    let (data, stat) = t.zk.get_data(&path, false).expect("data");
    assert_eq!(data, b"four");
    assert_eq!((stat.version, stat.cversion, stat.aversion, stat.num_children), (0, 0, 0, 0));
    assert_eq!((stat.data_length, stat.ephemeral_owner), (4, 0));
    assert_eq!((stat.mzxid, stat.pzxid), (stat.czxid, stat.czxid));
    let exists = t.zk.exists(&path, false).expect("exists").expect("a stat");
    assert_eq!((exists.czxid, exists.mtime), (stat.czxid, stat.mtime));
}

fn create_refused(t: &Context) {
    t.node("a", "");
    assert_eq!(t.create("a", "", CreateMode::Persistent), Err(ZkError::NodeExists));
    assert_eq!(t.create("none/a", "", CreateMode::Persistent), Err(ZkError::NoNode));
    t.create("e", "", CreateMode::Ephemeral).expect("an ephemeral");
    assert_eq!(t.create("e/a", "", CreateMode::Persistent), Err(ZkError::NoChildrenForEphemerals));
}

fn every_create_mode(t: &Context) {
    for (number, mode) in
        [CreateMode::PersistentSequential, CreateMode::EphemeralSequential].into_iter().enumerate()
    {
        assert_eq!(t.create("n-", "", mode), Ok(t.at(&format!("n-000000000{number}"))));
    }
    for (name, mode) in
        [("p", CreateMode::Persistent), ("e", CreateMode::Ephemeral), ("c", CreateMode::Container)]
    {
        assert_eq!(t.create(name, "", mode), Ok(t.at(name)));
        let stat = t.zk.exists(&t.at(name), false).expect("exists").expect("a stat");
        assert_eq!(stat.ephemeral_owner != 0, name == "e", "{name}");
    }
}

fn ephemeral_leaves_with_its_session(t: &Context) {
    let other = client(&connect(), 10_000);
    let path = other.create(&t.at("e"), vec![], open(), CreateMode::Ephemeral).expect("an ephemeral");
    assert!(!t.gone(&path));
    other.close().expect("closed");
    assert!(t.gone(&path));
}

fn set(t: &Context) {
    let path = t.node("a", "old");
    let stat = t.zk.set_data(&path, b"newer".to_vec(), Some(0)).expect("set");
    assert_eq!((stat.version, stat.data_length), (1, 5));
    assert!(stat.mzxid > stat.czxid);
    assert_eq!(t.zk.set_data(&path, vec![], Some(0)).err(), Some(ZkError::BadVersion));
    assert_eq!(t.zk.set_data(&t.at("none"), vec![], None).err(), Some(ZkError::NoNode));
    assert_eq!(t.data(&path), "newer");
}

fn delete(t: &Context) {
    let path = t.node("a", "");
    let child = t.node("a/b", "");
    assert_eq!(t.zk.delete(&path, None), Err(ZkError::NotEmpty));
    assert_eq!(t.zk.delete(&child, Some(3)), Err(ZkError::BadVersion));
    assert_eq!(t.zk.delete(&child, Some(0)), Ok(()));
    assert_eq!(t.zk.delete(&path, None), Ok(()));
    assert_eq!(t.zk.delete(&path, None), Err(ZkError::NoNode));
    assert_eq!(t.zk.delete("/zookeeper", None), Err(ZkError::BadArguments));
}

fn reads_of_nothing(t: &Context) {
    let none = t.at("none");
    assert!(matches!(t.zk.exists(&none, false), Ok(None)));
    assert_eq!(t.zk.get_data(&none, false).err(), Some(ZkError::NoNode));
    assert_eq!(t.zk.get_children(&none, false), Err(ZkError::NoNode));
    assert_eq!(t.zk.get_acl(&none).err(), Some(ZkError::NoNode));
}

fn children(t: &Context) {
    for name in ["c", "a", "b"] {
        t.node(name, "");
    }
    let mut children = t.zk.get_children(&t.path, false).expect("children");
    children.sort();
    assert_eq!(children, ["a", "b", "c"]);
    let stat = t.zk.exists(&t.path, false).expect("exists").expect("a stat");
    assert_eq!((stat.num_children, stat.cversion), (3, 3));
}

fn big_value(t: &Context) {
    let value: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
    t.zk.create(&t.at("big"), value.clone(), open(), CreateMode::Persistent).expect("created");
    assert!(t.zk.get_data(&t.at("big"), false).expect("data").0 == value, "changed on its way");
}

fn unicode_names(t: &Context) {
    for name in ["käse", "中文", "a b"] {
        let path = t.node(name, name);
        assert_eq!(t.data(&path), name);
    }
    assert_eq!(t.zk.get_children(&t.path, false).expect("children").len(), 3);
}

fn chroot(t: &Context) {
    let inside = client(&format!("{}{}", connect(), t.path), 10_000);
    assert_eq!(inside.create("/a", vec![], open(), CreateMode::Persistent), Ok("/a".to_owned()));
    assert_eq!(inside.get_children("/", false), Ok(vec!["a".to_owned()]));
    assert!(!t.gone(&t.at("a")));
}

fn recursive_helpers(t: &Context) {
    t.zk.ensure_path(&t.at("a/b/c")).expect("created");
    assert_eq!(t.zk.get_children_recursive(&t.at("a")), Ok(vec![t.at("a"), t.at("a/b"), t.at("a/b/c")]));
    t.zk.delete_recursive(&t.at("a")).expect("deleted");
    assert!(t.gone(&t.at("a")));
}

fn acl_set_and_get(t: &Context) {
    let path = t.node("a", "");
    let (acl, stat) = t.zk.get_acl(&path).expect("acl");
    assert_eq!((acl, stat.aversion), (open(), 0));
    let stat = t.zk.set_acl(&path, Acl::read_unsafe().clone(), Some(0)).expect("set");
    assert_eq!(stat.aversion, 1);
    assert_eq!(t.zk.set_data(&path, vec![], None).err(), Some(ZkError::NoAuth));
    assert_eq!(t.zk.set_acl(&path, open(), None).err(), Some(ZkError::NoAuth));
}

fn acl_digest(t: &Context) {
    let alice = client(&connect(), 10_000);
    alice.add_auth("digest", b"alice:wonder".to_vec()).expect("auth");
    let path = alice
        .create(&t.at("hers"), b"x".to_vec(), Acl::creator_all().clone(), CreateMode::Persistent)
        .expect("created");
    assert_eq!(t.zk.get_data(&path, false).err(), Some(ZkError::NoAuth));
    t.zk.add_auth("digest", b"alice:wonder".to_vec()).expect("auth");
    assert_eq!(t.data(&path), "x");
}

fn acl_superuser(t: &Context) {
    let acl = vec![Acl::new(Permission::ALL, "ip", "10.1.2.3")];
    let path = t.zk.create(&t.at("a"), vec![], acl, CreateMode::Persistent).expect("created");
    assert_eq!(t.zk.get_data(&path, false).err(), Some(ZkError::NoAuth));
    t.zk.add_auth("digest", b"super:secret".to_vec()).expect("auth");
    assert!(t.zk.get_data(&path, false).is_ok());
}

fn acl_invalid(t: &Context) {
    for (scheme, id) in [("nonsense", "x"), ("world", "bob"), ("ip", "1.2"), ("auth", "")] {
        let acl = vec![Acl::new(Permission::ALL, scheme, id)];
        assert_eq!(
            t.zk.create(&t.at("a"), vec![], acl, CreateMode::Persistent),
            Err(ZkError::InvalidACL),
            "{scheme}"
        );
    }
    assert_eq!(t.zk.create(&t.at("a"), vec![], vec![], CreateMode::Persistent), Err(ZkError::InvalidACL));
}

fn threads_share_a_client(t: &Context) {
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for n in 0..100 {
                    t.node(&format!("{thread}-{n}"), "");
                }
            });
        }
    });
    assert_eq!(t.zk.get_children(&t.path, false).expect("children").len(), 800);
}
