//! The lock recipe in its shapes, and an election built on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use zookeeper_client::{Acls, Error, LockOptions, LockPrefix};

use super::{Context, OPEN, client, run, soon};
use crate::harness::Test;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "locks",
        run,
        excludes,
        curator_style,
        custom_style,
        creates_its_parents,
        of_a_closed_session_is_free,
        guards_writes,
    )
}

async fn excludes(t: Context) {
    let (inside, total) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..5 {
        let (zk, prefix) = (client().await, t.at("lock-"));
        let (inside, total) = (Arc::clone(&inside), Arc::clone(&total));
        tasks.push(tokio::spawn(async move {
            for _ in 0..8 {
                let lock = zk.lock(LockPrefix::new_shared(&prefix)?, b"", Acls::anyone_all()).await?;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                total.fetch_add(1, Ordering::SeqCst);
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(lock);
            }
            Ok::<_, Error>(())
        }));
    }
    for task in tasks {
        soon("the lock", task).await.expect("a task").expect("a lock");
    }
    assert_eq!(total.load(Ordering::SeqCst), 40);
}

async fn curator_style(t: Context) {
    let prefix = LockPrefix::new_curator(&t.path, "latch-").expect("a prefix");
    let lock = t.zk.lock(prefix, b"me", Acls::anyone_all()).await.expect("a lock");
    assert!(lock.lock_path().ends_with("-latch-0000000000"), "{}", lock.lock_path());
    assert_eq!(t.zk.get_data(lock.lock_path()).await.expect("data").0, b"me");
}

async fn custom_style(t: Context) {
    let prefix = LockPrefix::new_custom(t.at("mine-n-"), "n-").expect("a prefix");
    let first = t.zk.lock(prefix, b"", Acls::anyone_all()).await.expect("a lock");
    let other = client().await;
    let path = t.at("theirs-n-");
    let waiter = tokio::spawn(async move {
        let prefix = LockPrefix::new_custom(path, "n-")?;
        Ok::<_, Error>(other.lock(prefix, b"", Acls::anyone_all()).await?.lock_path().to_owned())
    });
    drop(first);
    let path = soon("the lock", waiter).await.expect("a task").expect("a lock");
    assert!(path.ends_with("0000000001"), "{path}");
}

async fn creates_its_parents(t: Context) {
    let options = LockOptions::new(Acls::anyone_all()).with_ancestor_options(OPEN).expect("options");
    let prefix = t.at("deep/er/lock-");
    let lock =
        t.zk.lock(LockPrefix::new_shared(&prefix).expect("a prefix"), b"", options).await.expect("a lock");
    assert_eq!(lock.lock_path(), t.at("deep/er/lock-0000000000"));
}

async fn of_a_closed_session_is_free(t: Context) {
    let (doomed, prefix) = (client().await, t.at("lock-"));
    let lock = doomed.lock(LockPrefix::new_shared(&prefix).expect("a prefix"), b"", Acls::anyone_all()).await;
    std::mem::forget(lock.expect("a lock"));
    let heir = t.zk.lock(LockPrefix::new_shared(&prefix).expect("a prefix"), b"", Acls::anyone_all());
    drop(doomed);
    soon("the lock", heir).await.expect("a lock");
}

async fn guards_writes(t: Context) {
    let prefix = t.at("lock-");
    let lock =
        t.zk.lock(LockPrefix::new_shared(&prefix).expect("a prefix"), b"", Acls::anyone_all())
            .await
            .expect("a lock");
    lock.create(&t.at("a"), b"x", &OPEN).await.expect("created");
    lock.set_data(&t.at("a"), b"y", None).await.expect("set");
    t.zk.delete(lock.lock_path(), None).await.expect("the lock taken away");
    assert_eq!(lock.set_data(&t.at("a"), b"z", None).await, Err(Error::RuntimeInconsistent));
    assert_eq!(t.data("a").await, "y");
}
