//! Z6: watch notifications.

use super::text::{CLIENTS, ZOOKEEPER_2010, text};
use super::{Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, figure};
use crate::task::{Kind, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z6",
        title: text("Watch notifications", "إشعارات المراقبة"),
        source: ZOOKEEPER_2010,
        setup: text(
            "Each client has a znode and watches every client's; then each writes its own once, and all notifications are waited for. Published with 25 servers.",
            "لكل عميل عقدة ويراقب عقد جميع العملاء؛ ثم يكتب كلٌّ عقدته مرة واحدة ويُنتظر وصول جميع الإشعارات. نُشرت على 25 خادمًا.",
        ),
        published: text(
            "About 50,000 notifications a second with 100 clients, about 90,000 with 800.",
            "نحو 50,000 إشعار في الثانية مع 100 عميل، ونحو 90,000 مع 800 عميل.",
        ),
        references: &[Reference::of("25 servers", figure::RATE, &[(100.0, 50_000.0), (800.0, 90_000.0)])],
        panels: &[
            Panel::lines(text("Notifications", "الإشعارات"), CLIENTS, figure::RATE),
            Panel::lines(
                text("Processor time of all servers, a notification", "زمن المعالج لجميع الخوادم لكل إشعار"),
                CLIENTS,
                figure::CPU,
            ),
        ],
        ratios: &[figure::RATE, figure::CPU],
        middle: Middle::Mean,
    },
    plan,
};

fn plan(scale: &Scale) -> Plan {
    let crowds: &[usize] = scale.pick(&[50, 100, 200], &[100, 200, 400, 800]);
    // As many as the machine holds, so that peers are measured in any case; an even one would agree no faster than one less.
    let most = scale.capacity.servers().min(25);
    let count = scale.pick(3, most - (most + 1) % 2);
    let spec = |crowd: &usize| {
        let task = Task {
            clients: *crowd,
            value_bytes: 24,
            // Most of the time goes by while watches are set, which is not measured.
            measured_ms: scale.measured_ms(0.5),
            ..Task::of(Kind::Watches)
        };
        Spec::new(super::servers(count), crowd, task)
    };
    Plan { blocks: vec![Block::of(count, crowds.iter().map(spec).collect())], ..Plan::default() }
}
