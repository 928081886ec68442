//! The document: Markdown in one language, with pictures beside it.

use std::fmt::Write as _;

use super::chart::number;
use super::html::{cell, columns, fact, told};
use super::summary::{Counted, Summary, skipped_everywhere, summaries};
use super::words::{self, Word, name};
use super::{Language, STYLE, picture, verdict};
use crate::describe::{Catalogue, Servers, Text};
use crate::record::{Run, Skipped};

/// The text, and the pictures by name.
pub(super) fn document(
    run: &Run,
    catalogue: &Catalogue,
    language: Language,
) -> (String, Vec<(String, String)>) {
    let mut text = String::new();
    let mut pictures = Vec::new();
    let say = |word: Word| word.of(language);
    if language == Language::Arabic {
        text.push_str("<div dir=\"rtl\">\n\n");
    }
    put(&mut text, format_args!("# {}\n\n{}.\n\n", say(words::TITLE), of(catalogue.subtitle, language)));
    let summaries = summaries(run, catalogue);
    let everywhere = skipped_everywhere(&summaries);
    outcomes(&mut text, &summaries, &everywhere, language);
    put(&mut text, format_args!("## {}\n\n{}\n\n", say(words::RATIOS), say(words::RATIOS_ABOUT)));
    let head = [words::EXPERIMENT, words::FIGURE, words::SYSTEM].map(say);
    put(&mut text, format_args!("| {} | | |\n|---|---|---|---|---|\n", head.join(" | ")));
    for summary in &summaries {
        for ratio in summary.ratios() {
            let verdict = say(if ratio.is_better() { words::BETTER } else { words::WORSE });
            let (figure, peer) = (name(ratio.figure, language), name(ratio.peer, language));
            let [mean, least, most] = [ratio.mean, ratio.least, ratio.most].map(verdict::shortened);
            put(
                &mut text,
                format_args!(
                    "| {} | {figure} | ÷ {peer} | ×{mean} ({least} – {most}) | {verdict} |\n",
                    summary.experiment.id
                ),
            );
        }
    }
    put(&mut text, format_args!("\n{}\n", of(catalogue.fairness, language)));
    for summary in &summaries {
        let servers = (catalogue.servers)(run, summary.experiment);
        experiment(&mut text, &mut pictures, (summary, &servers, &everywhere), language);
    }
    machine(&mut text, run, language);
    if language == Language::Arabic {
        text.push_str("\n</div>\n");
    }
    (text, pictures)
}

fn outcomes(text: &mut String, summaries: &[Summary<'_>], everywhere: &[&Skipped], language: Language) {
    put(text, format_args!("## {}\n\n", words::WHAT_CAME_OUT.of(language)));
    for summary in summaries {
        if let Some(sentence) = verdict::sentence(summary) {
            let (id, source) = (summary.experiment.id, of(summary.experiment.source, language));
            let sentence = sentence.of(language);
            put(text, format_args!("- **{id}** ({source}): {sentence}\n"));
        }
    }
    for one in everywhere {
        let (term, system) = (words::SKIPPED_EVERYWHERE.of(language), name(&one.system, language));
        let reason = words::reason(&one.reason);
        put(text, format_args!("- {term}: {system}: {}\n", reason.of(language)));
    }
    text.push('\n');
}

const fn of(text: Text, language: Language) -> &'static str {
    match language {
        Language::English => text.en,
        Language::Arabic => text.ar,
    }
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(what);
}

#[expect(clippy::too_many_lines, reason = "a page, from its top to its end")]
fn experiment(
    text: &mut String,
    pictures: &mut Vec<(String, String)>,
    (summary, servers, everywhere): (&Summary<'_>, &[Servers], &[&Skipped]),
    language: Language,
) {
    let about = summary.experiment;
    let of = |text: Text| of(text, language);
    put(text, format_args!("\n## {} · {}\n\n", about.id, of(about.title)));
    for (place, panel) in about.panels.iter().enumerate() {
        if let Some(chart) = picture::chart(summary, panel) {
            let file = format!("{}-{}.{language}.svg", about.id, place + 1);
            put(text, format_args!("![{}](figures/{file})\n", chart.title.of(language)));
            pictures.push((file, chart.svg(Some((language, STYLE)))));
        }
    }
    put(text, format_args!("\n**{}.** {}\n\n", words::SETUP.of(language), of(about.setup)));
    let servers: Vec<_> = servers.iter().map(|one| told(one).of(language).to_owned()).collect();
    put(
        text,
        format_args!("**{}.** {}\n\n", words::GRID.of(language), servers.join(words::SEMICOLON.of(language))),
    );
    put(text, format_args!("**{}.** {}\n\n", words::PUBLISHED.of(language), of(about.published)));
    for Counted { place, of } in summary.calls() {
        let place: Vec<_> = place.iter().map(|word| name(word, language)).collect();
        // The isolates keep a value beside its system in text from right to left.
        let of = of
            .iter()
            .map(|(system, value)| format!("\u{2068}{} {}\u{2069}", name(system, language), number(*value)));
        let (term, place, of) =
            (words::CALLS.of(language), place.join(" · "), of.collect::<Vec<_>>().join(" · "));
        put(text, format_args!("- {term}: {place}: {of}\n"));
    }
    for one in &summary.skipped {
        if everywhere.iter().any(|known| known.system == one.system) {
            continue;
        }
        let (term, system) = (words::SKIPPED.of(language), name(&one.system, language));
        let reason = words::reason(&one.reason);
        put(text, format_args!("- {term}: {system}: {}\n", reason.of(language)));
    }
    for one in &summary.failed {
        let (term, system) = (words::FAILED.of(language), name(&one.system, language));
        let (at, reason) = (name(&one.at, language), words::reason(&one.reason));
        put(text, format_args!("- {term}: {system}: {at}: {}\n", reason.of(language)));
    }
    let columns = columns(summary);
    let heads = [words::SERIES, words::AT, words::SYSTEM].map(|word| word.of(language).to_owned());
    let heads: Vec<_> =
        heads.into_iter().chain(columns.iter().map(|column| name(column, language))).collect();
    put(text, format_args!("\n| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len())));
    for row in &summary.rows {
        let first = [row.series, row.at, row.system].map(|text| name(text, language));
        let cells = columns.iter().map(|column| cell(row.figures.get(column)));
        let cells: Vec<_> = first.into_iter().chain(cells).collect();
        put(text, format_args!("| {} |\n", cells.join(" | ")));
    }
}

fn machine(text: &mut String, run: &Run, language: Language) {
    let header = &run.header;
    put(text, format_args!("\n## {}\n\n", words::MACHINE.of(language)));
    for (name, value) in &header.machine {
        put(text, format_args!("- {}: {}\n", words::name(&name.replace('_', " "), language), fact(value)));
    }
    for (system, version) in &header.versions {
        put(text, format_args!("- {}: {version}\n", name(system, language)));
    }
    let items = [
        (words::COMMAND, format!("`{}`", header.command)),
        (words::BEGUN, header.begun.clone()),
        (words::SCALE, name(&header.scale, language)),
        (words::SECONDS, number(header.seconds)),
        (words::REPETITIONS, header.repetitions.to_string()),
        (words::SEED, header.seed.to_string()),
    ];
    for (term, value) in items {
        put(text, format_args!("- {}: {value}\n", term.of(language)));
    }
}
