/** What one client of a system can do with the objects that all clients share. */
interface Recipes extends AutoCloseable {
    /** A lock. The client that holds it releases it. */
    interface Mutex {
        /** Waits for the lock; its fence, or 0 if the system gives none. */
        long acquire() throws Exception;

        void release() throws Exception;
    }

    /** A counter that begins at 0. */
    interface Counter {
        /** Adds one; the value behind it. */
        long increment() throws Exception;

        long get() throws Exception;
    }

    /** A double barrier, round after round, numbered from 0. */
    interface Barrier {
        void enter(int round) throws Exception;

        void leave(int round) throws Exception;

        /** How many clients may still be inside when one has left. */
        default int stragglers() {
            return 0;
        }
    }

    Mutex mutex(String name) throws Exception;

    Counter counter(String name) throws Exception;

    Barrier barrier(String name, int parties) throws Exception;
}
