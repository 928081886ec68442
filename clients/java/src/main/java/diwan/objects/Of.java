package diwan.objects;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The name of a type, on an interface for its objects: a built-in type's, or one of your own. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Of {
    String value();
}
