use super::*;

fn fired(table: &mut WatchTable, path: &str, kinds: Modes) -> Vec<u32> {
    let mut told = Vec::new();
    table.fire(path, kinds, &mut told);
    table.fire_ancestors(path, &mut told);
    told
}

#[test]
fn one_shot_watches_are_used_up_and_persistent_ones_are_not() {
    let mut table = WatchTable::new(1);
    table.add(3, "/a", Modes::DATA);
    table.add(3, "/a", Modes::DATA);
    table.add(4, "/a", Modes::PERSISTENT);
    assert_eq!(fired(&mut table, "/a", Modes::DATA_TABLE), [3, 4]);
    assert_eq!(fired(&mut table, "/a", Modes::DATA_TABLE), [4]);
    assert_eq!(table.paths_watched_by(3), 0);
}

#[test]
fn a_recursive_watch_covers_descendants_on_component_boundaries_only() {
    let mut table = WatchTable::new(1);
    table.add(1, "/a", Modes::RECURSIVE);
    table.add(2, "/", Modes::RECURSIVE);
    assert_eq!(fired(&mut table, "/a/b/c", Modes::DATA_TABLE), [1, 2]);
    assert_eq!(fired(&mut table, "/ab", Modes::DATA_TABLE), [2]);
    assert_eq!(fired(&mut table, "/", Modes::DATA_TABLE), [2]);
    assert!(fired(&mut table, "/a", Modes::CHILD).contains(&2));
}

#[test]
fn a_recursive_watch_covers_a_path_of_thousands_of_levels() {
    let mut table = WatchTable::new(1);
    table.add(1, "/a", Modes::RECURSIVE);
    table.add(2, &"/a".repeat(15_000), Modes::RECURSIVE);
    assert_eq!(fired(&mut table, &"/a".repeat(30_000), Modes::DATA_TABLE), [1, 2]);
    assert_eq!(fired(&mut table, &"/a".repeat(14_999), Modes::DATA_TABLE), [1]);
}

#[test]
fn kinds_coexist_and_are_removed_one_by_one() {
    let mut table = WatchTable::new(1);
    for modes in [Modes::DATA, Modes::CHILD, Modes::PERSISTENT, Modes::RECURSIVE] {
        table.add(0, "/a", modes);
    }
    assert_eq!(table.counts(), WatchCounts { data: 1, child: 1, recursive: 1 });
    assert!(table.remove(0, "/a", Modes::PERSISTENT));
    assert!(!table.remove(0, "/a", Modes::PERSISTENT));
    assert!(table.contains(0, "/a", Modes::CHILD));
    assert!(table.remove(0, "/a", Modes::ANY));
    assert!(table.is_empty());
    assert_eq!((table.path_count(), table.path_bytes), (0, 0));
}

/// Compares the table with one that is searched linearly, under random operations of connections.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn it_says_what_a_plain_list_would() {
    let mut state = 1_u64;
    let mut dice = |sides: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let (mut table, mut plain) = (WatchTable::new(5), Vec::<(u32, String, Modes)>::new());
    for _ in 0..20_000 {
        let (slot, path) = (dice(5) as u32, format!("/{}", dice(30)));
        let modes = Modes::from_bits(1 << dice(4));
        let there = plain.iter().position(|watch| (watch.0, &watch.1) == (slot, &path));
        match dice(20) {
            0..10 => {
                table.add(slot, &path, modes);
                match there {
                    Some(at) => plain[at].2 = plain[at].2.with(modes),
                    None => plain.push((slot, path.clone(), modes)),
                }
            }
            10..14 => {
                let had = there.is_some_and(|at| plain[at].2.intersects(modes));
                assert_eq!(table.remove(slot, &path, modes), had);
                there.into_iter().for_each(|at| plain[at].2 = plain[at].2.without(modes));
            }
            14..19 => {
                let mut told = Vec::new();
                table.fire(&path, Modes::DATA_TABLE, &mut told);
                let mut expected = Vec::new();
                for watch in plain.iter_mut().filter(|watch| watch.1 == path) {
                    if watch.2.intersects(Modes::DATA_TABLE) {
                        expected.push(watch.0);
                        watch.2 = watch.2.without(Modes::DATA);
                    }
                }
                expected.sort_unstable();
                assert_eq!(told, expected);
            }
            _ => {
                table.remove_connection(slot);
                plain.retain(|watch| watch.0 != slot);
            }
        }
        plain.retain(|watch| !watch.2.is_empty());
        let of_slot = plain.iter().filter(|watch| watch.0 == slot);
        assert_eq!(table.paths_watched_by(slot), of_slot.clone().count());
        assert!(of_slot.clone().all(|watch| table.contains(slot, &watch.1, watch.2)));
        let in_table = |modes| plain.iter().filter(|watch| watch.2.intersects(modes)).count();
        let (data, child) = (in_table(Modes::DATA_TABLE), in_table(Modes::CHILD_TABLE));
        assert_eq!(table.counts(), WatchCounts { data, child, recursive: in_table(Modes::RECURSIVE) });
    }
}

#[test]
fn what_a_gone_connection_left_behind_is_nobodys_and_goes_piece_by_piece() {
    let mut table = WatchTable::new(9);
    let many = 3 * REMOVED_AT_ONCE;
    for number in 0..many {
        table.add(7, &format!("/{number}"), Modes::DATA);
    }
    table.remove_connection(7);
    // The slot is given to another connection while its old watches are still there.
    assert_eq!((table.paths_watched_by(7), table.data_watchers().count()), (0, 0));
    table.add(7, "/1", Modes::CHILD);
    assert_eq!(fired(&mut table, "/1", Modes::DATA), []);
    assert_eq!(fired(&mut table, "/2", Modes::DATA), []);
    assert_eq!(table.paths_watched_by(7), 1);
    let mut pieces = 1;
    while table.sweep(1000) {
        pieces += 1;
    }
    assert!(pieces > 10, "{pieces}");
    assert_eq!((table.counts().data, table.path_count()), (0, 1));
    assert_eq!(fired(&mut table, "/1", Modes::CHILD), [7]);
    assert_eq!((table.path_count(), table.path_bytes), (0, 0));
}

#[test]
fn a_connection_that_goes_leaves_nothing() {
    let mut table = WatchTable::new(9);
    for path in ["/a", "/b", "/c"] {
        table.add(7, path, Modes::DATA);
        table.add(8, path, Modes::CHILD);
    }
    table.remove_connection(7);
    table.remove_connection(8);
    assert!(table.is_empty());
    assert_eq!(table.path_count(), 0);
    assert_eq!(table.free.len(), 3);
}
