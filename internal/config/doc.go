// Package config turns flags, environment and a file into one checked Config.
//
// Every setting is declared once, in table.go; its environment name, file key,
// flag, help text and line in docs/settings.md are derived from that row.
//
//	flag --poll-interval   >   env IRONIC_THROTTLE_POLL_INTERVAL   >   file pollInterval   >   default
//	                                        │
//	                                      Load: parse each, then the rules between them
//	                                        │
//	                    Config + warnings   or   every fault at once (errors.Join)
//
// Load is a function of its Sources: it reads no process globals. Reload is the
// step of the hot reload, Watch its loop.
//
// Of viper we use the decoders of the file formats. Its key lookup folds case
// (so a misspelt or doubled key cannot be reported as written), its environment
// is the process's, and it does not tell which source a value came from; an
// operator needs all three in the message.
package config
