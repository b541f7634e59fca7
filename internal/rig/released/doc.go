// Package released holds what users build on to the record of the last release: the exported API of
// pkg/api, the HTTP API, the names of metrics, settings, commands and flags, and the forms of what is
// kept (docs/versions.md).
//
// A record is a folder testdata/released/vX.Y.Z with a file of lines per surface, each line one
// promise. What is a promise as a whole, such as a closed set of words or the status codes of a
// request, is one line: a word more changes it. So the rule is simple: each line of the record is
// still there. New lines are additions, and free.
//
// The lines are made of files that other tests hold to the program: docs/openapi.yaml,
// docs/settings.md, docs/man, and the scrape in internal/metrics/testdata.
package released
