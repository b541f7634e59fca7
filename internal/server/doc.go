// Package server is the HTTP shell of the throttle: it serves the API with its page, health, and metrics.
//
//	:8087  /v1/isready ──> Decider.IsReady | Vacancy     (asks before the first poll wait <= 1 s)
//	       /v1/queue ───> Decider.QueueOf
//	       /v1/status, /v1/slots ──> Decider.Status
//	       /, /why/… ───> internal/page writes what the Decider shows
//	:9441  /healthz, /readyz ─────────> Decider.Status
//	:8444  /metrics ──────────────────> Options.Metrics (internal/metrics), which reads Server.Status
//
// It decides nothing and keeps no state of the throttle. A denial is a 200; every answer that is not 2xx has the
// body {"error":{…}}.
package server
