//! What pictures and experiments say, in both languages of the report; here are also the phrases that several share.

use tools_lab_report::describe::Text;

pub(super) const fn text(en: &'static str, ar: &'static str) -> Text {
    Text::of(en, ar)
}

// What axes are called.
pub(super) const CLIENTS: Text = text("clients", "عدد العملاء");
pub(super) const REPLICAS: Text = text("replicas", "عدد النسخ");
pub(super) const SECONDS: Text = text("seconds", "الثواني");

// What pictures are called.
pub(super) const THROUGHPUT: Text = text("Throughput", "الإنتاجية");
pub(super) const REQUESTS: Text = text("Requests a second", "الطلبات في الثانية");
pub(super) const MEAN_LATENCY: Text = text("Mean latency", "متوسط زمن الاستجابة");
pub(super) const MEDIAN_LATENCY: Text = text("Median latency", "وسيط زمن الاستجابة");
pub(super) const PERCENTILE_99: Text = text("99th percentile", "المئين التاسع والتسعون");
pub(super) const SERVERS_CPU: Text = text("Processor time of all servers", "زمن المعالج لجميع الخوادم");

// The publishers of the experiments.
pub(super) const ZOOKEEPER_2010: Text = text(
    "ZooKeeper's own evaluation, USENIX ATC 2010",
    "تقييم ZooKeeper نفسه، \u{2068}USENIX ATC 2010\u{2069}",
);
pub(super) const CONCOORD_2012: Text =
    text("ConCoord's evaluation, OpenReplica 2012", "تقييم ConCoord، \u{2068}OpenReplica 2012\u{2069}");
pub(super) const RUST_LOAD_TEST: Text =
    text("a load test of ZooKeeper with a Rust client", "اختبار حمل لـ ZooKeeper بعميل بلغة Rust");
pub(super) const KAFKA_2011: Text =
    text("Kafka's own evaluation, NetDB 2011", "تقييم كافكا نفسها، \u{2068}NetDB 2011\u{2069}");
pub(super) const NOT_PUBLISHED: Text = text("Diwan's own comparison with Kafka", "مقارنة ديوان نفسه بكافكا");
pub(super) const NOT_PUBLISHED_OF_RECIPES: Text =
    text("Diwan's own comparison with recipes", "مقارنة ديوان نفسه بالوصفات");
pub(super) const NOTHING_PUBLISHED: Text = text("Nothing was published of this.", "لم يُنشر عن هذا شيء.");

// What experiments on the log share.
pub(super) const MESSAGES_A_SECOND: Text = text("Messages a second", "الرسائل في الثانية");
pub(super) const MESSAGES_A_REQUEST: Text = text("messages a request", "رسائل كل طلب");
pub(super) const BROKER_CPU: Text =
    text("Processor time of the broker, a message", "زمن معالج الوسيط لكل رسالة");
pub(super) const BROKERS_CPU: Text =
    text("Processor time of all brokers, a message", "زمن معالج جميع الوسطاء لكل رسالة");
pub(super) const PERCENTILE_999: Text = text("99.9th percentile", "المئين 99.9");

// What experiments on recipes share.
pub(super) const RECIPES_CPU: Text =
    text("Processor time of all servers, an operation", "زمن معالج جميع الخوادم لكل عملية");
