// Package config finds the settings of a session: defaults, then an older extension's file, the settings file, the
// environment and flags, each over the one before. A [Loader] reads the files again whenever they have changed.
//
// Nothing that a person writes there stops a session. A key that nobody knows is told of and passed over; a file that
// cannot be used counts as if it were not there, or, once a session runs, as if it were still the one before. Each is said
// once, in a line that names file, place and mend.
//
// The keys are the fields of session.Settings by their JSON names. The files are read by go-toml and encoding/json; laying
// layers over each other, with where every value comes from, is a loop over these keys, and needs no library.
package config
