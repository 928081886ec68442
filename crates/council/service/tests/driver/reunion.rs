//! Members that lost their data, or lost everybody else, come together again.

use std::fs;

use council_service::force_new_ensemble;

use crate::fixture::{Client, Directory, get, until};
use crate::trio::Ensemble;

const WRITES: i32 = 30;

fn fill(ensemble: &Ensemble) {
    let mut client = Client::connect(&ensemble.members[&1]);
    for number in 0..WRITES {
        assert_eq!(client.create(&format!("/n{number:02}"), b"a value that is found again", 0), 0);
    }
}

fn holds_all(ensemble: &Ensemble, number: u64) -> bool {
    let mut client = Client::connect(&ensemble.members[&number]);
    (0..WRITES).all(|node| client.get(&format!("/n{node:02}")).is_ok())
}

#[test]
fn a_member_whose_log_is_damaged_puts_it_aside_and_comes_back() {
    let mut ensemble = Ensemble::start(false);
    fill(&ensemble);
    // A record that another one follows is damaged and no torn end of a log.
    until("the member has everything", || holds_all(&ensemble, 3));
    let mut client = Client::connect(&ensemble.members[&3]);
    assert_eq!(client.create("/last", b"what comes behind it", 0), 0);
    drop(client);
    drop(ensemble.members.remove(&3));
    let data = ensemble.directories[&3].config().storage.data_dir;
    let segment = data.join("log/0000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let place = bytes.windows(4).position(|found| found == b"/n03").expect("it was written");
    bytes[place + 1] ^= 1;
    fs::write(&segment, bytes).unwrap();

    ensemble.start_member(3);
    ensemble.until_all_serve();
    assert!(holds_all(&ensemble, 3));
    assert!(data.join("put-aside/1/log").is_dir(), "what was damaged is kept");
}

#[test]
fn a_member_that_was_interrupted_while_it_put_its_data_aside_comes_back() {
    let mut ensemble = Ensemble::start(false);
    fill(&ensemble);
    drop(ensemble.members.remove(&3));
    let data = ensemble.directories[&3].config().storage.data_dir;
    fs::create_dir_all(data.join("put-aside/1")).unwrap();
    fs::rename(data.join("log"), data.join("put-aside/1/log")).unwrap();
    fs::write(data.join("put-aside.pending"), "put aside 1\n").unwrap();

    ensemble.start_member(3);
    ensemble.until_all_serve();
    assert!(holds_all(&ensemble, 3));
    assert!(data.join("put-aside/1/meta").exists() && !data.join("put-aside.pending").exists());
}

#[test]
fn one_survivor_begins_anew_and_lets_the_others_in() {
    let mut ensemble = Ensemble::start(false);
    fill(&ensemble);
    // All have it on their disks once they show it.
    until("the survivor has everything", || holds_all(&ensemble, 2));
    ensemble.members.clear();
    for number in [1, 3] {
        ensemble.directories.insert(number, Directory::new());
    }
    let config = ensemble.config(2);
    assert_eq!(force_new_ensemble::inspect(&config).unwrap().voters, [1, 2, 3].map(base::MemberId));
    let revived = force_new_ensemble::revive(&config).unwrap();
    assert!(revived.aside.join("meta").exists());
    let survivor = revived.survivor;
    assert!(survivor.last_index >= survivor.committed && survivor.nodes > WRITES as usize);

    ensemble.start_member(2);
    ensemble.until_all_serve();
    for number in [1, 3] {
        ensemble.start_member(number);
    }
    ensemble.until_all_serve();
    assert!((1..=3).all(|number| holds_all(&ensemble, number)));
}

#[test]
fn members_of_a_given_up_ensemble_and_of_the_new_one_tell_of_each_other() {
    let mut ensemble = Ensemble::start(false);
    fill(&ensemble);
    until("the survivor has everything", || holds_all(&ensemble, 2));
    ensemble.members.clear();
    force_new_ensemble::revive(&ensemble.config(2)).unwrap();
    (1..=3).for_each(|number| ensemble.start_member(number));
    let tells = |number: u64, of: &str| {
        let admin = ensemble.members[&number].admin_addr().unwrap();
        let body = get(admin, "/commands/ensemble").1;
        let body = body.replace(char::is_whitespace, "");
        body.contains(&format!("\"members_of_other_ensembles\":[{of}]"))
    };
    until("both sides tell", || tells(2, "1,3") && tells(1, "2") && tells(3, "2"));
    let metrics = get(ensemble.members[&1].http_addr().unwrap(), "/metrics").1;
    assert!(metrics.contains("diwan_council_members_of_other_ensembles 1"), "{metrics}");
    // What is given up is emptied, and the new one lets it in.
    for number in [1, 3] {
        ensemble.members.remove(&number);
        ensemble.directories.insert(number, Directory::new());
        ensemble.start_member(number);
    }
    ensemble.until_all_serve();
    let told = || get(ensemble.members[&2].admin_addr().unwrap(), "/commands/ensemble").1;
    until("no member is apart any more", || {
        told().replace(char::is_whitespace, "").contains("ensembles\":[]")
    });
}

#[test]
fn nothing_is_revived_from_nothing() {
    let ensemble = Ensemble::start(false);
    let mut config = ensemble.config(1);
    config.storage.data_dir = ensemble.directories[&1].config().storage.data_dir.join("elsewhere");
    assert!(force_new_ensemble::revive(&config).is_err_and(|error| error.to_string().contains("no data")));
    // What runs is not touched.
    assert!(force_new_ensemble::revive(&ensemble.config(2)).is_err());
    config.ensemble = None;
    assert!(force_new_ensemble::inspect(&config).is_err_and(|error| error.to_string().contains("alone")));
}
