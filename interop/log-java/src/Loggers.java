import harness.Check;
import harness.Test;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidConfigurationException;

/** The levels of the broker's loggers, of which there is one set for all clients: one client changes them at a time. */
public final class Loggers {
    private Loggers() {
    }

    private static final ConfigResource LOGGERS = new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "1");

    public static void loggersAreDescribedAndChanged(Test test) throws Exception {
        var loggers = Configs.described(LOGGERS).entries();
        Check.that(!loggers.isEmpty(), "there are loggers");
        var logger = loggers.iterator().next();
        Configs.alter(LOGGERS, OpType.SET, logger.name(), "DEBUG");
        Check.equal(Configs.described(LOGGERS).get(logger.name()).value(), "DEBUG");
        Check.fails(InvalidConfigurationException.class,
            () -> Configs.alter(LOGGERS, OpType.SET, logger.name(), "LOUD"));
        Configs.alter(LOGGERS, OpType.SET, logger.name(), logger.value());
        Check.equal(Configs.described(LOGGERS).get(logger.name()).value(), logger.value());
    }
}
