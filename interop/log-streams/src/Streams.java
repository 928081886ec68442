import harness.Check;
import harness.Test;
import java.util.Set;

/** Applications that start, stop, forget their local state, and share their work. */
public final class Streams {
    private Streams() {
    }

    public static void resultsAreRightAtLeastOnce(Test test) throws Exception {
        Shop shop = new Shop(test).start();
        shop.order(1500);
        shop.verify(false);
        Check.that(shop.stored("c0") > 0, "the store can be asked");
    }

    public static void resultsAreRightExactlyOnce(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2").start();
        shop.order(1500);
        shop.verify(true);
    }

    public static void storesComeBackFromTheirChangelogs(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2").start();
        for (boolean forget : new boolean[] {false, true, false}) {
            shop.order(400);
            shop.verify(true);
            shop.stop(forget);
            shop.order(100);
            shop.start();
        }
        shop.verify(true);
    }

    public static void standbyReplicasDoNoHarm(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2", "num.standby.replicas", "1").start();
        shop.order(600);
        shop.verify(true);
    }

    public static void brokerAssignsTheTasks(Test test) throws Exception {
        Test.needsFeature("streams.version");
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2", "group.protocol", "streams").start();
        shop.order(600);
        shop.verify(true);
    }

    public static void internalTopicsHaveTheirSettings(Test test) throws Exception {
        Shop shop = new Shop(test).start();
        shop.order(100);
        shop.verify(false);
        Set<String> names = Test.get(Test.admin().listTopics().names());
        for (String part : new String[] {"-counts-changelog", "-windows-changelog", "-sums-changelog", "-repartition"}) {
            Check.that(names.stream().anyMatch(name -> name.contains(part)), part + " is not there");
        }
    }
}
