//! The report's own words in both languages, and the names of figures, series and systems.
//!
//! Names are kept in English with the points; what is looked up here is only how a reader sees them.

use super::{Language, Spoken};
use crate::figure;

/// A word or sentence of the report itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(pub(super) &'static str, pub(super) &'static str);

impl Word {
    pub(super) const fn of(self, language: Language) -> &'static str {
        match language {
            Language::English => self.0,
            Language::Arabic => self.1,
        }
    }
}

pub(super) const TITLE: Word = Word("Diwan's laboratory", "مختبر ديوان");
pub(super) const RATIOS: Word = Word("Diwan against its peers", "ديوان مقابل نظرائه");
pub(super) const RATIOS_ABOUT: Word = Word(
    "Diwan's figure divided by the peer's of the same run: the geometric mean over all points that both have, and the least and the greatest ratio. A rate above 1 is better, everything else below 1.",
    "قيمة ديوان مقسومة على قيمة النظير في التشغيل نفسه: المتوسط الهندسي لجميع النقاط المشتركة، وأصغر نسبة وأكبرها. المعدل الأعلى من 1 أفضل، وما عداه الأقل من 1 أفضل.",
);
pub(super) const EXPERIMENT: Word = Word("Experiment", "التجربة");
pub(super) const FIGURE: Word = Word("Figure", "المقياس");
pub(super) const SOURCE: Word = Word("Published by", "نشرها");
pub(super) const SETUP: Word = Word("Set-up", "الإعداد");
pub(super) const GRID: Word = Word("Servers of this run", "خوادم هذا التشغيل");
pub(super) const HEAP: Word = Word("heap of each JVM", "ذاكرة كل آلة جافا افتراضية");
pub(super) const MIB: Word = Word("MiB", "ميبيبايت");
pub(super) const OF_THEM: Word = Word("of them", "منها");
/// Between the items of a list that have commas of their own.
pub(super) const SEMICOLON: Word = Word("; ", "؛ ");
pub(super) const SNAPSHOTS: Word = Word("transactions a snapshot", "معاملة لكل لقطة");
pub(super) const PUBLISHED: Word =
    Word("Published, of its time and machines", "المنشور، وهو ابن زمنه وأجهزته");
pub(super) const CHECKED: Word = Word("Checked meanwhile", "ما فُحص أثناء القياس");
pub(super) const READS: Word = Word("reads compared with what was written", "قراءة قورنت بما كُتب");
pub(super) const WRITES: Word =
    Word("acknowledged writes found again or superseded", "كتابة مؤكَّدة وُجدت لاحقًا أو حلّ محلها أحدث منها");
pub(super) const EVENTS: Word = Word("notifications that were owed and came", "إشعارًا مستحقًا وصل");
pub(super) const BARRIERS: Word =
    Word("barriers seen whole by an independent reader", "حاجزًا رآه قارئ مستقل كاملًا");
pub(super) const CALLS: Word =
    Word("System calls of all servers, an operation", "نداءات النظام لجميع الخوادم لكل عملية");
pub(super) const WHAT_CAME_OUT: Word = Word("What came out", "ما أسفرت عنه التجارب");
pub(super) const SKIPPED_EVERYWHERE: Word = Word("Left out of every experiment", "ما استُبعد من جميع التجارب");
pub(super) const SKIPPED: Word = Word("Left out", "ما استُبعد");
pub(super) const FAILED: Word = Word("Failed, and drawn nowhere", "ما أخفق ولم يُرسم");
pub(super) const ALL_FIGURES: Word = Word("All figures", "جميع القيم");
pub(super) const MEAN_SD: Word =
    Word("mean of the repetitions ± standard deviation", "متوسط التكرارات ± الانحراف المعياري");
pub(super) const MEDIAN_SD: Word =
    Word("median of the repetitions ± standard deviation", "وسيط التكرارات ± الانحراف المعياري");
pub(super) const MACHINE: Word = Word("Machine and run", "الجهاز والتشغيل");
pub(super) const VERSIONS: Word = Word("Versions", "الإصدارات");
pub(super) const COMMAND: Word = Word("Command", "الأمر");
pub(super) const BEGUN: Word = Word("Begun", "البدء");
pub(super) const SEED: Word = Word("Seed", "البذرة");
pub(super) const REPETITIONS: Word = Word("Repetitions", "التكرارات");
pub(super) const SECONDS: Word = Word("Seconds a point", "ثواني كل نقطة");
pub(super) const SCALE: Word = Word("Scale", "المقياس المختار");
pub(super) const SYSTEM: Word = Word("System", "النظام");
pub(super) const SERIES: Word = Word("Series", "السلسلة");
pub(super) const AT: Word = Word("At", "عند");
pub(super) const PUBLISHED_SHORT: Word = Word("published", "منشور");
pub(super) const NOTHING: Word = Word("Nothing was measured yet.", "لم يُقس شيء بعد.");
pub(super) const BETTER: Word = Word("better", "أفضل");
pub(super) const WORSE: Word = Word("worse", "أسوأ");
pub(super) const OTHER_LANGUAGE: Word = Word("العربية", "English");

/// What each of these is called in Arabic: figures, then what series are made of.
const ARABIC: [(&str, &str); 89] = [
    (figure::RATE, "المعدل (عملية/ث)"),
    (figure::MEAN, "المتوسط (م.ث)"),
    (figure::P50, "الوسيط (م.ث)"),
    (figure::P90, "المئين 90 (م.ث)"),
    (figure::P99, "المئين 99 (م.ث)"),
    (figure::P999, "المئين 99.9 (م.ث)"),
    (figure::P9999, "المئين 99.99 (م.ث)"),
    (figure::MAX, "الأطول (م.ث)"),
    (figure::CPU, "معالج الخوادم (ميكروثانية/عملية)"),
    (figure::LOAD_CPU, "معالج الحمل (ميكروثانية/عملية)"),
    (figure::MEMORY, "الذاكرة (ميبيبايت)"),
    (figure::WRITTEN, "المكتوب (بايت/عملية)"),
    (figure::CALLS, "نداءات النظام (/عملية)"),
    (figure::DISK, "القرص (ميبيبايت)"),
    (figure::ERRORS, "أخطاء"),
    (figure::LOST, "أجوبة ضائعة"),
    (figure::OUTAGE, "أطول انقطاع (م.ث)"),
    (figure::DISTRIBUTION, "النسبة (٪)"),
    (figure::LATENCY_OVER_TIME, "زمن الاستجابة (م.ث)"),
    (figure::OVERHEAD, "الزيادة (بايت/رسالة)"),
    (figure::WHOLE_OVERHEAD, "زيادة كل الملفات (بايت/رسالة)"),
    (figure::OPEN_FILES, "الملفات المفتوحة"),
    (figure::IDLE_CPU, "المعالج في الخمول (م.ث/ث)"),
    (figure::START, "حتى أول رسالة (م.ث)"),
    (figure::START_CPU, "المعالج حتى أول رسالة (م.ث)"),
    (figure::TAKEOVER, "إلى أن يؤكد وسيط آخر (م.ث)"),
    (figure::LONGEST_TAKEOVER, "أطول مدة إلى أن يؤكد وسيط آخر (م.ث)"),
    (figure::NEW_LEADER, "إلى أن يُعرف قائد آخر (م.ث)"),
    (figure::P999_WITHOUT, "المئين 99.9 دونه (م.ث)"),
    (figure::P999_RATIO, "المئين 99.9 معه إلى ما دونه (×)"),
    (figure::MOVED, "المنقول (م.بايت/ث)"),
    (figure::DISK_SHARE, "الحصة من القرص (٪)"),
    (figure::CONSUMED_AGAIN, "إلى أن يُستهلك الكل ثانية (م.ث)"),
    (figure::LONGEST_CONSUMED_AGAIN, "أطول مدة إلى أن يُستهلك الكل ثانية (م.ث)"),
    ("outage 1 (ms)", "الانقطاع الأول (م.ث)"),
    ("outage 2 (ms)", "الانقطاع الثاني (م.ث)"),
    ("create", "إنشاء"),
    ("set", "كتابة"),
    ("get", "قراءة"),
    ("mixed", "مختلط"),
    ("delete", "حذف"),
    ("reads", "قراءات"),
    ("writes", "كتابات"),
    ("updates", "تحديثات"),
    ("broadcast", "بث"),
    ("snapshots often", "لقطات كثيرة"),
    ("snapshots by default", "لقطات افتراضية"),
    ("snapshots", "لقطات"),
    ("leader killed twice", "قتل القائد مرتين"),
    ("leader stands still", "تجمّد القائد"),
    ("leader killed", "قتل القائد"),
    ("follower stands still", "تجمّد تابع"),
    ("leader cut off", "عزل القائد"),
    ("broker killed", "قتل وسيط"),
    ("replicas move", "نقل نسخ"),
    ("member killed", "قتل عضو"),
    ("rolling restart", "إعادة تشغيل متتابعة"),
    ("page cache", "ذاكرة الصفحات"),
    ("flushed", "مكتوب على القرص"),
    ("kafka", "كافكا"),
    ("rabbitmq", "رابِت إم كيو"),
    ("activemq", "أكتف إم كيو"),
    ("sendfile", "\u{2068}sendfile\u{2069}"),
    ("bare", "خادم مجرد"),
    ("1 broker", "وسيط واحد"),
    ("1 acceptor", "قابل واحد"),
    ("diwan", "ديوان"),
    ("objects", "كائنات ديوان"),
    ("zookeeper", "ZooKeeper"),
    ("etcd", "etcd"),
    ("concoord", "ConCoord"),
    ("curator", "Curator"),
    ("curator-diwan", "Curator على ديوان"),
    ("hazelcast", "Hazelcast"),
    ("redis", "Redis"),
    ("other", "إصدار آخر من ديوان"),
    ("start", "البدء"),
    ("small", "صغير"),
    ("paper", "كما نُشر"),
    ("1 server", "خادم واحد"),
    ("1 client", "عميل واحد"),
    ("1 observer", "مراقِب واحد"),
    ("2 observers", "مراقِبان"),
    ("processor", "المعالج"),
    ("cores", "الأنوية"),
    ("memory gib", "الذاكرة (غيبيبايت)"),
    ("kernel", "نواة النظام"),
    ("file system", "نظام الملفات"),
    ("load average before", "متوسط الحمل قبل البدء"),
];

/// What each of these is called in English, where that is not what points have.
const ENGLISH: [(&str, &str); 15] = [
    (figure::DISTRIBUTION, "share (%)"),
    (figure::LATENCY_OVER_TIME, "latency (ms)"),
    ("memory gib", "memory (GiB)"),
    ("diwan", "Diwan"),
    ("objects", "Diwan's objects"),
    ("zookeeper", "ZooKeeper"),
    ("concoord", "ConCoord"),
    ("curator", "Curator"),
    ("curator-diwan", "Curator on Diwan"),
    ("hazelcast", "Hazelcast"),
    ("redis", "Redis"),
    ("other", "other Diwan"),
    ("kafka", "Kafka"),
    ("rabbitmq", "RabbitMQ"),
    ("activemq", "ActiveMQ"),
];

/// What is counted: one to ten of them, eleven to ninety-nine, hundreds.
const COUNTED: [(&str, [&str; 3]); 4] = [
    ("servers", ["خوادم", "خادمًا", "خادم"]),
    ("observers", ["مراقِبين", "مراقِبًا", "مراقِب"]),
    ("clients", ["عملاء", "عميلًا", "عميل"]),
    ("acceptors", ["قابلين", "قابلًا", "قابل"]),
];

/// How a reader sees the name of a figure, a series, a place or a system.
pub(super) fn name(text: &str, language: Language) -> String {
    match language {
        Language::English => looked_up(&ENGLISH, text).unwrap_or(text).to_owned(),
        Language::Arabic => arabic(text),
    }
}

/// Reasons for which a system is left out, as runs record them: the beginning of each is kept, the rest is translated
/// like this.
const REASONS: [(&str, &str); 6] = [
    (
        "ConCoord 1.1.0 needs Python 2.7, which no longer comes with systems",
        "يحتاج ConCoord 1.1.0 إلى Python 2.7، ولم تعد الأنظمة تتضمنه",
    ),
    ("it has no observers", "ليس لديه خوادم مراقِبة"),
    ("all its replicas vote", "جميع نسخه مصوّتة"),
    ("one replica of ConCoord 1.1.0 alone answers nobody", "نسخة واحدة من ConCoord 1.1.0 لا تجيب أحدًا"),
    ("it takes part where it did in what was published", "يشارك حيث شارك في المنشور وحده"),
    ("a request was not answered within 60 s", "لم يُجَب طلب خلال 60 ثانية"),
];

/// Why a system was left out, or failed, as a reader sees it. What is not known here stays in English, marked as such.
pub(super) fn reason(text: &str) -> Spoken {
    let known = REASONS.iter().find_map(|(known, arabic)| Some((text.strip_suffix(known)?, arabic)));
    let ar = match known {
        Some((place, arabic)) => format!("\u{2068}{place}\u{2069}{arabic}").replace("\u{2068}\u{2069}", ""),
        None => format!("\u{2066}{text}\u{2069}"),
    };
    Spoken { en: text.to_owned(), ar }
}

fn looked_up(table: &[(&str, &'static str)], text: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == text).map(|(_, shown)| *shown)
}

fn arabic(text: &str) -> String {
    if let Some(shown) = looked_up(&ARABIC, text) {
        return shown.to_owned();
    }
    if let Some((one, rest)) = text.split_once(", ") {
        return format!("{}، {}", arabic(one), arabic(rest));
    }
    if let Some(count) = text.strip_suffix(" B") {
        return match count.split_once(' ') {
            Some((step, count)) => format!("{} {count} بايت", arabic(step)),
            None => format!("{count} بايت"),
        };
    }
    let counted = text.split_once(' ').and_then(|(count, noun)| {
        let (_, forms) = COUNTED.iter().find(|(known, _)| *known == noun)?;
        let number: u32 = count.parse().ok()?;
        let form = match number % 100 {
            0..=2 => forms[2],
            3..=10 => forms[0],
            _ => forms[1],
        };
        Some(format!("{count} {form}"))
    });
    counted.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_that_is_known_is_told_in_arabic() {
        let known = reason("3 acceptors 4: it has no observers");
        assert_eq!(known.ar, "\u{2068}3 acceptors 4: \u{2069}ليس لديه خوادم مراقِبة");
        assert_eq!(reason("it has no observers").ar, "ليس لديه خوادم مراقِبة");
        assert_eq!(reason("something else").ar, "\u{2066}something else\u{2069}");
    }

    #[test]
    fn what_is_counted_takes_the_form_that_its_number_asks_for() {
        assert_eq!(arabic("5 servers"), "5 خوادم");
        assert_eq!(arabic("13 servers"), "13 خادمًا");
        assert_eq!(arabic("100 clients"), "100 عميل");
        assert_eq!(arabic("create 10,000 B, snapshots often"), "إنشاء 10,000 بايت، لقطات كثيرة");
    }
}
