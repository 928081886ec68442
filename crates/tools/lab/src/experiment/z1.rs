//! Z1: throughput against the share of reads.

use super::text::{SERVERS_CPU, THROUGHPUT, ZOOKEEPER_2010, text};
use super::{
    Block, Description, Experiment, Middle, Panel, Plan, Reference, Scale, Spec, Text, figure, servers,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    about: &Description {
        id: "Z1",
        title: text("Throughput against the share of reads", "الإنتاجية مقابل نسبة القراءات"),
        source: ZOOKEEPER_2010,
        setup: text(
            "Ensembles of 3 to 13 servers; reads and writes of 1 KiB in shares of 0 to 100 %; clients keep requests outstanding.",
            "مجموعات من 3 إلى 13 خادمًا، وقراءات وكتابات بحجم 1 كيبيبايت بنسب من 0 إلى 100٪، ويُبقي العملاء طلبات معلّقة باستمرار.",
        ),
        published: text(
            "13 servers: about 100,000 operations a second at 100 % reads and above 40,000 through 50 % writes; more servers make writes slower.",
            "مع 13 خادمًا: نحو 100,000 عملية في الثانية عند 100٪ قراءة، وأكثر من 40,000 حتى 50٪ كتابة؛ وزيادة الخوادم تُبطئ الكتابة.",
        ),
        references: &[Reference::of("13 servers", figure::RATE, &[(50.0, 40_000.0), (100.0, 100_000.0)])],
        panels: &[
            Panel::lines(THROUGHPUT, READS, figure::RATE),
            Panel::lines(SERVERS_CPU, READS, figure::CPU),
        ],
        ratios: &[figure::RATE, figure::CPU, figure::P99, figure::WRITTEN],
        middle: Middle::Mean,
    },
    plan,
};

const READS: Text = text("reads (%)", "القراءات (٪)");

fn plan(scale: &Scale) -> Plan {
    let shares: &[u32] = scale.pick(&[0, 50, 80, 100], &[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    let counts: &[usize] = scale.pick(&[3, 5], &[3, 5, 7, 9, 13]);
    let block = |count: &usize| {
        let spec = |reads: &u32| {
            let (clients, outstanding) = scale.pick((20, 50), (250, 100));
            let task = scale.mixed(clients, outstanding, 1000 - reads * 10);
            Spec::new(servers(*count), reads, task)
        };
        Block::of(*count, shares.iter().map(spec).collect()).prepared()
    };
    Plan { blocks: counts.iter().map(block).collect(), ..Plan::default() }
}
