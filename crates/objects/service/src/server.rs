//! A member with the threads that serve its clients.
