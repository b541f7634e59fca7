// Package config turns flags, environment and a file into one checked Config.
//
//	flag --poll-interval   >   env IRONIC_THROTTLE_POLL_INTERVAL   >   file pollInterval   >   default
//	                                        │
//	                          viper: read, merge, Unmarshal into Config
//	                                        │
//	                          the rule of each setting, the rules between them
//	                                        │
//	                    Config + warnings   or   every fault at once (errors.Join)
//
// Each setting is one row of the table; its environment name, file key, flag, help and line
// in docs/settings.md follow from that row, its field from the tag of the same name.
//
// viper reads and merges the sources and decodes them. Ours is what it does not do: every
// fault at once, with the place that the value came from (flag, environment, line of the
// file), its rule and the nearest known name. For that the file is looked at before viper
// gets it (file.go): viper folds the case of keys, lets a doubled key win in JSON, and
// reads 010 as eight, which it is not in the environment.
package config
