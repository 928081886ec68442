import harness.Runner;
import java.util.ArrayList;
import java.util.List;

/** Runs every test of the suite, or those whose name contains one of the arguments. */
public final class Main {
    private Main() {
    }

    public static void main(String[] only) throws Exception {
        List<Class<?>> together = new ArrayList<>(List.of(Records.class, Idempotence.class, Transactions.class, Groups.class,
            ConsumerProtocol.class, Reading.class, Topics.class, Configs.class, GroupAdmin.class, ClusterAdmin.class));
        for (String type : System.getProperty("more", "").split(",")) {
            if (!type.isEmpty()) {
                together.add(Class.forName(type));
            }
        }
        String part = System.getProperty("part", "");
        Runner runner = new Runner(System.getProperty("client", "") + ".", only);
        if (!part.equals("alone")) {
            runner.together(together);
        }
        if (!part.equals("together")) {
            List<Class<?>> alone = new ArrayList<>(List.of(Deaths.class, Loggers.class));
            String more = System.getProperty("more.alone", "");
            if (!more.isEmpty()) {
                alone.add(Class.forName(more));
            }
            runner.alone(alone);
        }
        runner.exit();
    }
}
