package diwan.objects;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** What a method of an interface calls. */
@Retention(RetentionPolicy.RUNTIME)
@interface Call {
    String kind();

    String method();

    /** Names of the arguments, in order; those behind a {@code ?} may be null, and are not sent then. */
    String[] args() default {};

    /** The only part of the result, which the method gives by itself. */
    String single() default "";

    /** By which method a grant is given back; the method gives a {@link Held} then. */
    String back() default "";
}
