// Package app wires the throttle together and runs it: the only place that
// knows all the others.
//
//	config.Config ──> New: ironic.Client, admission.Controller, ironic.Poller, server.Server
//	                  Run: the decision (poller, holds, config watch, and with a
//	                       cluster hosts and Events), servers — until the context
//	                       ends, then the same in the opposite order
//
// With several replicas the servers run in all of them, and the decision in the one
// that holds the Lease.
//
// Nothing is decided here, and nothing is done that another package could do: what the log
// says of the decision is in internal/decisionlog, every metric in internal/metrics, what
// hosts in the cluster ask for and are told in internal/clusterhosts.
package app
