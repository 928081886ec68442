import harness.Broker;
import harness.Test;
import java.time.Duration;

/** The broker is killed while an application works; its results must be right all the same. */
public final class Deaths {
    private static final int KILLS = Integer.getInteger("kills", 2);

    private Deaths() {
    }

    public static void exactlyOnceOutlivesKills(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2").start().awaitRunning();
        for (int kill = 0; kill < KILLS; kill++) {
            // Halfway through what was sent: the application is at work when the broker dies.
            shop.order(500);
            Broker.control("kill");
            Broker.control("start");
            shop.order(100);
        }
        shop.verify(true);
    }

    public static void exactlyOnceOutlivesKillsOfBoth(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2").startApart();
        for (int kill = 0; kill < KILLS; kill++) {
            long written = shop.written();
            // Both have work in hand when they die: more is ordered than one commit holds.
            shop.order(200 + 50 * (kill % 5));
            shop.awaitMoreThan(written);
            // In turn: the application first, the broker first, and the application while there is no broker.
            switch (kill % 3) {
                case 0 -> {
                    shop.killApart();
                    Broker.killAndStart();
                    shop.startApart();
                }
                case 1 -> {
                    Broker.killAndStart();
                    shop.order(50);
                    shop.killApart();
                    shop.startApart();
                }
                default -> {
                    Broker.control("kill");
                    shop.killApart();
                    shop.startApart();
                    Broker.control("start");
                }
            }
        }
        shop.order(100);
        shop.verify(true);
    }

    public static void restartOfTheApplicationMeetsADeadBroker(Test test) throws Exception {
        Shop shop = new Shop(test, "processing.guarantee", "exactly_once_v2").start().awaitRunning();
        shop.order(500);
        Broker.control("kill");
        // It ends its transactions first, and for that it needs the broker.
        shop.close(Duration.ZERO);
        Broker.control("start");
        shop.stop(false);
        shop.start();
        shop.order(300);
        shop.verify(true);
    }
}
