import harness.Runner;
import java.util.List;

/** Runs every test of the suite, or those whose name contains one of the arguments. */
public final class Main {
    private Main() {
    }

    public static void main(String[] only) throws Exception {
        new Runner("", only).alone(List.of(Deaths.class)).together(List.of(Streams.class)).exit();
    }
}
