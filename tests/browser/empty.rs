//! A package needs a library or an executable; this one has only tests.
