//! What the report says of the experiments, besides a run's records.

use std::time::Duration;

use tools_lab_report::describe::{Catalogue, Description, Servers, Text};
use tools_lab_report::record::Run;

use super::{ALL, Capacity, Scale};

/// All experiments, as the report shows them.
pub const CATALOGUE: Catalogue = Catalogue {
    subtitle: Text::of(
        "The published experiments on coordination services and logs, repeated on one machine, side by side in one run",
        "التجارب المنشورة على خدمات التنسيق والسجلات، معادة على جهاز واحد، جنبًا إلى جنب في تشغيل واحد",
    ),
    fairness: Text::of(
        "Servers and load share the processors of one machine, so absolute rates are lower than on machines of their own; what counts is the ratio. Reads are answered by the server that is asked, on every system (etcd: serializable reads). ConCoord keeps nothing on disk, and of a value an update sends it 100 bytes at most: the rest lives in its object. The heaps of JVMs are limited, as each experiment says.",
        "تتقاسم الخوادم والحمل معالجات جهاز واحد، فالمعدلات المطلقة أقل مما لو كانت على أجهزة مستقلة؛ والمعتبر هو النسبة. يجيب عن القراءة في كل نظام الخادم الذي وُجِّهت إليه (وفي etcd قراءات serializable). ولا يحفظ ConCoord شيئًا على القرص، ولا يُرسل إليه التحديث من القيمة أكثر من 100 بايت: فسائرها في كائنه الحيّ. وذاكرة آلات جافا الافتراضية محدودة كما في كل تجربة.",
    ),
    experiments: &DESCRIPTIONS,
    servers,
};

const DESCRIPTIONS: [&Description; ALL.len()] = {
    let mut all = [ALL[0].about; ALL.len()];
    let mut place = 0;
    while place < ALL.len() {
        all[place] = ALL[place].about;
        place += 1;
    }
    all
};

fn servers(run: &Run, about: &Description) -> Vec<Servers> {
    let Some(experiment) = super::named(about.id) else { return Vec::new() };
    let scale = if run.header.scale == "paper" { Scale::paper() } else { Scale::small() };
    let seconds = Duration::try_from_secs_f64(run.header.seconds).unwrap_or(scale.measured);
    let scale = scale.lasting(seconds).on(Capacity::recorded(&run.header.machine));
    let mut all: Vec<Servers> = Vec::new();
    let plan = experiment.plan(&scale);
    for block in plan.brokers {
        let (members, heap_mb) = (block.brokers, block.heap_mb);
        let servers = Servers { members, observers: 0, heap_mb, snapshot_every: None };
        if !all.contains(&servers) {
            all.push(servers);
        }
    }
    for block in plan.blocks {
        let setting = block.setting;
        // Where the network is does not matter to a reader.
        let servers = Servers {
            members: setting.members(),
            observers: setting.observers,
            heap_mb: setting.heap_mb,
            snapshot_every: setting.snapshot_every,
        };
        if !all.contains(&servers) {
            all.push(servers);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tools_lab_report::report::{self, arabic};

    use super::*;
    use crate::experiment::Split;

    #[test]
    fn whatever_stands_in_a_picture_has_an_arabic_name() {
        let is_told = |text: &str| {
            let shown = arabic(text);
            shown.is_empty()
                || shown.chars().any(|letter| ('\u{600}'..'\u{700}').contains(&letter))
                || shown.chars().all(|letter| letter.is_ascii_digit())
        };
        for experiment in ALL {
            for scale in [Scale::small(), Scale::paper()] {
                let plan = experiment.plan(&scale.lasting(Duration::from_secs(1)));
                for spec in plan.blocks.iter().flat_map(|block| &block.specs) {
                    let steps = spec.task.steps.iter().map(|step| match spec.split {
                        Split::Series => format!("{} {}", step.name(), spec.series).trim().to_owned(),
                        _ => step.name().to_owned(),
                    });
                    for text in steps.chain([spec.series.clone(), spec.at.clone()]) {
                        assert!(is_told(&text), "{}: `{text}` is `{}`", experiment.about.id, arabic(&text));
                    }
                }
                for spec in plan.brokers.iter().flat_map(|block| &block.specs) {
                    for text in [&spec.series, &spec.at] {
                        assert!(is_told(text), "{}: `{text}` is `{}`", experiment.about.id, arabic(text));
                    }
                }
            }
            let panels = experiment.about.panels.iter().map(|panel| panel.figure);
            for figure in panels.chain(experiment.about.ratios.iter().copied()) {
                assert!(is_told(figure), "{figure}");
            }
        }
    }

    #[test]
    fn every_experiment_has_a_source_in_both_languages() {
        for Description { source, .. } in DESCRIPTIONS {
            assert!(!source.en.is_empty() && source.en != source.ar);
        }
    }

    #[test]
    fn recorded_run_with_predicted_points_is_shown_without_them() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/results/2026-11-22");
        let folder = std::env::temp_dir().join(format!("lab-recorded-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["run.json", "points.jsonl"] {
            fs::copy(recorded.join(name), folder.join(name)).unwrap();
        }
        let files = report::write(&Run::read(&folder).unwrap(), &CATALOGUE).unwrap();
        let page = fs::read_to_string(&files[0]).unwrap();
        assert!(page.contains("Throughput against the share of reads"));
        let pictures: Vec<_> =
            fs::read_dir(folder.join("figures")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!pictures.is_empty());
        for path in files.iter().chain(&pictures) {
            let text = fs::read_to_string(path).unwrap();
            for word in ["predicted", "Predicted", "متوقَّع"] {
                assert!(!text.contains(word), "`{}` says `{word}`", path.display());
                assert!(!path.to_string_lossy().contains(word), "{}", path.display());
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
