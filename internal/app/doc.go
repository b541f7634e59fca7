// Package app wires the throttle together and runs it: the only place that
// knows all the others.
//
//	config.Config ──> New: ironic.Client, admission.Controller, ironic.Poller, server.Server
//	                  Run: poller, config watch, servers — until the context ends,
//	                       then the same in the opposite order
//
// Nothing is decided here.
package app
