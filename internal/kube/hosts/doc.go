// Package hosts watches the BareMetalHosts of a cluster and keeps of each only what the
// throttle decides by: who it is, where it stands, how often it failed, and what its
// people have written on it (BO-10, BO-11, BO-17).
//
// A BareMetalHost is 5 to 30 kB of JSON, nearly all of it hardware details. With 20,000 of
// them no two may be in memory at once: lists are asked for in pages, each object is
// shortened to a Host of some 300 bytes as it is read off the wire, and what a list finds
// unchanged costs nothing. So a list, the first or one after the watch broke, needs no
// memory to speak of besides the directory itself.
//
// The directory never fails because of the cluster. Whatever goes wrong, it answers with
// what it knows, says once what is the matter, and goes on trying. A watch that is open is
// no proof that it is heard: see pulse.
package hosts
