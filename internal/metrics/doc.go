// Package metrics makes every metric of the throttle; /metrics shows them. No other package imports Prometheus.
//
//	slots.go, turns.go, failures.go,   of api.Status, as GET /v1/status shows it
//	sizing.go, cluster.go
//	ironic.go                          of what Ironic is asked
//	gateway.go                         of what goes through the gateway
//	metrics.go                         what is counted as it happens: polls, HTTP requests
//
// A metric is one row of a table (table.go): name without "ironic_throttle_", help, labels, and how its value is
// read. All rows of a table are read from one value per scrape, so that no gauge can drift and a scrape changes
// nothing. To add a metric, add a row, its line in docs/metrics.md, and renew testdata/metrics.txt:
//
//	UPDATE_GOLDEN=1 go test ./internal/metrics -run Golden
package metrics
