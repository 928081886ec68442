import harness.Runner;
import java.util.ArrayList;
import java.util.List;

/** Runs every test of the suite, or those whose name contains one of the arguments. */
public final class Main {
    private Main() {
    }

    public static void main(String[] only) throws Exception {
        List<Class<?>> together = new ArrayList<>(List.of(Records.class, Idempotence.class, Transactions.class, Groups.class,
            Reading.class));
        for (String type : System.getProperty("more", "").split(",")) {
            if (!type.isEmpty()) {
                together.add(Class.forName(type));
            }
        }
        new Runner(System.getProperty("client", "") + ".", only).together(together).exit();
    }
}
