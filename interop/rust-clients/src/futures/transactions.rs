//! Multi writers, check writers, multi readers.

use zookeeper_client::{
    Acls, CheckWriteError, CreateMode, Error, MultiReadResult, MultiWriteError, MultiWriteResult,
};

use super::{Context, OPEN, run};
use crate::harness::Test;

pub fn tests() -> Vec<Test> {
    crate::tests!(
        "zookeeper-client",
        "transactions",
        run,
        every_kind,
        failure_undoes_everything,
        failures_by_kind,
        failure_uses_no_sequence_number,
        empty,
        check_writer,
        hundreds,
        reads,
        reads_fail_alone,
    )
}

async fn every_kind(t: Context) {
    let path = t.node("a", "old").await;
    let mut writer = t.zk.new_multi_writer();
    writer.add_create(&t.at("b"), b"new", &OPEN).expect("added");
    writer.add_check_version(&path, 0).expect("added");
    writer.add_set_data(&path, b"newer", Some(0)).expect("added");
    writer.add_delete(&t.at("b"), None).expect("added");
    let results = writer.commit().await.expect("committed");
    assert_eq!(results.len(), 4);
    assert!(
        matches!(&results[0], MultiWriteResult::Create { path, .. } if *path == t.at("b")),
        "{:?}",
        results[0]
    );
    assert!(matches!(results[1], MultiWriteResult::Check));
    assert!(matches!(&results[2], MultiWriteResult::SetData { stat } if stat.version == 1));
    assert!(matches!(results[3], MultiWriteResult::Delete));
    assert_eq!(t.data("a").await, "newer");
}

async fn failure_undoes_everything(t: Context) {
    let path = t.node("a", "old").await;
    let mut writer = t.zk.new_multi_writer();
    writer.add_set_data(&path, b"new", None).expect("added");
    writer.add_check_version(&path, 7).expect("added");
    writer.add_delete(&path, None).expect("added");
    let error = writer.commit().await.expect_err("committed");
    assert_eq!(error, MultiWriteError::OperationFailed { index: 1, source: Error::BadVersion });
    assert_eq!(t.data("a").await, "old");
}

async fn failures_by_kind(t: Context) {
    let path = t.node("a", "").await;
    t.node("a/b", "").await;
    for (kind, expected) in
        [Error::NodeExists, Error::NoNode, Error::NotEmpty, Error::BadVersion, Error::NoNode]
            .into_iter()
            .enumerate()
    {
        let mut writer = t.zk.new_multi_writer();
        match kind {
            0 => writer.add_create(&path, b"", &OPEN),
            1 => writer.add_create(&t.at("none/a"), b"", &OPEN),
            2 => writer.add_delete(&path, None),
            3 => writer.add_set_data(&path, b"", Some(9)),
            _ => writer.add_check_version(&t.at("none"), 0),
        }
        .expect("added");
        let error = writer.commit().await.expect_err("committed");
        assert_eq!(error, MultiWriteError::OperationFailed { index: 0, source: expected });
    }
}

async fn failure_uses_no_sequence_number(t: Context) {
    let sequential = CreateMode::PersistentSequential.with_acls(Acls::anyone_all());
    for _ in 0..3 {
        let mut writer = t.zk.new_multi_writer();
        writer.add_create(&t.at("n-"), b"", &sequential).expect("added");
        writer.add_check_version(&t.at("none"), 0).expect("added");
        writer.commit().await.expect_err("committed");
    }
    let (_, sequence) = t.zk.create(&t.at("n-"), b"", &sequential).await.expect("created");
    assert_eq!(sequence.to_string(), "0000000000");
}

async fn empty(t: Context) {
    assert!(t.zk.new_multi_writer().commit().await.expect("committed").is_empty());
    assert!(t.zk.new_multi_reader().commit().await.expect("committed").is_empty());
}

async fn check_writer(t: Context) {
    let path = t.node("guard", "").await;
    let mut writer = t.zk.new_check_writer(&path, Some(0)).expect("a writer");
    writer.add_create(&t.at("a"), b"", &OPEN).expect("added");
    assert_eq!(writer.commit().await.expect("committed").len(), 1);
    let mut writer = t.zk.new_check_writer(&path, Some(9)).expect("a writer");
    writer.add_create(&t.at("b"), b"", &OPEN).expect("added");
    let error = writer.commit().await.expect_err("committed");
    assert_eq!(error, CheckWriteError::CheckFailed { source: Error::BadVersion });
    assert!(t.stat("b").await.is_none());
}

async fn hundreds(t: Context) {
    let mut writer = t.zk.new_multi_writer();
    for n in 0..500 {
        writer.add_create(&t.at(&format!("n{n}")), b"x", &OPEN).expect("added");
    }
    writer.commit().await.expect("committed");
    let (children, stat) = t.zk.get_children(&t.path).await.expect("children");
    assert_eq!(children.len(), 500);
    assert_eq!(t.stat("n0").await.expect("a stat").czxid, stat.pzxid, "one zxid");
}

async fn reads(t: Context) {
    let path = t.node("a", "data").await;
    let mut reader = t.zk.new_multi_reader();
    reader.add_get_data(&path).expect("added");
    reader.add_get_children(&t.path).expect("added");
    let results = reader.commit().await.expect("committed");
    assert!(
        matches!(&results[0], MultiReadResult::Data { data, stat } if data == b"data" && stat.version == 0)
    );
    assert!(matches!(&results[1], MultiReadResult::Children { children } if children == &["a"]));
}

async fn reads_fail_alone(t: Context) {
    let path = t.node("a", "data").await;
    let mut reader = t.zk.new_multi_reader();
    reader.add_get_data(&t.at("none")).expect("added");
    reader.add_get_data(&path).expect("added");
    reader.add_get_children(&t.at("none")).expect("added");
    let results = reader.commit().await.expect("committed");
    assert!(matches!(&results[0], MultiReadResult::Error { err } if *err == Error::NoNode));
    assert!(matches!(&results[1], MultiReadResult::Data { .. }));
    assert!(matches!(&results[2], MultiReadResult::Error { err } if *err == Error::NoNode));
}
