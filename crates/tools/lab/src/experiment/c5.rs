//! C5: the effect on clients when a leader is killed, and at other faults of the servers.

use tools_testbed::Setting;

use super::text::{CONCOORD_2012, SECONDS, text};
use super::{
    Block, Description, Experiment, Fate, Middle, Panel, Plan, Reference, Scale, Spec, Text, figure,
};
use crate::task::{Kind, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "C5",
        title: text("The leader fails", "تعطّل القائد"),
        source: CONCOORD_2012,
        setup: text(
            "Clients update at a steady pace and look for another server by themselves. Of five servers the leader is killed after 250 requests and the next one after 500. Further: of three, the leader stands still; it is cut off from the others while clients still reach it; all are restarted in turn; snapshots of a larger tree are taken. Each point is the longest latency within 10 ms, counted from when a request was due. A bar is the longest time in which no client got an answer; a curve is the slowest request of any client. Clients that are connected to a leader that stands still, or is cut off, wait until it goes on or they give it up: these are late peaks of a curve while the others are answered.",
            "يحدّث العملاء بوتيرة ثابتة ويبحثون بأنفسهم عن خادم آخر. من خمسة خوادم يُقتل القائد بعد 250 طلبًا ثم خلفه بعد 500. وكذلك: من ثلاثة خوادم يتجمّد القائد، ويُعزل عن سائر الخوادم مع بقاء العملاء متصلين به، ويُعاد تشغيل الجميع بالتتابع، وتؤخذ لقطات لشجرة أكبر. كل نقطة هي أطول زمن خلال 10 ملّي ثوانٍ محسوبًا من لحظة استحقاق الطلب. العمود أطول مدة لم يتلقَّ فيها أي عميل جوابًا، والمنحنى أبطأ طلب لأي عميل. أما العملاء المتصلون بقائد متجمّد أو معزول فينتظرون حتى يعود أو يتركوه، وتلك قمم المنحنى المتأخرة بينما يُجاب سائر العملاء.",
        ),
        published: text(
            "ConCoord recovers in 3 s on average, ZooKeeper in 2 s.",
            "يتعافى ConCoord خلال 3 ثوانٍ في المتوسط، وZooKeeper خلال ثانيتين.",
        ),
        references: &[Reference::of("", figure::OUTAGE, &[(0.0, 2000.0)])],
        panels: &[
            Panel::bars(
                text("Longest time without an answer", "أطول مدة بلا جواب"),
                text("what happens", "ما يحدث"),
                figure::OUTAGE,
            ),
            timeline("leader killed twice", text("Two leaders are killed", "مقتل قائدَين")),
            timeline("leader stands still", text("The leader stands still", "تجمّد القائد")),
            timeline(
                "leader cut off",
                text("The leader is cut off from the others", "عزل القائد عن سائر الخوادم"),
            ),
            timeline("rolling restart", text("All are restarted in turn", "إعادة تشغيل الجميع بالتتابع")),
            timeline("snapshots", text("Snapshots are taken", "أخذ اللقطات")),
        ],
        ratios: &[figure::OUTAGE, figure::P99, figure::MAX],
        middle: Middle::Mean,
    },
    plan,
};

const fn timeline(at: &'static str, title: Text) -> Panel {
    Panel::curves(title, SECONDS, figure::LATENCY_OVER_TIME, Some(at))
}

fn plan(scale: &Scale) -> Plan {
    let unit = scale.measured_ms(1.0);
    let spec = |at: &str, task: Task, fates: &[(u64, Fate)]| Spec {
        fates: fates.to_vec(),
        ..Spec::new("", at, task).prepared(0)
    };
    let task = |clients: usize, per_second: f64, units: u64| Task {
        clients,
        per_second,
        value_bytes: 100,
        measured_ms: unit * units,
        ..Task::of(Kind::Timeline)
    };
    // The first is killed when 250 requests were due, the next when 500 were.
    let pace = 250.0 / (unit as f64 / 1000.0);
    let killed = spec(
        "leader killed twice",
        task(10, pace, 4),
        &[(unit, Fate::KillLeader), (2 * unit, Fate::KillLeader)],
    );
    let still = spec("leader stands still", task(10, 200.0, 4), &[(unit, Fate::PauseLeader(unit))]);
    let cut_off = Block::with(
        Setting { can_be_cut: true, ..Setting::of(3) },
        vec![spec("leader cut off", task(10, 200.0, 4), &[(unit, Fate::CutLeaderOff(unit))])],
    )
    .and_objects();
    let restart = spec("rolling restart", task(10, 200.0, 5), &[(unit, Fate::RollingRestart)]);
    let tree = Task { keys: scale.pick(20_000, 200_000), value_bytes: 1024, ..task(20, 1000.0, 4) };
    let snapshots = Block::with(
        Setting { heap_mb: 1024, snapshot_every: Some(1000), ..Setting::of(3) },
        vec![spec("snapshots", tree, &[])],
    );
    let alone = |servers: usize, spec: Spec| Block::of(servers, vec![spec]);
    // Of these the death of leaders alone was published. Snapshots are those of a large tree.
    let [killed, still, restart] =
        [alone(5, killed), alone(3, still), alone(3, restart)].map(Block::and_objects);
    Plan { blocks: vec![killed.and_concoord(), still, cut_off, restart, snapshots], ..Plan::default() }
}
