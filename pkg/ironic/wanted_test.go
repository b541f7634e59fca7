package ironic

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// The poll is old by the time that it is observed, so what is merely wanted must
// not take longer than a pause.
func TestLH16_SlowWantedNodesDoNotAgeThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(row("w1", Active), row("w2", Active), row("w3", Active))
		v := &view{wanted: []string{"w1", "w2", "w3"}}
		recorded(w, v, func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1/nodes/w2" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, nil
		})
		p := poller(t, client(t, w), v, func(o *PollerOptions) { o.Interval = 3 * time.Second })
		begun := time.Now()
		if err := p.PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("observed after %v, want one pause", took)
		}
		if got := v.last(t).Fetched; len(got) != 1 || got[0].Key != "w1" {
			t.Errorf("fetched %+v", got)
		}
	})
}

func TestLH16_WhatTheListsShowIsNotFetched(t *testing.T) {
	w := newWire(row("a", Deploying), row("b", Active))
	c, v := client(t, w), &view{wanted: []string{"a", "ns~a", "b"}}
	if err := poller(t, c, v).PollOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := v.last(t).Fetched; len(got) != 1 || got[0].Key != "b" {
		t.Errorf("fetched %+v, want b alone", got)
	}
}
