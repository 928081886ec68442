package diwan.objects;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** What a method of an interface calls. It gives the result as a record, whose components are named as on the wire, or a part of it. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Call {
    /** {@code query}, {@code command}, or {@code blocking} (which may wait). */
    String kind();

    /** Its name on the wire. */
    String method();

    /** Names of the arguments, in order; those behind a {@code ?} may be null, and are not sent then. */
    String[] args() default {};

    /** The only part of the result, which the method gives by itself. */
    String single() default "";

    /** By which method a grant is given back; the method gives a {@link Held} then. */
    String back() default "";
}
