package diwan.objects;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The name of a type. */
@Retention(RetentionPolicy.RUNTIME)
@interface Of {
    String value();
}
